"""Reads of the ledger: what composing needs, the books, and the facts behind a story."""

from base64 import b64decode
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import LiteralString

from postledger.deliveries.entries import (
    Batch,
    Body,
    Claim,
    Held,
    Kind,
    Outcome,
    Recipient,
    Window,
)
from postledger.deliveries.ledger import books, sql
from postledger.deliveries.reasons import Reason
from postledger.deliveries.states import State
from postledger.providers.base import Attachment

_WAITING: LiteralString = """
SELECT d.position, d.address, d.contact_id, d.variables, d.attempts, d.letter
FROM unnest(%(los)s::bigint[], %(tos)s::bigint[]) AS w (lo, upto)
CROSS JOIN LATERAL (
    SELECT position, address, contact_id, variables, attempts, letter FROM deliveries_delivery
    WHERE stream_id = %(stream)s AND position >= w.lo AND position < w.upto AND state = 'waiting'
    ORDER BY position
    LIMIT 1000
) AS d
"""


def waiting(windows: Sequence[Window]) -> list[Recipient]:
    """The mails in windows of one stream that still wait: only those are composed and sent."""
    if not windows:
        return []
    params = {
        "stream": windows[0].batch.stream_id,
        "los": sql.Bigints(window.batch.lo for window in windows),
        "tos": sql.Bigints(window.to for window in windows),
    }
    return [Recipient(*row) for row in sql.rows(_WAITING, params)]


_BODIES: LiteralString = """
SELECT position, request_id, subject, html, text, headers, to_name, reply_to, letter, list_key,
       tags, attachments
FROM deliveries_body WHERE stream_id = %(stream)s AND position = ANY(%(positions)s::bigint[])
"""


def bodies(stream_id: int, positions: Sequence[int]) -> dict[int, Body]:
    """The contents of some mails of a stream; what many share is where `ledger.shared` says."""
    params = {"stream": stream_id, "positions": sql.Bigints(positions)}
    return {row[0]: _body(row) for row in sql.rows(_BODIES, params)}


def _body(row: sql.Row) -> Body:
    _, request_id, subject, html, text, headers, to_name, reply_to, letter, list_key, *rest = row
    tags, attachments = rest
    return Body(
        request_id=request_id,
        subject=subject,
        html=html,
        text=text,
        headers=headers,
        to_name=to_name,
        reply_to=reply_to,
        letter=letter,
        list_key=list_key,
        tags=tuple(tags or ()),
        attachments=tuple(
            Attachment(found["filename"], found["content_type"], b64decode(found["content"]))
            for found in attachments or ()
        ),
    )


_LEASED: LiteralString = """
SELECT id, stream_id, lo, hi, try_number, version FROM deliveries_batch
WHERE id = ANY(%(ids)s::bigint[]) AND lease = %(lease)s AND armed_to IS NULL
ORDER BY stream_id, lo
"""


def leased(claim: Claim) -> list[Batch]:
    """What is left of a claim, with the versions to compose against.

    Read it before the windows: a version that is read after them proves nothing.
    """
    ids = sql.Bigints(batch.id for batch in claim.batches)
    return [Batch(*row) for row in sql.rows(_LEASED, {"ids": ids, "lease": claim.lease})]


@dataclass(frozen=True, slots=True)
class Books:
    """The counters of one stream; what is planned and has no result waits."""

    planned: int
    counts: dict[State, int]

    @property
    def waiting(self) -> int:
        return self.planned - sum(self.counts.values())


_SUMS: LiteralString = ", ".join(
    [
        "s." + name + " + coalesce(d." + name + ", 0) + coalesce(b." + name + ", 0)"
        for name in ("planned", *books.COUNTED)
    ]
)
_TOTALS: LiteralString = ", ".join(
    ["sum(" + name + ") AS " + name for name in ("planned", *books.COUNTED)]
)
# One statement, one snapshot: a counter on its way from batch to delta to stream counts once.
_BOOKS: LiteralString = (
    "SELECT s.id, "
    + _SUMS
    + " FROM deliveries_stream s"
    + " LEFT JOIN LATERAL (SELECT "
    + _TOTALS
    + " FROM deliveries_streamdelta WHERE stream_id = s.id) AS d ON true"
    + " LEFT JOIN LATERAL (SELECT "
    + _TOTALS
    + " FROM deliveries_batch WHERE stream_id = s.id) AS b ON true"
    + " WHERE s.id = ANY(%(ids)s::bigint[])"
)


