"""Leases on due batches: claiming them and giving them back."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from functools import cache
from typing import LiteralString

from psycopg.sql import SQL, Composed

from postledger.deliveries.entries import Batch, Claim, Piece
from postledger.deliveries.ledger import sql
from postledger.deliveries.ledger.holds import probes
from postledger.deliveries.reasons import Reason

# A suspect lost a worker before it was armed; perhaps the worker died of it.
_SUSPECTS: LiteralString = """
SELECT FROM deliveries_batch
WHERE stream_id = %(stream)s AND losses > 0 AND lease IS NULL AND due_at <= statement_timestamp()
"""


# The limit is written out: with a parameter for it, PostgreSQL plans the claim anew each time.
_CLAIM: LiteralString = """
WITH stream AS MATERIALIZED (
    SELECT deliveries_open_epoch(%(stream)s) AS epoch
), due AS MATERIALIZED (
    SELECT b.id FROM deliveries_batch b
    WHERE b.stream_id = %(stream)s AND b.due_at <= statement_timestamp() AND b.lease IS NULL
      AND b.losses {losses}
      AND (SELECT epoch FROM stream) IS NOT NULL
    ORDER BY b.due_at
    LIMIT {limit}
    FOR NO KEY UPDATE OF b SKIP LOCKED
), token AS MATERIALIZED (
    SELECT nextval('deliveries_lease_token') AS lease WHERE EXISTS (SELECT FROM due)
), claimed AS (
    UPDATE deliveries_batch b
    SET lease = token.lease, lease_until = clock_timestamp() + %(lease_time)s
    FROM due, token WHERE b.id = due.id
    RETURNING b.lease, b.id, b.lo, b.hi, b.try_number, b.version, b.lease_until, b.is_single
), directory AS (
    INSERT INTO deliveries_lease (token, holder, taken_at, check_at, is_alone, batch_ids)
    SELECT lease, %(holder)s, statement_timestamp(), max(lease_until), {alone}, array_agg(id)
    FROM claimed GROUP BY lease
)
SELECT lease, (SELECT epoch FROM stream), EXISTS ({suspects}), EXISTS ({untried}),
       id, %(stream)s, lo, hi, try_number, version,
       CASE WHEN is_single THEN coalesce((
           SELECT size FROM deliveries_body WHERE stream_id = %(stream)s AND position = lo
       ), 0) ELSE 0 END
FROM claimed ORDER BY lo
"""


@cache
def _claim_statement(*, limit: int, is_alone: bool) -> Composed:
    losses = SQL("> 0") if is_alone else SQL("= 0")
    return SQL(_CLAIM).format(
        losses=losses,
        suspects=SQL(_SUSPECTS),
        untried=SQL(probes.UNTRIED),
        limit=limit,
        alone=is_alone,
    )


def claim(stream_id: int, *, holder: str, limit: int, lease_time: timedelta) -> Claim | None:
    """Leases due batches of one stream that is not held, in the order they are due.

    At most one holder has a batch: rows are taken with SKIP LOCKED, the token comes from a
    sequence, and the lease ends by the database's clock. None when there is nothing to take.
    Suspects are left to `claim_suspect`. After a provider did not answer, one claim of its account
    gets one batch, to try one mail of it (`is_probe`), and the others get None until it has ended.
    """
    return _run_claim(stream_id, holder=holder, limit=limit, lease_time=lease_time, is_alone=False)


def claim_suspect(stream_id: int, *, holder: str, lease_time: timedelta) -> Claim | None:
    """Leases one batch that lost a worker before it was armed, and nothing beside it.

    Call it only while this process composes nothing else: a death from here until the batch is
    armed is counted against it.
    """
    return _run_claim(stream_id, holder=holder, limit=1, lease_time=lease_time, is_alone=True)


def _run_claim(
    stream_id: int, *, holder: str, limit: int, lease_time: timedelta, is_alone: bool
) -> Claim | None:
    statement = _claim_statement(limit=limit, is_alone=is_alone)
    params = {"stream": stream_id, "lease_time": lease_time, "holder": holder}
    rows = sql.rows(statement, params)
    if not rows:
        return None
    lease, epoch, has_suspects, is_untried, *_ = rows[0]
    batches = [Batch(*columns) for _, _, _, _, *columns in rows]
    claim = Claim(lease, batches, epoch, is_alone=is_alone, has_suspects=has_suspects)
    return _claim_probe(stream_id, claim, lease_time) if is_untried else claim


def _claim_probe(stream_id: int, claim: Claim, lease_time: timedelta) -> Claim | None:
    """The claim with one batch, if it may try the provider; None if another one does."""
    is_mine = probes.take_probe(stream_id, claim, lease_time)
    first, rest = (claim.batches[:1], claim.batches[1:]) if is_mine else ((), claim.batches)
    if rest:
        wait(claim, rest, reason=Reason.READY)
    return replace(claim, batches=first, is_probe=True) if first else None


_END_ALONE: LiteralString = """
UPDATE deliveries_lease SET is_alone = false WHERE token = %(lease)s
"""


def end_alone(claim: Claim) -> None:
    """Lets others compose beside a suspect again, after it was armed."""
    sql.rows(_END_ALONE, {"lease": claim.lease})


_HAS_SUSPECTS: LiteralString = f"SELECT EXISTS ({_SUSPECTS})"


def has_suspects(stream_id: int) -> bool:
    """Whether the stream has a due batch for `claim_suspect`."""
    return sql.exists(_HAS_SUSPECTS, {"stream": stream_id})


_WAIT: LiteralString = """
UPDATE deliveries_batch
SET due_at = coalesce(statement_timestamp() + %(delay)s, due_at), reason = %(reason)s,
    losses = CASE WHEN %(suspect)s THEN greatest(losses, 1) ELSE losses END,
    lease = NULL, lease_until = NULL,
    since = CASE WHEN reason = %(reason)s THEN since ELSE statement_timestamp() END
