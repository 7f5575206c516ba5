"""`postledger requeue`: sends failed mails again."""

from argparse import ArgumentParser
from typing import override

from django.core.management.base import BaseCommand, CommandError

from postledger.cli import bulk_decisions

_EFFECT = "waits for its next try; attempts are counted anew"


class Command(BaseCommand):
    help = "Sends a failed mail again, or all failed mails of a stream."

    @override
    def add_arguments(self, parser: ArgumentParser) -> None:
        bulk_decisions.add_selection(parser)
        parser.add_argument("--code", help="with --stream: only failures with this code")

    @override
    def handle(self, *args: object, code: str | None = None, **options: object) -> None:
        from postledger.campaigns.runs import requeueing  # which loads all that renders a mail

        selection = bulk_decisions.parse_selection(options)
        if code is not None and selection.stream is None:
            raise CommandError("--code requires --stream NUMBER.")
        lines = bulk_decisions.decide(requeueing.REQUEUE, selection, effect=_EFFECT, code=code)
        for line in lines:
            self.stdout.write(line)
