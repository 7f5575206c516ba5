"""Who works on what: leases on due batches, and giving them back."""

from collections.abc import Sequence
from datetime import timedelta
from typing import LiteralString

from postledger.deliveries.entries import Batch, Claim
from postledger.deliveries.ledger import sql
from postledger.deliveries.reasons import Reason

_CLAIM: LiteralString = (
    """
WITH due AS MATERIALIZED (
    SELECT b.id FROM deliveries_batch b
    WHERE b.stream_id = %(stream)s AND b.due_at <= statement_timestamp() AND b.lease IS NULL
      AND """
    + sql.STREAM_IS_OPEN
    + """
    ORDER BY b.due_at
    LIMIT %(limit)s
    FOR NO KEY UPDATE OF b SKIP LOCKED
), token AS MATERIALIZED (
    SELECT nextval('deliveries_lease_token') AS lease WHERE EXISTS (SELECT FROM due)
), claimed AS (
    UPDATE deliveries_batch b
    SET lease = token.lease, lease_until = clock_timestamp() + %(lease_time)s
    FROM due, token WHERE b.id = due.id
    RETURNING b.lease, b.id, b.lo, b.hi, b.try_number, b.version, b.lease_until
), directory AS (
    INSERT INTO deliveries_lease (token, holder, taken_at, check_at, batch_ids)
    SELECT lease, %(holder)s, statement_timestamp(), max(lease_until), array_agg(id)
    FROM claimed GROUP BY lease
)
SELECT lease, id, lo, hi, try_number, version FROM claimed ORDER BY lo
"""
)


def claim(stream_id: int, *, holder: str, limit: int, lease_time: timedelta) -> Claim | None:
    """Leases due batches of one stream that is not held, in the order they are due.

    At most one holder has a batch: rows are taken with SKIP LOCKED, the token comes from a
    sequence and ends by the database's clock. None when there is nothing to take.
    """
    params = {"stream": stream_id, "limit": limit, "lease_time": lease_time, "holder": holder}
    found = sql.rows(_CLAIM, params)
    if not found:
        return None
    batches = [
        Batch(id=id_, stream_id=stream_id, lo=lo, hi=hi, try_number=number, version=version)
        for _, id_, lo, hi, number, version in found
    ]
    return Claim(lease=found[0][0], batches=batches)


_WAIT: LiteralString = """
UPDATE deliveries_batch
SET due_at = coalesce(statement_timestamp() + %(delay)s, due_at), reason = %(reason)s,
    lease = NULL, lease_until = NULL,
    since = CASE WHEN reason = %(reason)s THEN since ELSE statement_timestamp() END
WHERE id = ANY(%(ids)s::bigint[]) AND lease = %(lease)s AND armed_to IS NULL
RETURNING id
"""


def wait(
    claim: Claim, batches: Sequence[Batch], *, reason: Reason, delay: timedelta | None = None
) -> list[int]:
    """Gives leased, unarmed batches back with the reason they wait and the time they go on.

    The one way to defer. Attempts are not counted; waiting on for the same reason keeps `since`.
    The delay runs by the database's clock; without one, the batches keep their place in the line.
    """
    params = {
        "ids": sql.Bigints(batch.id for batch in batches),
        "lease": claim.lease,
        "delay": delay,
        "reason": reason.value,
    }
    return [id_ for (id_,) in sql.rows(_WAIT, params)]