def books_of(stream_ids: Sequence[int]) -> dict[int, Books]:
    """The books of some streams, from counters alone: nothing is counted row by row."""
    found = sql.rows(_BOOKS, {"ids": sql.Bigints(stream_ids)})
    return {
        stream_id: Books(
            planned=int(planned),
            counts={
                State(name): int(count) for name, count in zip(books.COUNTED, counts, strict=True)
            },
        )
        for stream_id, planned, *counts in found
    }


@dataclass(frozen=True, slots=True)
class StreamFacts:
    """A stream as its story is told."""

    id: int
    workspace_id: int
    sender_id: int
    kind: Kind
    title: str
    is_test: bool
    created_at: datetime
    cancelled_at: datetime | None
    cancelled_by: str | None
    stream_hold: Held | None
    sender_hold: Held | None


@dataclass(frozen=True, slots=True)
class WorkFacts:
    """Live work: why it waits, or who has it."""

    reason: Reason
    since: datetime
    due_at: datetime
    try_number: int
    holder: str | None
    lease_until: datetime | None
    is_armed: bool


@dataclass(frozen=True, slots=True)
class Waits:
    """Batches of a stream that wait, or are worked on, for one reason."""

    reason: Reason
    batch_count: int
    position_count: int
    leased_count: int
    next_due_at: datetime
    since: datetime


@dataclass(frozen=True, slots=True)
class AttemptFacts:
    try_number: int
    at: datetime
    outcome: Outcome
    state: State
    code: str | None
    detail: str | None


@dataclass(frozen=True, slots=True)
class EventFacts:
    at: datetime
    kind: str
    actor: str
    try_number: int


@dataclass(frozen=True, slots=True)
class DeliveryFacts:
    """A delivery as its story is told."""

    position: int
    address: str
    planned_at: datetime
    state: State
    attempts: int
    last_try: int
    code: str | None
    message_id: str | None
    settled_at: datetime | None
    doubts: Sequence[int]
    resend_after: datetime | None
    work: WorkFacts | None
    history: Sequence[AttemptFacts | EventFacts]


_FACTS: LiteralString = """
SELECT s.id, s.workspace_id, s.sender_id, s.kind, s.title, s.is_test, s.created_at,
       s.cancelled_at, s.cancelled_by,
       s.held_reason, s.held_since, s.held_until, s.held_by, s.held_detail,
       h.reason, h.since, h.until, h.actor, h.detail
FROM deliveries_stream s
LEFT JOIN deliveries_senderhold h
  ON h.sender_id = s.sender_id AND (h.until IS NULL OR h.until > statement_timestamp())
"""
_STREAM: LiteralString = _FACTS + "WHERE s.id = %(stream)s"
_STREAMS: LiteralString = (
    _FACTS
    + """
WHERE %(workspace)s::bigint IS NULL OR s.workspace_id = %(workspace)s
ORDER BY s.id DESC LIMIT %(limit)s
"""
)


def stream(stream_id: int) -> StreamFacts | None:
    row = sql.one(_STREAM, {"stream": stream_id})
    return None if row is None else _stream(row)


def streams(*, workspace_id: int | None = None, limit: int = 50) -> list[StreamFacts]:
    """The newest streams, of one workspace or of all."""
    return [_stream(row) for row in sql.rows(_STREAMS, {"workspace": workspace_id, "limit": limit})]


def _stream(row: sql.Row) -> StreamFacts:
    id_, workspace_id, sender_id, kind, title, is_test, *rest = row
    created_at, cancelled_at, cancelled_by, *holds = rest
    return StreamFacts(
        id=id_,
        workspace_id=workspace_id,
        sender_id=sender_id,
        kind=Kind(kind),
        title=title,
        is_test=is_test,
        created_at=created_at,
        cancelled_at=cancelled_at,
        cancelled_by=cancelled_by,
        stream_hold=_held(holds[:5]),
        sender_hold=_held(holds[5:]),
    )


