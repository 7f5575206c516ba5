"""The books of streams, from their counters."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import LiteralString

from postledger.deliveries.ledger import books, sql
from postledger.deliveries.states import State


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
