"""Which streams are walked for work, and whose turn it is."""

from datetime import timedelta
from typing import LiteralString

from django.db import transaction

from postledger.deliveries.entries import Kind
from postledger.deliveries.ledger import sql

_TURNS: LiteralString = """
WITH next AS MATERIALIZED (
    SELECT l.stream_id
    FROM deliveries_lane l
    JOIN deliveries_stream s ON s.id = l.stream_id
    WHERE s.cancelled_at IS NULL
      AND (s.held_reason IS NULL OR s.held_until <= statement_timestamp())
      AND NOT EXISTS (
        SELECT FROM deliveries_senderhold h
        WHERE h.sender_id = s.sender_id AND (h.until IS NULL OR h.until > statement_timestamp())
      )
      AND EXISTS (
        SELECT FROM deliveries_batch b
        WHERE b.stream_id = l.stream_id AND b.due_at <= statement_timestamp() AND b.lease IS NULL
      )
    ORDER BY l.priority, l.turn_at
    LIMIT %(limit)s
    FOR NO KEY UPDATE OF l SKIP LOCKED
)
UPDATE deliveries_lane l SET turn_at = clock_timestamp()
FROM next WHERE l.stream_id = next.stream_id
RETURNING l.stream_id, l.priority
"""


def turns(*, limit: int) -> list[int]:
    """Names the streams whose turn it is: with due work, not held, longest without a turn first.

    Each goes to the end of its priority's line, so one turn each is fair; two callers at once
    get different streams.
    """
    found = sql.rows(_TURNS, {"limit": limit})
    return [stream_id for stream_id, _ in sorted(found, key=lambda row: row[1])]


_KEEP_LANE: LiteralString = "SELECT deliveries_keep_lane(%(stream)s)"


def keep_lane(stream_id: int) -> Kind | None:
    """Sees that the stream is walked for work until this transaction ends, and after.

    Returns its kind while it takes mail, else None.
    """
    [(kind,)] = sql.rows(_KEEP_LANE, {"stream": stream_id})
    return Kind(kind) if kind else None


_IDLE_LANES: LiteralString = """
SELECT l.stream_id FROM deliveries_lane l
WHERE l.turn_at < statement_timestamp() - %(idle)s
  AND NOT EXISTS (SELECT FROM deliveries_batch b WHERE b.stream_id = l.stream_id)
  AND pg_try_advisory_xact_lock(%(lane)s, (l.stream_id & 2147483647)::integer)
LIMIT 1000
"""

_RETIRE: LiteralString = """
DELETE FROM deliveries_lane l
WHERE l.stream_id = ANY(%(ids)s::bigint[])
  AND NOT EXISTS (SELECT FROM deliveries_batch b WHERE b.stream_id = l.stream_id)
RETURNING l.stream_id
"""


def retire_lanes(*, idle: timedelta = timedelta(hours=1)) -> int:
    """Takes streams without work off the walk; whoever adds work puts them back."""
    with transaction.atomic():
        params = {"idle": idle, "lane": sql.LANE}
        ids = [id_ for (id_,) in sql.rows(_IDLE_LANES, params)]
        # A new statement: work added before the lock was won is visible to it.
        return len(sql.rows(_RETIRE, {"ids": sql.Bigints(ids)})) if ids else 0
