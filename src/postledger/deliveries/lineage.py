"""Who is in the books of some streams already, as a condition for statements that plan more."""

from typing import LiteralString

from postledger.deliveries import partitions
from postledger.deliveries.ledger import sql
from postledger.lib import ids

# A line that was cancelled before its first try never was with a provider, and no late answer can
# say that it was; everybody else has been tried to reach, or is about to be. Served by the unique
# key (stream, dedupe_key), which is the lower-case address where one is a key of lines.
TRIED: LiteralString = """
EXISTS (
    SELECT FROM unnest(%(lineage)s::bigint[]) AS earlier (stream_id)
    JOIN deliveries_delivery AS line USING (stream_id)
    WHERE line.dedupe_key = {place} AND NOT (line.state = 'cancelled' AND line.last_try = 0)
)
"""

_DRAINING: LiteralString = """
SELECT EXISTS (
    SELECT FROM deliveries_batch AS batch JOIN deliveries_stream AS stream
      ON stream.id = batch.stream_id
    WHERE stream.id = ANY(%(streams)s::bigint[]) AND stream.cancelled_at IS NOT NULL
)
"""


def is_draining(stream_ids: list[int]) -> bool:
    """Whether cancelled streams among these have work left, which will be cancelled or settled."""
    [(found,)] = sql.rows(_DRAINING, {"streams": sql.Bigints(stream_ids)})
    return bool(found)


# A try that did not succeed is an attempt, of which most streams have few: their lines are many.
_LEFT_OUT: LiteralString = """
SELECT EXISTS (
    SELECT FROM deliveries_attempt JOIN deliveries_delivery AS line USING (stream_id, position)
    WHERE stream_id = ANY(%(streams)s::bigint[]) AND line.state = 'cancelled' AND line.last_try > 0
)
"""


def is_left_out(stream_ids: list[int]) -> bool:
    """Whether mail was cancelled after a try that did not succeed: no rest goes to these people.

    Reads all attempts of the streams.
    """
    [(found,)] = sql.rows(_LEFT_OUT, {"streams": sql.Bigints(stream_ids)})
    return bool(found)


def is_forgotten(stream_ids: list[int]) -> bool:
    """Whether lines of these streams were dropped with their month: nobody knows who had mail."""
    months = {ids.month_of_stream(stream_id) for stream_id in stream_ids}
    return not all(map(partitions.exists, months))
