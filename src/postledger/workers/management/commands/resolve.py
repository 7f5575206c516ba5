"""`postledger resolve`: lists the mails in doubt, and ends doubts by a person's word."""

from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import override

from django.core.management.base import BaseCommand, CommandError

from postledger.accounts import queries as account_queries
from postledger.deliveries import ledger, queries, undecided
from postledger.deliveries.entries import Decision, Seen
from postledger.deliveries.queries import StreamFacts
from postledger.deliveries.refusals import time
from postledger.deliveries.states import State
from postledger.deliveries.undecided import Undecided
from postledger.lib.ids import DeliveryId
from postledger.workers import clicks, nouns
from postledger.workers.clicks import Choice, Click

_DOES: dict[Decision, str] = {
    Decision.COUNT_AS_SENT: "is counted as sent: accepted, and never sent again",
    Decision.COUNT_AS_NOT_SENT: "is counted as not sent: failed, until somebody requeues it",
    Decision.SEND_AGAIN: "waits to be sent again; the next free worker takes it",
}


class Command(BaseCommand):
    help = "Lists the mails in doubt; with a decision, ends the doubt of one or of a whole stream."

    @override
    def add_arguments(self, parser: ArgumentParser) -> None:
        clicks.add_choice(parser)
        parser.add_argument("--limit", type=int, default=50, help="how many mails are listed")
        buttons = parser.add_mutually_exclusive_group()
        for flag, decision, help_ in (
            ("--sent", Decision.COUNT_AS_SENT, "count as sent"),
            ("--not-sent", Decision.COUNT_AS_NOT_SENT, "count as not sent"),
            ("--send-again", Decision.SEND_AGAIN, "send again: it may arrive twice"),
        ):
            buttons.add_argument(
                flag, dest="decision", action="store_const", const=decision, help=help_
            )

    @override
    def handle(
        self,
        *args: object,
        id: str | None = None,
        stream: int | None = None,
        workspace: str | None = None,
        actor: str = "",
        limit: int = 50,
        decision: Decision | None = None,
        **options: object,
    ) -> None:
        chosen = clicks.choice(id, stream, workspace)
        if decision is not None:
            told = clicks.click(_click(decision), chosen, actor=nouns.actor(actor))
        else:
            told = _listed(chosen, limit)
        for sentence in told:
            self.stdout.write(sentence)


def _click(decision: Decision) -> Click:
    def apply(stream_id: int, seen: Sequence[Seen], actor: str) -> list[int]:
        return ledger.resolve(stream_id, seen, decision=decision, actor=actor)

    return Click(
        before=State.IN_DOUBT,
        makes_wait=decision is Decision.SEND_AGAIN,
        action=f"doubt.{decision.value}",
        does=_DOES[decision],
        apply=apply,
    )


def _listed(chosen: Choice, limit: int) -> Iterator[str]:
    if chosen.id is not None:
        raise CommandError(
            "Say what to do with it: --sent, --not-sent or --send-again."
            f" postledger why {chosen.id} tells what is known."
        )
    counts = _counts(chosen)
    if not counts:
        yield "No mail is in doubt."
        return
    names = {found.id: found.name for found in account_queries.workspaces()}
    shown = 0
    for stream_id, count in counts.items():
        stream = queries.stream(stream_id)
        if stream is not None and shown < limit:
            mails = undecided.undecided(stream_id, State.IN_DOUBT, limit=limit - shown)
            shown += len(mails)
            yield _head(stream, names[stream.workspace_id], count)
            yield from (line for mail in mails for line in _lines(mail, stream))
    yield f"Mails in doubt: {sum(counts.values())}, shown: {shown}."
    yield "End a doubt: postledger resolve ID --sent, --not-sent or --send-again."


def _counts(chosen: Choice) -> dict[int, int]:
    """The streams with doubts that were asked for, from the counters."""
    if chosen.stream is None:
        of = chosen.workspace
        return undecided.streams_in_doubt(workspace_id=of.id if of else None)
    stream = nouns.stream(chosen.stream, chosen.workspace)
    count = queries.books_of([stream.id])[stream.id].counts[State.IN_DOUBT]
    return {stream.id: count} if count else {}


def _head(stream: StreamFacts, workspace: str, count: int) -> str:
    return f"{workspace}, stream {stream.id}, {stream.kind} “{stream.title}”: {count} in doubt"


def _lines(mail: Undecided, stream: StreamFacts) -> Iterator[str]:
    name = DeliveryId(stream.id, mail.position).uuid()
    yield f"  {name}  {mail.address}  since {time(mail.settled_at)}"
    why = mail.detail.rstrip(".") or "the line broke after hand-over"
    yield f"    {why}; {_again(mail, stream, datetime.now(UTC))}."


def _again(mail: Undecided, stream: StreamFacts, now: datetime) -> str:
    if stream.cancelled_at is not None:
        return "its stream was cancelled, so it is not sent again"
    if mail.resend_after is not None and mail.resend_after > now:
        return f"sending it again is refused until {time(mail.resend_after)}"
    return "it may be sent again"
