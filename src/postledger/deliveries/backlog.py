"""How much work waits in the whole installation, why, and since when.

Reads counters and live work, no delivery rows: the size of the ledger does not matter.
"""

from dataclasses import dataclass
from typing import LiteralString

from postledger.deliveries.ledger import sql
from postledger.deliveries.reasons import Reason


@dataclass(frozen=True, slots=True)
class HoldCounts:
    """Streams with work, and senders in use, that may not send now."""

    stream_count: int
    sender_count: int


# Every stream with work is in the rotation; the index ends each search at its first free batch.
_DUE_OLDEST: LiteralString = f"""
WITH {sql.EPOCH}
SELECT extract(epoch FROM statement_timestamp() - min(due.due_at))::float8
FROM deliveries_lane l
JOIN deliveries_stream s ON s.id = l.stream_id
CROSS JOIN LATERAL (
    SELECT b.due_at FROM deliveries_batch b
    WHERE b.stream_id = l.stream_id AND b.due_at <= statement_timestamp() AND b.lease IS NULL
    ORDER BY b.due_at LIMIT 1
) AS due
WHERE {sql.MAY_SEND}
"""


def due_oldest_seconds() -> float | None:
    """How long the oldest work that a worker could take now has been due; None without any."""
    [(seconds,)] = sql.rows(_DUE_OLDEST, {})
    return seconds if seconds is None else float(seconds)


_UNSWEPT: LiteralString = """
SELECT extract(epoch FROM statement_timestamp() - min(check_at))::float8 FROM deliveries_lease
WHERE check_at < statement_timestamp()
"""


def unswept_seconds() -> float:
    """How long an ended lease has been waiting for the sweep; 0 when none waits."""
    [(seconds,)] = sql.rows(_UNSWEPT, {})
    return float(seconds or 0.0)


_HOLDS: LiteralString = """
SELECT (
    SELECT count(*) FROM deliveries_lane l JOIN deliveries_stream s ON s.id = l.stream_id
    WHERE s.cancelled_at IS NULL
      AND EXISTS (
          SELECT FROM deliveries_streamhold h
          WHERE h.stream_id = s.id AND (h.until IS NULL OR h.until > statement_timestamp())
      )
      AND EXISTS (SELECT FROM deliveries_batch b WHERE b.stream_id = l.stream_id)
), (
    SELECT count(DISTINCT h.sender_id) FROM deliveries_senderhold h
    JOIN accounts_sender sender ON sender.id = h.sender_id
    WHERE (h.until IS NULL OR h.until > statement_timestamp())
      AND (sender.archived_at IS NULL OR EXISTS (
          SELECT FROM deliveries_lane l JOIN deliveries_stream s ON s.id = l.stream_id
          JOIN deliveries_batch b ON b.stream_id = l.stream_id
          WHERE s.sender_id = sender.id AND s.cancelled_at IS NULL
      ))
)
"""


def count_holds() -> HoldCounts:
    [(streams, senders)] = sql.rows(_HOLDS, {})
    return HoldCounts(stream_count=streams, sender_count=senders)


_WAITING: LiteralString = """
SELECT reason, count(*) FROM deliveries_batch WHERE lease IS NULL GROUP BY reason
"""


def count_waiting_batches() -> dict[Reason, int]:
    """How many batches are not leased, by the reason they wait."""
    return {Reason(reason): count for reason, count in sql.rows(_WAITING, {})}


# One statement, one snapshot: a counter on its way from batch to delta to stream counts once.
_IN_DOUBT: LiteralString = """
SELECT (SELECT coalesce(sum(in_doubt), 0) FROM deliveries_stream)
     + (SELECT coalesce(sum(in_doubt), 0) FROM deliveries_streamdelta)
"""


def count_in_doubt() -> int:
    """How many mails are in doubt, from the counters."""
    return sql.count(_IN_DOUBT, {})
