"""What providers reported of streams, from counters that stand beside the books."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import LiteralString

from postledger.deliveries.ledger import books, sql


@dataclass(frozen=True, slots=True)
class ReportCounts:
    """How many deliveries of one stream have at least one event of each kind."""

    delivered: int = 0
    bounced: int = 0  # for good, by the recipient's server
    soft_bounced: int = 0
    on_suppression_list: int = 0  # bounced by the account's own list; no server was asked
    complained: int = 0
    dropped: int = 0
    opened: int = 0
    clicked: int = 0
    reported: int = 0  # with any event


_TOTALS: LiteralString = ", ".join([f"s.{name} + coalesce(d.{name}, 0)" for name in books.REPORTED])
_SUMS: LiteralString = ", ".join([f"sum({name}) AS {name}" for name in books.REPORTED])
# One statement, one snapshot: a counter on its way from delta to stream counts once.
_COUNTS: LiteralString = f"""
SELECT s.id, {_TOTALS} FROM deliveries_stream s
LEFT JOIN LATERAL (
    SELECT {_SUMS} FROM deliveries_streamdelta WHERE stream_id = s.id
) AS d ON true
WHERE s.id = ANY(%(ids)s::bigint[])
"""


def read_report_counts(stream_ids: Sequence[int]) -> dict[int, ReportCounts]:
    """The counters of some streams, by the streams' ids; nothing is counted row by row."""
    rows = sql.rows(_COUNTS, {"ids": sql.Bigints(stream_ids)})
    return {stream_id: ReportCounts(*map(int, counts)) for stream_id, *counts in rows}
