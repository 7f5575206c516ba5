"""`postledger requeue`: sends failed mails again."""

from argparse import ArgumentParser
from typing import override

from django.core.management.base import BaseCommand, CommandError

from postledger.cli import bulk_decisions
from postledger.cli.bulk_decisions import BulkDecision
from postledger.deliveries import ledger
from postledger.deliveries.states import State


class Command(BaseCommand):
    help = "Sends a failed mail again, or all failed mails of a stream."

    @override
    def add_arguments(self, parser: ArgumentParser) -> None:
        bulk_decisions.add_selection(parser)
        parser.add_argument("--code", help="with --stream: only failures with this code")

    @override
    def handle(self, *args: object, code: str | None = None, **options: object) -> None:
        selection = bulk_decisions.parse_selection(options)
        if code is not None and selection.stream is None:
            raise CommandError("--code requires --stream NUMBER.")
        for line in bulk_decisions.decide(_REQUEUE, selection, code=code):
            self.stdout.write(line)


_REQUEUE = BulkDecision(
    before=State.FAILED,
    makes_wait=True,
    action="failure.requeued",
    effect="waits for its next try; attempts are counted anew",
    apply=lambda stream_id, seen, actor: ledger.requeue(stream_id, seen, actor=actor),
)
