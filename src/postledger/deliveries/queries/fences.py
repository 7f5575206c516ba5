"""What the fence keeps back, stream by stream."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import LiteralString

from postledger.deliveries.entries import Kind
from postledger.deliveries.ledger import sql


@dataclass(frozen=True, slots=True)
class FencedStream:
    id: int
    kind: Kind
    title: str
    waiting_count: int
    lost_time_count: int  # in doubt because of the lost time


_FENCED_STREAMS: LiteralString = """
SELECT s.id, s.kind, s.title,
       (SELECT coalesce(sum(b.hi - b.lo), 0)::bigint FROM deliveries_batch b
        WHERE b.stream_id = s.id),
       (SELECT count(*) FROM deliveries_attempt a JOIN deliveries_delivery d
          ON d.stream_id = a.stream_id AND d.position = a.position AND d.state = 'in_doubt'
        WHERE a.stream_id = s.id AND a.outcome = 'lost_time')
FROM deliveries_stream s WHERE s.id = ANY(%(ids)s::bigint[]) ORDER BY s.id
"""


def fenced_streams(stream_ids: Sequence[int]) -> list[FencedStream]:
    rows = sql.rows(_FENCED_STREAMS, {"ids": sql.Bigints(stream_ids)})
    return [
        FencedStream(id_, Kind(kind), title, waiting, lost)
        for id_, kind, title, waiting, lost in rows
    ]


_UNMATCHED: LiteralString = "SELECT count(*) FROM deliveries_unmatched"


def unmatched_count() -> int:
    """How much evidence named no mail that it may act on."""
    [(count,)] = sql.rows(_UNMATCHED, {})
    return int(count)
