"""Conditions for planning a run: who has mail of earlier streams already."""

from datetime import datetime
from typing import LiteralString

from postledger.deliveries import partitions
from postledger.deliveries.ledger import sql
from postledger.lib import ids

# A delivery that was cancelled before its first try never was with a provider, and no late answer
# can say that it was; nor was a failure that was superseded. Every other one has been tried, or is
# about to be. Served by the unique key (stream, dedupe_key), which is the lowercase address where a
# run planned the delivery.
TRIED: LiteralString = """
EXISTS (
    SELECT FROM unnest(%(lineage)s::bigint[]) AS earlier (stream_id)
    JOIN deliveries_delivery AS d USING (stream_id)
    WHERE d.dedupe_key = {address}
      AND (d.state <> 'cancelled' OR (d.last_try > 0 AND d.code IS DISTINCT FROM 'superseded'))
)
"""

# Whether whatever was tried has failed, or was cancelled.
ONLY_FAILED: LiteralString = """
NOT EXISTS (
    SELECT FROM unnest(%(lineage)s::bigint[]) AS earlier (stream_id)
    JOIN deliveries_delivery AS d USING (stream_id)
    WHERE d.dedupe_key = {address} AND d.state NOT IN ('failed', 'cancelled')
)
"""

# Whether a contact has mail of these streams under an address that it had before: it was accepted,
# or may have been, or is about to be handed over. Mail to the old address fails if it was not
# handed over before the move, and failed mail does not exclude the new address.
# By the same unique key, for the few contacts that ever moved; the address may be somebody else's
# by now, so the delivery's contact is compared.
MAILED_BEFORE_MOVING: LiteralString = """
{former} IS NOT NULL AND EXISTS (
    SELECT FROM unnest(%(mailed_in)s::bigint[]) AS earlier (stream_id)
    CROSS JOIN unnest({former}) AS former (address)
    JOIN deliveries_delivery AS d
      ON d.stream_id = earlier.stream_id AND d.dedupe_key = former.address COLLATE "C"
    WHERE d.contact_id = {contact} AND d.state IN ('waiting', 'accepted', 'in_doubt')
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
    return sql.exists(_DRAINING, {"streams": sql.Bigints(stream_ids)})


# A try that did not succeed is an attempt; a stream has few attempts and many deliveries.
_LEFT_OUT: LiteralString = """
SELECT EXISTS (
    SELECT FROM deliveries_attempt JOIN deliveries_delivery AS d USING (stream_id, position)
    WHERE stream_id = ANY(%(streams)s::bigint[])
      AND d.state = 'cancelled' AND d.last_try > 0 AND d.code IS DISTINCT FROM 'superseded'
)
"""


def is_left_out(stream_ids: list[int]) -> bool:
    """Whether mail was cancelled after a try that did not succeed: no later run reaches them.

    Reads all attempts of the streams.
    """
    return sql.exists(_LEFT_OUT, {"streams": sql.Bigints(stream_ids)})


def is_forgotten(stream_ids: list[int]) -> bool:
    """Whether deliveries of these streams were dropped with their month: their mail is unknown."""
    months = {ids.month_of_stream(stream_id) for stream_id in stream_ids}
    return partitions.is_dropped(months) or not all(map(partitions.exists, months))


_INTERRUPTED: LiteralString = """
SELECT EXISTS (
    SELECT FROM deliveries_stream s, deliveries_epoch e
    WHERE s.id = %(stream)s AND e.number > s.epoch
      AND (%(planned_at)s::timestamptz IS NULL OR e.began_at < %(planned_at)s)
)
"""


def was_interrupted(stream_id: int, *, planned_at: datetime | None) -> bool:
    """Whether a restore came before a stream was planned to its end: the lost time may have planned
    and sent more of it than this database has.
    """
    return sql.exists(_INTERRUPTED, {"stream": stream_id, "planned_at": planned_at})
