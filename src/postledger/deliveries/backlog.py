"""How much work waits in the whole installation, why, and since when; reads counters and live work.

Nothing here reads delivery rows, so it costs the same whatever the ledger holds.
"""

from dataclasses import dataclass
from typing import LiteralString

from postledger.deliveries.ledger import sql
from postledger.deliveries.reasons import Reason


@dataclass(frozen=True, slots=True)
class Holds:
    """Streams with work, and senders, that may not send now."""

    stream_count: int
    sender_count: int


# Every stream with work has a lane, and in each the index ends the search at the first free batch.
_DUE_OLDEST: LiteralString = (
    "WITH "
    + sql.EPOCH
    + """
SELECT extract(epoch FROM statement_timestamp() - min(due.due_at))::float8
FROM deliveries_lane l
JOIN deliveries_stream s ON s.id = l.stream_id
CROSS JOIN LATERAL (
    SELECT b.due_at FROM deliveries_batch b
    WHERE b.stream_id = l.stream_id AND b.due_at <= statement_timestamp() AND b.lease IS NULL
    ORDER BY b.due_at LIMIT 1
) AS due
WHERE s.cancelled_at IS NULL
  AND """
    + sql.IS_UNFENCED
    + """
  AND (s.held_reason IS NULL OR s.held_until <= statement_timestamp())
  AND NOT EXISTS (
    SELECT FROM deliveries_senderhold h
    WHERE h.sender_id = s.sender_id AND (h.until IS NULL OR h.until > statement_timestamp())
  )
"""
)


def due_oldest_seconds() -> float | None:
    """How long the oldest work that a worker could take now has been due; None without any."""
    [(seconds,)] = sql.rows(_DUE_OLDEST, {})
    return seconds if seconds is None else float(seconds)


_UNSWEPT: LiteralString = """
SELECT extract(epoch FROM statement_timestamp() - min(check_at))::float8 FROM deliveries_lease
WHERE check_at < statement_timestamp()
"""


def unswept_seconds() -> float:
    """How long a lease has been waiting to be looked at by the sweep; 0 when none is."""
    [(seconds,)] = sql.rows(_UNSWEPT, {})
    return float(seconds or 0.0)


_HOLDS: LiteralString = """
SELECT (
    SELECT count(*) FROM deliveries_lane l JOIN deliveries_stream s ON s.id = l.stream_id
    WHERE s.cancelled_at IS NULL AND s.held_reason IS NOT NULL
      AND (s.held_until IS NULL OR s.held_until > statement_timestamp())
      AND EXISTS (SELECT FROM deliveries_batch b WHERE b.stream_id = l.stream_id)
), (
    SELECT count(*) FROM deliveries_senderhold h
    WHERE h.until IS NULL OR h.until > statement_timestamp()
)
"""


def holds() -> Holds:
    [(streams, senders)] = sql.rows(_HOLDS, {})
    return Holds(stream_count=streams, sender_count=senders)


_WAITING: LiteralString = """
SELECT reason, count(*) FROM deliveries_batch WHERE lease IS NULL GROUP BY reason
"""


def waiting_batches() -> dict[Reason, int]:
    """The batches that nobody has taken, by the reason they wait."""
    return {Reason(reason): count for reason, count in sql.rows(_WAITING, {})}


# One statement, one snapshot: a counter on its way from batch to delta to stream counts once.
_IN_DOUBT: LiteralString = """
SELECT (SELECT coalesce(sum(in_doubt), 0) FROM deliveries_stream)
     + (SELECT coalesce(sum(in_doubt), 0) FROM deliveries_streamdelta)
     + (SELECT coalesce(sum(in_doubt), 0) FROM deliveries_batch)
"""


def in_doubt() -> int:
    """The mails in doubt, from the counters."""
    [(count,)] = sql.rows(_IN_DOUBT, {})
    return int(count)
