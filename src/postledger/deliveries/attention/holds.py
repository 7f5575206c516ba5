"""What is held: senders and streams, with their causes, and how a person ends or sets a hold."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import LiteralString

from django.db import transaction

from postledger.accounts import queries as account_queries
from postledger.accounts import trail
from postledger.accounts.models import Sender
from postledger.accounts.people import actors
from postledger.deliveries import causes, ledger, queries
from postledger.deliveries.attention import deciding
from postledger.deliveries.entries import Hold, HoldScope
from postledger.deliveries.explanations import why
from postledger.deliveries.explanations.why import Cause
from postledger.deliveries.ledger import sql
from postledger.deliveries.queries import StreamFacts
from postledger.deliveries.reasons import LIMIT_REASONS, Reason
from postledger.lib import wake


@dataclass(frozen=True, slots=True)
class HeldSender:
    sender: Sender  # with its account
    holds: Sequence[Hold]  # first the one that ends last
    waiting: int  # mails that wait for its release

    @property
    def causes(self) -> list[Cause]:
        return [why.explain_hold(hold) for hold in self.holds]


@dataclass(frozen=True, slots=True)
class HeldStream:
    """A stream that is held by itself, by a person, by the guard or for its content."""

    stream: StreamFacts
    holds: Sequence[Hold]
    waiting: int

    @property
    def causes(self) -> list[Cause]:
        return [why.explain_hold(hold) for hold in self.holds]


def list_held_senders(workspace_id: int, *, now: datetime) -> list[HeldSender]:
    """The senders that are held, by address; limits of their streams are no holds of theirs."""
    senders = {sender.pk: sender for sender in account_queries.senders(workspace_id)}
    held = queries.find_sender_holds(list(senders))
    waiting = queries.count_waiting_by_sender(list(held)) if held else {}
    return [
        HeldSender(sender, in_force, waiting.get(id_, 0))
        for id_, sender in senders.items()
        if (in_force := causes.sort_in_force(held.get(id_, ()), now=now))
    ]


# A hold by a limit or by hours ends by itself, and no person can end it.
_HELD_STREAMS: LiteralString = """
SELECT DISTINCT h.stream_id FROM deliveries_streamhold h
JOIN deliveries_stream s ON s.id = h.stream_id
WHERE s.workspace_id = %(workspace)s AND s.cancelled_at IS NULL AND h.stream_id > %(after)s
  AND (h.until IS NULL OR h.until > statement_timestamp())
  AND h.reason <> ALL(%(limits)s::text[])
ORDER BY h.stream_id LIMIT %(limit)s
"""


def list_held_streams(workspace_id: int, *, after: int = -1, limit: int) -> list[HeldStream]:
    """A page of the streams that are held by themselves, the oldest first."""
    params = {
        "workspace": workspace_id,
        "after": after,
        "limits": sql.Texts(reason.value for reason in LIMIT_REASONS),
        "limit": limit,
    }
    ids = [id_ for (id_,) in sql.rows(_HELD_STREAMS, params)]
    if not ids:
        return []
    streams, books = queries.find_streams(ids), queries.read_books(ids)
    return [HeldStream(streams[id_], _list_own(streams[id_]), books[id_].waiting) for id_ in ids]


def _list_own(stream: StreamFacts) -> list[Hold]:
    return [
        hold
        for hold in stream.holds
        if hold.scope is HoldScope.STREAM and hold.reason not in LIMIT_REASONS
    ]


def hold_sender(workspace_id: int, sender_id: int, *, reason: str, actor: str) -> bool:
    """Holds all mail of a sender by a person's word, until a person releases it; False if somebody
    holds it so already.

    The hold has the person's name: `why` says it to those who know no numbers.
    """
    sender = account_queries.get_sender(workspace_id, sender_id)
    name = actors.name_actors(workspace_id, [actor])[actor]
    with transaction.atomic():
        is_held = ledger.hold_sender(
            sender.pk, reason=Reason.PAUSED, actor=actor, detail=f"{name}: {reason}"
        )
        if is_held:
            subject = f"sender {sender.pk}"
            data = {"reason": reason}
            trail.note(workspace_id, actor=actor, action="sender.held", subject=subject, data=data)
    return is_held


def release_sender(workspace_id: int, sender_id: int, *, actor: str) -> bool:
    """Ends a sender's holds, and those of its account; False if it was not held."""
    sender = account_queries.get_sender(workspace_id, sender_id)
    with transaction.atomic():
        if not ledger.release_sender(sender.pk):
            return False
        trail.note(
            workspace_id, actor=actor, action="sender.released", subject=f"sender {sender.pk}"
        )
    for stream in queries.list_streams_of_sender(sender.pk):
        wake.notify(stream.id)
    return True


def release_stream(workspace_id: int, stream_id: int, *, actor: str) -> bool:
    """Ends a stream's own holds, but not its limits; False if it was not held."""
    stream = deciding.find_own_stream(workspace_id, stream_id)
    with transaction.atomic():
        is_released = ledger.release(stream.id)
        if is_released:
            _note(stream, actor, "stream.released", {})
    if is_released:
        wake.notify(stream.id)
    return is_released


def hold_stream(
    workspace_id: int,
    stream_id: int,
    *,
    until: datetime | None = None,
    detail: str = "",
    actor: str,
) -> bool:
    """Holds a stream by a person's word; False if it is held so until later, or cancelled."""
    stream = deciding.find_own_stream(workspace_id, stream_id)
    with transaction.atomic():
        is_held = ledger.hold(
            stream.id, reason=Reason.PAUSED, actor=actor, until=until, detail=detail
        )
        if is_held:
            end = until.isoformat() if until else None
            _note(stream, actor, "stream.held", {"until": end, "detail": detail})
    return is_held


def cancel_stream(workspace_id: int, stream_id: int, *, actor: str) -> bool:
    """Ends a stream for good: what waits is not sent. False if it was cancelled before."""
    stream = deciding.find_own_stream(workspace_id, stream_id)
    waiting = queries.read_books([stream.id])[stream.id].waiting
    with transaction.atomic():
        is_cancelled = ledger.cancel(stream.id, actor=actor)
        if is_cancelled:
            _note(stream, actor, "stream.cancelled", {"waiting": waiting})
    return is_cancelled


def _note(
    stream: StreamFacts, actor: str, action: trail.Action, data: Mapping[str, trail.Fact]
) -> None:
    trail.note(
        stream.workspace_id, actor=actor, action=action, subject=f"stream {stream.id}", data=data
    )
