"""`postledger audit`: recounts the books and reports the first discrepancy."""

from argparse import ArgumentParser
from collections import Counter
from typing import override

from django.core.management.base import BaseCommand, CommandError

from postledger.cli import base_command
from postledger.deliveries import audit
from postledger.deliveries.queries import Books
from postledger.deliveries.states import State


class Command(BaseCommand):
    help = "Recounts the books against the counters and the rules, per stream and in total."

    @override
    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("stream", nargs="?", type=int, help="one stream; default: all")

    @override
    def handle(self, *args: object, stream: int | None = None, **options: object) -> None:
        missing = audit.missing_constraints()
        if missing:
            names = ", ".join(missing)
            raise CommandError(f"The database lacks {names}: run postledger migrate first.")
        if stream is None:
            self._report(list(audit.audit_all()))
        else:
            self._report([audit.audit(base_command.stream(stream).id)])

    def _report(self, audits: list[audit.StreamAudit]) -> None:
        totals: Counter[State] = Counter()
        for result in audits:
            self.stdout.write(f"stream {result.stream_id}: {_format_sum(result.books)}")
            totals.update(result.books.counts)
        planned = sum(result.books.planned for result in audits)
        discrepancies = [item for result in audits for item in result.discrepancies]
        if discrepancies:
            raise CommandError(
                f"The books do not balance; discrepancies: {len(discrepancies)}."
                f" First: {discrepancies[0]}."
            )
        total = _format_sum(Books(planned=planned, counts=dict(totals)))
        self.stdout.write(f"The books balance; streams: {len(audits)}. {total}")


def _format_sum(books: Books) -> str:
    parts = [f"{count} {state.value}" for state, count in books.counts.items() if count]
    return f"{books.planned} planned = {' + '.join([*parts, f'{books.waiting} waiting'])}"
