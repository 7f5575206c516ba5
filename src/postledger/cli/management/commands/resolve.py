"""`postledger resolve`: lists the mails in doubt, and ends doubts by an operator's decision."""

from argparse import ArgumentParser
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import override

from django.core.management.base import BaseCommand, CommandError

from postledger.accounts import queries as account_queries
from postledger.cli import base_command, bulk_decisions
from postledger.cli.bulk_decisions import Selection
from postledger.deliveries import queries, undecided
from postledger.deliveries.attention import doubts
from postledger.deliveries.entries import Decision
from postledger.deliveries.explanations.explain import format_time
from postledger.deliveries.queries import StreamFacts
from postledger.deliveries.states import State
from postledger.deliveries.undecided import UndecidedDelivery
from postledger.feedback import event_flow
from postledger.lib.ids import DeliveryId

_EFFECTS: dict[Decision, str] = {
    Decision.COUNT_AS_SENT: "is counted as sent: accepted, and never sent again",
    Decision.COUNT_AS_NOT_SENT: "is counted as not sent: failed, until it is requeued",
    Decision.SEND_AGAIN: "waits to be sent again",
}


class Command(BaseCommand):
    help = "Lists the mails in doubt; with a decision, ends the doubt of one mail or of a stream."

    @override
    def add_arguments(self, parser: ArgumentParser) -> None:
        bulk_decisions.add_selection(parser)
        parser.add_argument("--limit", type=int, default=50, help="how many mails to list")
        decisions = parser.add_mutually_exclusive_group()
        for flag, decision, help_ in (
            ("--sent", Decision.COUNT_AS_SENT, "count as sent"),
            ("--not-sent", Decision.COUNT_AS_NOT_SENT, "count as not sent"),
            ("--send-again", Decision.SEND_AGAIN, "send again: it may arrive twice"),
        ):
            decisions.add_argument(
                flag, dest="decision", action="store_const", const=decision, help=help_
            )

    @override
    def handle(
        self,
        *args: object,
        limit: int = 50,
        decision: Decision | None = None,
        **options: object,
    ) -> None:
        selection = bulk_decisions.parse_selection(options)
        if decision is None:
            lines = _list_doubts(selection, limit)
        else:
            action, effect = doubts.to_action(decision), _EFFECTS[decision]
            lines = bulk_decisions.decide(action, selection, effect=effect)
        for line in lines:
            self.stdout.write(line)


def _list_doubts(selection: Selection, limit: int) -> Iterator[str]:
    if selection.id is not None:
        raise CommandError(
            "Choose a decision: --sent, --not-sent or --send-again."
            f" See postledger why {selection.id}."
        )
    counts = _count_doubts(selection)
    if not counts:
        yield "No mail is in doubt."
        return
    names = {workspace.id: workspace.name for workspace in account_queries.workspaces()}
    shown = 0
    for stream_id, count in counts.items():
        stream = queries.find_stream(stream_id)
        if stream is not None and shown < limit:
            mails = undecided.find_undecided(stream_id, State.IN_DOUBT, limit=limit - shown)
            shown += len(mails)
            workspace = names[stream.workspace_id]
            title = f"{stream.kind} “{stream.title}”"
            yield f"{workspace}, stream {stream.id}, {title}: {count} in doubt"
            if not stream.is_test:
                yield f"  {_describe_events(stream)}."
            yield from (line for mail in mails for line in _describe(mail, stream))
    yield f"Mails in doubt: {sum(counts.values())}, shown: {shown}."
    yield "End a doubt: postledger resolve ID --sent, --not-sent or --send-again."


def _describe_events(stream: StreamFacts) -> str:
    """What a missing event may mean: the way that events take says more than one mail."""
    now = datetime.now(UTC)
    sentence = event_flow.describe(event_flow.find_flow(stream.sender_id, now=now), now=now)
    return sentence[0].upper() + sentence[1:]


def _count_doubts(selection: Selection) -> dict[int, int]:
    """Doubts by stream, from the counters."""
    owner = selection.workspace
    if selection.stream is None:
        return undecided.streams_in_doubt(workspace_id=owner.id if owner else None)
    stream = base_command.stream(selection.stream, owner)
    count = queries.read_books([stream.id])[stream.id].counts[State.IN_DOUBT]
    return {stream.id: count} if count else {}


def _describe(mail: UndecidedDelivery, stream: StreamFacts) -> Iterator[str]:
    name = DeliveryId(stream.id, mail.position).uuid()
    yield f"  {name}  {mail.address}  since {format_time(mail.settled_at)}"
    why = mail.detail.rstrip(".") or "the connection was lost after hand-over"
    yield f"    {why}; {_describe_resend(mail, stream, datetime.now(UTC))}."


def _describe_resend(mail: UndecidedDelivery, stream: StreamFacts, now: datetime) -> str:
    if stream.cancelled_at is not None:
        return "its stream was cancelled, so it is not sent again"
    if mail.resend_after is not None and mail.resend_after > now:
        return f"sending it again is refused until {format_time(mail.resend_after)}"
    return "it may be sent again"
