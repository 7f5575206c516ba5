"""`postledger discard`: lists dead letters, and lets them ask nobody any more."""

from argparse import ArgumentParser
from collections.abc import Iterator
from typing import override

from django.core.management.base import BaseCommand, CommandError

from postledger.accounts import queries as account_queries
from postledger.accounts.models import Workspace
from postledger.cli import base_command, bulk_decisions
from postledger.deliveries.attention import dead_letters, deciding
from postledger.deliveries.attention.dead_letters import Cause
from postledger.deliveries.attention.deciding import MailKey
from postledger.deliveries.explanations.explain import format_time
from postledger.deliveries.queries import StreamFacts

_EFFECT = "stays failed and asks nobody any more"


class Command(BaseCommand):
    help = "Lists dead letters by cause; discards one mail, or all dead letters of a stream."

    @override
    def add_arguments(self, parser: ArgumentParser) -> None:
        bulk_decisions.add_selection(parser)
        parser.add_argument("--code", help="with --stream: only failures with this code")

    @override
    def handle(self, *args: object, code: str | None = None, **options: object) -> None:
        selection = bulk_decisions.parse_selection(options)
        if code is not None and selection.stream is None:
            raise CommandError("--code requires --stream NUMBER.")
        if selection.id is not None:
            lines = bulk_decisions.decide(dead_letters.DISCARD, selection, effect=_EFFECT)
        elif selection.stream is not None:
            stream = base_command.stream(selection.stream, selection.workspace)
            lines = _discard_stream(stream, code, actor=selection.actor)
        else:
            lines = _list_causes(selection.workspace)
        for line in lines:
            self.stdout.write(line)


def _discard_stream(stream: StreamFacts, code: str | None, *, actor: str) -> Iterator[str]:
    cause, count = Cause(code=code, stream_id=stream.id), 0
    after: MailKey | None = deciding.BEFORE_ALL
    while after is not None:
        decided = dead_letters.decide_cause(
            dead_letters.DISCARD, stream.workspace_id, cause, after=after, actor=actor
        )
        count, after = count + decided.count, decided.after
    yield f"Decided {count} mails: each {_EFFECT}." if count else "Nothing changed."


def _list_causes(owner: Workspace | None) -> Iterator[str]:
    count = 0
    for workspace in [owner] if owner else account_queries.workspaces():
        for group in dead_letters.group_dead_letters(workspace.pk):
            count += group.count
            yield (
                f"{workspace.name}: {group.count} with {group.code} ({group.outcome}) since"
                f" {format_time(group.since)}"
            )
            yield f"  {group.remedy}"
    yield f"Dead letters: {count}." if count else "There is no dead letter."
