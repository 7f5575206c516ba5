"""The facts about a stream: what it is, who holds it, and what of it waits."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import LiteralString

from postledger.deliveries.entries import Held, Kind
from postledger.deliveries.ledger import sql
from postledger.deliveries.reasons import Reason


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
    fenced_since: datetime | None = None


@dataclass(frozen=True, slots=True)
class Waits:
    """Batches of a stream that wait, or are worked on, for one reason."""

    reason: Reason
    batch_count: int
    position_count: int
    leased_count: int
    next_due_at: datetime
    since: datetime


_FACTS: LiteralString = """
SELECT s.id, s.workspace_id, s.sender_id, s.kind, s.title, s.is_test, s.created_at,
       s.cancelled_at, s.cancelled_by,
       s.held_reason, s.held_since, s.held_until, s.held_by, s.held_detail,
       h.reason, h.since, h.until, h.actor, h.detail, h.is_account,
       CASE WHEN s.lifted_epoch IS DISTINCT FROM e.number
             AND CASE s.kind WHEN 'campaign' THEN e.campaigns_lifted_at ELSE e.lifted_at END
                 IS NULL
            THEN e.began_at END
FROM deliveries_stream s
LEFT JOIN deliveries_epoch e ON e.number = (SELECT max(number) FROM deliveries_epoch)
LEFT JOIN deliveries_senderhold h
  ON h.sender_id = s.sender_id AND (h.until IS NULL OR h.until > statement_timestamp())
"""
_STREAM: LiteralString = _FACTS + "WHERE s.id = %(stream)s"
_STREAMS_OF: LiteralString = _FACTS + "WHERE s.id = ANY(%(ids)s::bigint[])"
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


def streams_of(stream_ids: Sequence[int]) -> dict[int, StreamFacts]:
    """The facts of some streams, by their ids."""
    found = map(_stream, sql.rows(_STREAMS_OF, {"ids": sql.Bigints(stream_ids)}))
    return {stream.id: stream for stream in found}


def is_cancelled(stream: StreamFacts | None) -> bool:
    """Whether it carries no more mail for good; so does one that is gone."""
    return stream is None or stream.cancelled_at is not None


def streams(*, workspace_id: int | None = None, limit: int = 50) -> list[StreamFacts]:
    """The newest streams, of one workspace or of all."""
    return [_stream(row) for row in sql.rows(_STREAMS, {"workspace": workspace_id, "limit": limit})]


def _stream(row: sql.Row) -> StreamFacts:
    id_, workspace_id, sender_id, kind, title, is_test, *rest = row
    created_at, cancelled_at, cancelled_by, *holds, fenced_since = rest
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
        fenced_since=fenced_since,
    )


def _held(columns: Sequence[object]) -> Held | None:
    reason, since, until, actor, detail, *is_account = columns
    if reason is None:
        return None
    whole = bool(is_account and is_account[0])
    return Held(Reason(str(reason)), since, until, str(actor), str(detail or ""), whole)  # type: ignore[arg-type]


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