def _held(columns: Sequence[object]) -> Held | None:
    reason, since, until, actor, detail = columns
    if reason is None:
        return None
    return Held(Reason(str(reason)), since, until, str(actor), str(detail or ""))  # type: ignore[arg-type]


_STREAM_IDS: LiteralString = """
SELECT id FROM deliveries_stream
WHERE id > %(after)s AND (%(workspace)s::bigint IS NULL OR workspace_id = %(workspace)s)
ORDER BY id LIMIT %(limit)s
"""


def stream_ids(*, after: int = 0, workspace_id: int | None = None, limit: int = 1000) -> list[int]:
    params = {"after": after, "workspace": workspace_id, "limit": limit}
    return [id_ for (id_,) in sql.rows(_STREAM_IDS, params)]


_CANCELLED: LiteralString = """
SELECT l.stream_id FROM deliveries_lane l JOIN deliveries_stream s ON s.id = l.stream_id
WHERE s.cancelled_at IS NOT NULL
  AND EXISTS (SELECT FROM deliveries_batch b WHERE b.stream_id = l.stream_id)
"""


def cancelled_with_work() -> list[int]:
    """The cancelled streams that still have batches to drain."""
    return [id_ for (id_,) in sql.rows(_CANCELLED, {})]


_WAITS: LiteralString = """
SELECT reason, count(*), sum(hi - lo)::bigint, count(lease), min(due_at), min(since)
FROM deliveries_batch WHERE stream_id = %(stream)s GROUP BY reason ORDER BY count(*) DESC, reason
"""


def waits(stream_id: int) -> list[Waits]:
    found = sql.rows(_WAITS, {"stream": stream_id})
    return [Waits(Reason(reason), *rest) for reason, *rest in found]


_DELIVERY: LiteralString = """
SELECT position, address, planned_at, state, attempts, last_try, code, message_id, settled_at,
       coalesce(doubts, '{}'), resend_after
FROM deliveries_delivery WHERE stream_id = %(stream)s AND position = %(position)s
"""

_WORK: LiteralString = """
SELECT b.reason, b.since, b.due_at, b.try_number, l.holder, b.lease_until,
       coalesce(b.armed_to > %(position)s, false)
FROM deliveries_batch b LEFT JOIN deliveries_lease l ON l.token = b.lease
WHERE b.stream_id = %(stream)s AND b.lo <= %(position)s AND b.hi > %(position)s
ORDER BY b.lo DESC LIMIT 1
"""

_ATTEMPTS: LiteralString = """
SELECT try_number, at, outcome, state, code, detail FROM deliveries_attempt
WHERE stream_id = %(stream)s AND position = %(position)s ORDER BY id
"""

_EVENTS: LiteralString = """
SELECT at, kind, actor, coalesce((data ->> 'try')::int, 0) FROM deliveries_deliveryevent
WHERE stream_id = %(stream)s AND position = %(position)s ORDER BY id
"""


def delivery(stream_id: int, position: int) -> DeliveryFacts | None:
    params = {"stream": stream_id, "position": position}
    row = sql.one(_DELIVERY, params)
    if row is None:
        return None
    work = sql.one(_WORK, params) if row[3] == State.WAITING else None
    history: list[AttemptFacts | EventFacts] = [
        AttemptFacts(number, at, Outcome(outcome), State(after), code, detail)
        for number, at, outcome, after, code, detail in sql.rows(_ATTEMPTS, params)
    ]
    history += [EventFacts(*event) for event in sql.rows(_EVENTS, params)]
    return DeliveryFacts(
        position=position,
        address=row[1],
        planned_at=row[2],
        state=State(row[3]),
        attempts=row[4],
        last_try=row[5],
        code=row[6],
        message_id=row[7],
        settled_at=row[8],
        doubts=row[9],
        resend_after=row[10],
        work=WorkFacts(Reason(work[0]), *work[1:]) if work else None,
        history=sorted(history, key=lambda fact: fact.at),
    )


_BY_MESSAGE: LiteralString = """
SELECT stream_id, position FROM deliveries_providermessage WHERE message_id = %(message)s
"""


def find_by_message_id(message_id: str) -> tuple[int, int] | None:
    """The delivery a provider's own id belongs to."""
    row = sql.one(_BY_MESSAGE, {"message": message_id})
    return (row[0], row[1]) if row else None
