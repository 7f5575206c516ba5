"""How fast a stream's mails get their results, seen from the latest of them.

Nothing is counted for it: results come in about the order of positions, so the lines before the
first work that was not tried yet are the latest ones.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import LiteralString

from postledger.deliveries.ledger import sql

# Several workers are each in the middle of some batch: fewer lines would show one of them only.
_LATEST = 5_000
_FEWEST = 100
_RECENT = timedelta(seconds=60)


@dataclass(frozen=True, slots=True)
class Results:
    """The latest results of a stream, and between which moments they came."""

    count: int
    first_at: datetime | None
    last_at: datetime | None


_SEEN: LiteralString = """
SELECT count(*), min(line.settled_at), max(line.settled_at)
FROM (
    SELECT coalesce(min(lo), 0) AS lo FROM deliveries_batch
    WHERE stream_id = %(stream)s AND try_number = 1
) AS untried
JOIN deliveries_delivery AS line
  ON line.stream_id = %(stream)s
 AND line.position >= untried.lo - %(latest)s AND line.position < untried.lo
WHERE line.settled_at IS NOT NULL
"""


def seen(stream_id: int) -> Results:
    [row] = sql.rows(_SEEN, {"stream": stream_id, "latest": _LATEST})
    return Results(*row)


def per_second(results: Results, *, now: datetime) -> float | None:
    """None where it could not be told honestly: after few results, or when none came lately."""
    if results.first_at is None or results.last_at is None or results.count < _FEWEST:
        return None
    seconds = (results.last_at - results.first_at).total_seconds()
    is_recent = now - results.last_at < _RECENT
    return results.count / seconds if is_recent and seconds > 0 else None
