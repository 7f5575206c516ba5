"""`postledger audit`: recounts the books and names the first line that does not add up."""

from argparse import ArgumentParser
from collections import Counter
from typing import override

from django.core.management.base import BaseCommand, CommandError

from postledger.deliveries import audit, queries
from postledger.deliveries.queries import Books
from postledger.deliveries.states import State


class Command(BaseCommand):
    help = "Recounts the books against the counters and the rules, per stream and in all."

    @override
    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("stream", nargs="?", type=int, help="one stream; without it, all")

    @override
    def handle(self, *args: object, stream: int | None = None, **options: object) -> None:
        missing = audit.missing_constraints()
        if missing:
            names = ", ".join(missing)
            msg = f"The database lacks {names}: run postledger migrate before anything is sent."
            raise CommandError(msg)
        if stream is not None and queries.stream(stream) is None:
            msg = f"There is no stream {stream}."
            raise CommandError(msg)
        self._report([audit.audit(stream)] if stream is not None else list(audit.audit_all()))

    def _report(self, audited: list[audit.Audited]) -> None:
        totals: Counter[State] = Counter()
        for one in audited:
            self.stdout.write(f"stream {one.stream_id}: {_sum(one.books)}")
            totals.update(one.books.counts)
        planned = sum(one.books.planned for one in audited)
        findings = [finding for one in audited for finding in one.findings]
        if findings:
            msg = f"The books do not balance; {len(findings)} found wrong. First: {findings[0]}."
            raise CommandError(msg)
        total = _sum(Books(planned=planned, counts=dict(totals)))
        self.stdout.write(f"The books balance, {len(audited)} in all: {total}")


def _sum(books: Books) -> str:
    parts = [f"{count} {state.value}" for state, count in books.counts.items() if count]
    return f"{books.planned} planned = {' + '.join([*parts, f'{books.waiting} waiting'])}"
