"""Changes waiting deliveries of which nothing is with the provider: to whom they go, and when."""

from collections.abc import Collection, Mapping
from typing import LiteralString

from postledger.deliveries.entries import Claim, StreamKind
from postledger.deliveries.ledger import sql

# Of batches that never overlap, the last that begins at or before a position is the only one that
# can have it. What waits for a provider, for a retry, or because it may kill workers, waits on.
_BRING_FORWARD: LiteralString = f"""
WITH asked AS MATERIALIZED (
    SELECT d.stream_id, d.position
    FROM unnest(%(streams)s::bigint[], %(keys)s::text[]) AS given (stream_id, key)
    JOIN deliveries_stream s ON s.id = given.stream_id AND s.kind = %(kind)s
    JOIN deliveries_delivery d ON d.stream_id = given.stream_id AND d.dedupe_key = given.key
    WHERE d.state = 'waiting'
), held AS MATERIALIZED (
    SELECT DISTINCT batch.id
    FROM asked CROSS JOIN LATERAL (
        SELECT id, hi FROM deliveries_batch
        WHERE stream_id = asked.stream_id AND lo <= asked.position
        ORDER BY lo DESC LIMIT 1
    ) AS batch
    WHERE batch.hi > asked.position
), locked AS MATERIALIZED (
    SELECT b.id FROM deliveries_batch b JOIN held USING (id)
    WHERE b.lease IS NULL AND b.losses = 0 AND b.due_at > statement_timestamp()
      AND b.reason IN {sql.NAMED_BY_RECIPIENTS}
    ORDER BY b.id FOR NO KEY UPDATE OF b
)
UPDATE deliveries_batch b SET due_at = statement_timestamp()
FROM locked WHERE b.id = locked.id
RETURNING b.stream_id
"""


def bring_forward(keys: Collection[tuple[int, str]]) -> set[int]:
    """Lets the batches of waiting notifications be due now; returns the streams that have some.

    By stream and dedupe key. Others in these batches become due as well, so only in topics: there
    the terms are asked before a mail goes, and by these, whoever has to wait on waits on.
    """
    if not keys:
        return set()
    params = {
        "streams": sql.Bigints(stream_id for stream_id, _ in keys),
        "keys": sql.Texts(key for _, key in keys),
        "kind": StreamKind.TOPIC.value,
    }
    return {stream_id for (stream_id,) in sql.rows(_BRING_FORWARD, params)}


# Only of topics: a run's deliveries have their address as their key. Attempts that handed nothing
# over leave nothing that the provider could report of the former address. A requeue sets the number
# of attempts to 0, and their rows stay.
_READDRESS: LiteralString = """
WITH leased AS MATERIALIZED (
    SELECT b.stream_id, b.lo, b.hi FROM deliveries_batch b
    WHERE b.stream_id = %(stream)s AND b.lease = %(lease)s AND b.armed_to IS NULL
    ORDER BY b.id FOR NO KEY UPDATE OF b
), readdressed AS (
    UPDATE deliveries_delivery d SET address = given.address
    FROM unnest(%(positions)s::bigint[], %(addresses)s::text[]) AS given (position, address),
         deliveries_stream s, leased b
    WHERE d.stream_id = %(stream)s AND d.position = given.position
      AND d.state = 'waiting' AND d.doubts IS NULL AND d.attempts = 0
      AND NOT EXISTS (
          SELECT FROM deliveries_attempt a
          WHERE a.stream_id = d.stream_id AND a.position = d.position
            AND a.outcome NOT IN (
                'invalid', 'skipped', 'suppressed', 'expired', 'poison', 'given_up',
                'not_sent', 'throttled', 'sender_blocked'
            )
      )
      AND NOT EXISTS (
          SELECT FROM deliveries_epoch e WHERE e.cause <> 'setup' AND e.began_at > d.planned_at
      )
      AND s.id = d.stream_id AND s.kind = %(kind)s
      AND b.stream_id = d.stream_id AND b.lo <= d.position AND b.hi > d.position
      AND %(epoch)s = (SELECT max(number) FROM deliveries_epoch)
    RETURNING d.position, d.last_try
)
INSERT INTO deliveries_deliveryevent (stream_id, position, at, kind, actor, data)
SELECT %(stream)s, position, statement_timestamp(), 'readdressed', 'contact',
       jsonb_build_object('try', last_try, 'before', 'waiting', 'after', 'waiting')
FROM readdressed
RETURNING position
"""


def readdress(claim: Claim, stream_id: int, addresses: Mapping[int, str]) -> set[int]:
    """Gives leased, unarmed notifications the addresses that their contacts have now, by position.

    Only if nothing was ever handed over: of that, the former address may still be told of. The
    delivery stays the same, with its key and its place in the books. Returns the positions it
    applied to: none where the lease was lost.
    """
    params = {
        "stream": stream_id,
        "kind": StreamKind.TOPIC.value,
        "lease": claim.lease,
        "epoch": claim.epoch,
        "positions": sql.Bigints(addresses),
        "addresses": sql.Texts(addresses.values()),
    }
    return {position for (position,) in sql.rows(_READDRESS, params)}
