"""`postledger requeue`: gives failed mails another chance."""

from argparse import ArgumentParser
from collections.abc import Sequence
from typing import override

from django.core.management.base import BaseCommand, CommandError

from postledger.deliveries import ledger
from postledger.deliveries.entries import Seen
from postledger.deliveries.states import State
from postledger.workers import clicks, nouns
from postledger.workers.clicks import Click


class Command(BaseCommand):
    help = "Gives a failed mail another chance, or all failures of a stream."

    @override
    def add_arguments(self, parser: ArgumentParser) -> None:
        clicks.add_choice(parser)
        parser.add_argument("--code", help="with --stream: only what failed with this code")

    @override
    def handle(
        self,
        *args: object,
        id: str | None = None,
        stream: int | None = None,
        workspace: str | None = None,
        actor: str = "",
        code: str | None = None,
        **options: object,
    ) -> None:
        if code is not None and stream is None:
            raise CommandError("--code belongs to --stream NUMBER: give both, or neither.")
        chosen = clicks.choice(id, stream, workspace)
        for sentence in clicks.click(_CLICK, chosen, actor=nouns.actor(actor), code=code):
            self.stdout.write(sentence)


def _requeue(stream_id: int, seen: Sequence[Seen], actor: str) -> list[int]:
    return ledger.requeue(stream_id, seen, actor=actor)


_CLICK = Click(
    before=State.FAILED,
    makes_wait=True,
    action="failure.requeued",
    does="waits for its next try; the attempts are counted anew",
    apply=_requeue,
)