WHERE id = ANY(%(ids)s::bigint[]) AND lease = %(lease)s AND armed_to IS NULL
  AND %(epoch)s = (SELECT max(number) FROM deliveries_epoch)
RETURNING id
"""


def wait(
    claim: Claim,
    batches: Sequence[Batch],
    *,
    reason: Reason,
    delay: timedelta | None = None,
    is_suspect: bool = False,
) -> list[int]:
    """Gives leased, unarmed batches back with the reason they wait and the time they go on.

    The one way to defer. Attempts are not counted; waiting on for the same reason keeps `since`.
    The delay runs by the database's clock; without one, the batches keep their due time.
    `is_suspect` has them claimed alone from now on, without counting anything against them.
    """
    params = {
        "ids": sql.Bigints(batch.id for batch in batches),
        "lease": claim.lease,
        "epoch": claim.epoch,
        "delay": delay,
        "suspect": is_suspect,
        "reason": reason.value,
    }
    return [id_ for (id_,) in sql.rows(_WAIT, params)]


# The parent shrinks first: no position is in two batches. A piece of one position has lost nothing
# by itself, whatever its batch lost.
_WAIT_APART: LiteralString = """
WITH piece AS MATERIALIZED (
    SELECT * FROM unnest(
        %(los)s::bigint[], %(his)s::bigint[], %(due_times)s::timestamptz[], %(reasons)s::text[]
    ) WITH ORDINALITY AS p (lo, hi, due_at, reason, number)
), whole AS MATERIALIZED (
    SELECT * FROM deliveries_batch
    WHERE id = %(id)s AND lease = %(lease)s AND armed_to IS NULL
      AND lo = %(lo)s AND hi = %(hi)s
      AND %(epoch)s = (SELECT max(number) FROM deliveries_epoch)
    FOR NO KEY UPDATE
), meant AS MATERIALIZED (
    SELECT whole.id, whole.stream_id, whole.try_number, whole.losses, piece.number, piece.lo,
           piece.hi, coalesce(piece.due_at, whole.due_at) AS due_at,
           coalesce(piece.reason, whole.reason) AS reason,
           CASE WHEN coalesce(piece.reason, whole.reason) = whole.reason
                THEN whole.since ELSE statement_timestamp() END AS since,
           CASE WHEN piece.hi - piece.lo = 1 AND whole.hi - whole.lo > 1
                THEN 0 ELSE whole.lone_losses END AS lone_losses
    FROM whole, piece
), parent AS (
    UPDATE deliveries_batch b
    SET hi = meant.hi, version = b.version + 1, lease = NULL, lease_until = NULL,
        due_at = meant.due_at, reason = meant.reason, since = meant.since,
        lone_losses = meant.lone_losses
    FROM meant WHERE b.id = meant.id AND meant.number = 1
    RETURNING b.id
), child AS (
    INSERT INTO deliveries_batch (
        stream_id, lo, hi, is_single, try_number, due_at, reason, since, losses, lone_losses
    )
    SELECT stream_id, lo, hi, false, try_number, due_at, reason, since, losses, lone_losses
    FROM meant JOIN parent USING (id) WHERE number > 1
    RETURNING id
)
SELECT id FROM parent UNION ALL SELECT id FROM child
"""


def wait_apart(claim: Claim, batch: Batch, pieces: Sequence[Piece]) -> list[int]:
    """Gives a leased, unarmed batch back in pieces; each waits by itself, for its own reason.

    The pieces are the batch's positions, in order and without a gap. One without a due time keeps
    that of the batch, and its reason: it is claimed again at once. Nothing of the batch was armed,
    so no attempt and no try is counted, and nothing can be in doubt. Returns the ids of the pieces,
    or none where the lease was lost.
    """
    ends = [batch.lo, *(piece.hi for piece in pieces)]
    if [piece.lo for piece in pieces] != ends[:-1] or ends[-1] != batch.hi:
        raise ValueError("the pieces of a batch have all of its positions, each once")
    params = {
        "id": batch.id,
        "lo": batch.lo,
        "hi": batch.hi,
        "lease": claim.lease,
        "epoch": claim.epoch,
        "los": sql.Bigints(piece.lo for piece in pieces),
        "his": sql.Bigints(piece.hi for piece in pieces),
        "due_times": [piece.due_at for piece in pieces],
        "reasons": sql.Texts(piece.reason and piece.reason.value for piece in pieces),
    }
    return [id_ for (id_,) in sql.rows(_WAIT_APART, params)]
