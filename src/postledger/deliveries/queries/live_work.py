"""The streams that have work, and the work that is still to come."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import LiteralString

from postledger.deliveries.ledger import sql
from postledger.deliveries.queries.streams import StreamFacts, find_streams

# Every stream with work is in the rotation.
_LIVE: LiteralString = """
SELECT s.id, l.priority FROM deliveries_lane l JOIN deliveries_stream s ON s.id = l.stream_id
WHERE s.workspace_id = %(workspace)s AND s.cancelled_at IS NULL
  AND EXISTS (SELECT FROM deliveries_batch b WHERE b.stream_id = s.id)
"""


def list_live_streams(workspace_id: int) -> dict[int, int]:
    """The streams of a workspace with work, and their priorities; the lowest goes first."""
    return dict(sql.rows(_LIVE, {"workspace": workspace_id}))


_LIVE_OF_SENDER: LiteralString = """
SELECT s.id FROM deliveries_lane l JOIN deliveries_stream s ON s.id = l.stream_id
WHERE s.sender_id = %(sender)s AND s.cancelled_at IS NULL
  AND EXISTS (SELECT FROM deliveries_batch b WHERE b.stream_id = s.id)
"""


def list_streams_of_sender(sender_id: int) -> list[StreamFacts]:
    """The streams of a sender that have work."""
    ids_ = [id_ for (id_,) in sql.rows(_LIVE_OF_SENDER, {"sender": sender_id})]
    return list(find_streams(ids_).values())


_HELD: LiteralString = """
SELECT s.id FROM deliveries_lane l JOIN deliveries_stream s ON s.id = l.stream_id
WHERE s.cancelled_at IS NULL
  AND EXISTS (SELECT FROM deliveries_batch b WHERE b.stream_id = s.id)
  AND (EXISTS (
        SELECT FROM deliveries_streamhold h
        WHERE h.stream_id = s.id AND (h.until IS NULL OR h.until > statement_timestamp())
      ) OR EXISTS (
        SELECT FROM deliveries_senderhold h
        WHERE h.sender_id = s.sender_id AND (h.until IS NULL OR h.until > statement_timestamp())
      ))
  AND s.id > %(after)s
ORDER BY s.id LIMIT %(limit)s
"""


def list_held_streams(*, after: int, limit: int) -> list[StreamFacts]:
    """Streams with work that are held, in the order of their ids."""
    ids_ = [id_ for (id_,) in sql.rows(_HELD, {"after": after, "limit": limit})]
    return sorted(find_streams(ids_).values(), key=lambda stream: stream.id)


@dataclass(frozen=True, slots=True)
class LaterWork:
    """Mails of a stream that are due within the same hour, later than now."""

    stream_id: int
    due_at: datetime  # of the first of them
    position_count: int  # an upper bound of the mails


_LATER: LiteralString = """
SELECT stream_id, min(due_at), sum(hi - lo)::bigint FROM deliveries_batch
WHERE stream_id = ANY(%(ids)s::bigint[]) AND due_at > %(now)s
GROUP BY stream_id, date_trunc('hour', due_at, 'UTC')
ORDER BY stream_id, min(due_at)
"""


def list_later_work(stream_ids: Collection[int], *, now: datetime) -> list[LaterWork]:
    params = {"ids": sql.Bigints(stream_ids), "now": now}
    return [LaterWork(*row) for row in sql.rows(_LATER, params)]
