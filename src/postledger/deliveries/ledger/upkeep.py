"""What the ledger does by itself: sweep lost leases, fold counters, forget holds; `closing` has the
others.
"""

from dataclasses import dataclass
from typing import LiteralString

from django.db import transaction

from postledger.deliveries.ledger import books, closing, counting, sql
from postledger.deliveries.ledger.arming import ORPHAN_GRACE
from postledger.deliveries.reasons import Reason
from postledger.deliveries.states import State
from postledger.lib import crashpoints
from postledger.lib.crashpoints import Point

# Deaths of workers that had claimed a batch alone: after so many a batch of several positions is
# halved, and a batch of one fails. A half of several needs one death more to be halved again, a
# half of one all of its own: nobody fails for what killed its neighbour.
HALVE_AFTER = 3
FAIL_AFTER = 5


@dataclass(frozen=True, slots=True)
class Swept:
    """What one sweep found."""

    given_back: int
    in_doubt: int
    halved: int
    poisoned: int


# Crashes of one cause come close together, so a suspect waits 10 seconds longer after each.
_SWEPT: LiteralString = """
    armed_to = NULL, lease = NULL, lease_until = NULL, reason = %(reason)s,
    since = statement_timestamp(),
    losses = CASE WHEN win.armed_to IS NULL THEN least(b.losses + 1, 1000) ELSE 0 END,
    lone_losses = CASE
        WHEN win.armed_to IS NULL THEN b.lone_losses + win.is_lone_loss::int ELSE 0 END,
    due_at = CASE
        WHEN win.is_lone_loss
        THEN statement_timestamp() + interval '10 seconds' * (b.lone_losses + 1)
        ELSE b.due_at
    END
"""

# An armed window without a result becomes doubt, never waiting. The batch goes back without it.
_SWEEP: LiteralString = f"""
WITH stale AS (
    SELECT token, is_alone, unnest(batch_ids) AS id FROM deliveries_lease
    WHERE check_at <= statement_timestamp()
), win AS MATERIALIZED (
    SELECT b.id, b.stream_id, b.lo, b.hi, b.try_number, b.lease_until, b.armed_to,
           coalesce(b.armed_to, b.lo) AS moved_to,
           stale.is_alone AND b.armed_to IS NULL AS is_lone_loss
    FROM stale JOIN deliveries_batch b ON b.id = stale.id AND b.lease = stale.token
    WHERE b.lease_until <= clock_timestamp() AND deliveries_is_judged(b.stream_id)
    ORDER BY b.id
    LIMIT %(limit)s
    FOR NO KEY UPDATE OF b SKIP LOCKED
), booked AS (
    UPDATE deliveries_delivery d SET
        state = 'in_doubt', last_try = win.try_number, attempts = d.attempts + 1,
        code = NULL, settled_at = clock_timestamp(),
        doubts = d.doubts || win.try_number, resend_after = win.lease_until + %(grace)s
    FROM win
    WHERE d.stream_id = win.stream_id
      AND d.position >= win.lo AND d.position < win.armed_to
      AND d.state = 'waiting'
      AND d.last_try < win.try_number
    RETURNING win.id AS batch_id, d.stream_id, d.position, win.try_number, d.state,
        'lease_lost' AS outcome, NULL AS code,
        'Its worker was lost while the mail was with the provider.' AS detail,
        NULL AS category, {books.NO_ANSWER}
), {books.ATTEMPTS}, {books.counters(moved=_SWEPT)}
SELECT (SELECT count(*) FROM win), (SELECT count(*) FROM booked)
"""

_HALVE: LiteralString = """
WITH sick AS MATERIALIZED (
    SELECT id, hi FROM deliveries_batch
    WHERE lone_losses >= %(halve_after)s AND lease IS NULL AND hi - lo > 1
      AND id = ANY(%(ids)s::bigint[])
    ORDER BY id FOR NO KEY UPDATE
), parent AS (
    UPDATE deliveries_batch b
    SET hi = b.lo + (b.hi - b.lo) / 2, version = b.version + 1,
        lone_losses = CASE WHEN (b.hi - b.lo) / 2 > 1 THEN %(halve_after)s - 1 ELSE 0 END
    FROM sick WHERE b.id = sick.id
    RETURNING b.stream_id, b.hi AS lo, sick.hi, b.try_number, b.due_at, b.reason, b.since, b.losses
)
INSERT INTO deliveries_batch (
    stream_id, lo, hi, is_single, try_number, due_at, reason, since, losses, lone_losses
)
SELECT stream_id, lo, hi, false, try_number, due_at, reason, since, losses,
       CASE WHEN hi - lo > 1 THEN %(halve_after)s - 1 ELSE 0 END
FROM parent
RETURNING id
"""

_SICK: LiteralString = """
SELECT b.id, b.hi - b.lo = 1
FROM (
    SELECT unnest(batch_ids) AS id FROM deliveries_lease WHERE check_at <= statement_timestamp()
) AS stale JOIN deliveries_batch b USING (id)
WHERE b.lease IS NULL
  AND b.lone_losses >= CASE WHEN b.hi - b.lo = 1 THEN %(fail_after)s ELSE %(halve_after)s END
"""

# Leases whose batches all moved on are forgotten; renewed ones are looked at again at their end.
_TIDY: LiteralString = """
WITH mine AS MATERIALIZED (
    SELECT token, batch_ids FROM deliveries_lease WHERE check_at <= statement_timestamp()
    FOR UPDATE SKIP LOCKED
), stale AS MATERIALIZED (
    SELECT l.token, min(b.lease_until) AS until
    FROM mine l
    LEFT JOIN LATERAL (
        SELECT lease_until FROM deliveries_batch
        WHERE id = ANY(l.batch_ids) AND lease = l.token
    ) AS b ON true
    GROUP BY l.token
), gone AS (
    DELETE FROM deliveries_lease l USING stale
    WHERE l.token = stale.token AND stale.until IS NULL
)
UPDATE deliveries_lease l SET check_at = stale.until
FROM stale WHERE l.token = stale.token AND stale.until IS NOT NULL
"""


def sweep(*, limit: int = 100) -> Swept:
    """Takes expired leases away: armed positions without a result become in_doubt, others wait.

    From waiting only. A settle that comes later finds its lease gone and counts as evidence.
    Batches whose workers keep dying while they have nothing else are halved until the one
    poisonous mail fails alone.
    """
    with transaction.atomic():
        params = {"limit": limit, "grace": ORPHAN_GRACE, "reason": Reason.LEASE_LOST.value}
        [(given_back, in_doubt)] = sql.rows(_SWEEP, params)
        if given_back:
            crashpoints.reached(Point.IN_SWEEP)
        counting.count_results([State.IN_DOUBT.value] * in_doubt, doubt_cause="worker_lost")
        limits = {"halve_after": HALVE_AFTER, "fail_after": FAIL_AFTER}
        sick = sql.rows(_SICK, limits)
        large = [id_ for id_, is_one in sick if not is_one]
        halved = sql.rows(_HALVE, {**limits, "ids": sql.Bigints(large)}) if large else []
        ones = [id_ for id_, is_one in sick if is_one]
        poisoned = closing.close(ones, closing.POISONED)
        sql.rows(_TIDY, {})
    return Swept(given_back=given_back, in_doubt=in_doubt, halved=len(halved), poisoned=poisoned)


_FOLD: LiteralString = f"""
WITH part AS MATERIALIZED (
    -- A stream that is being planned or folded elsewhere is left for the next time.
    SELECT d.id FROM deliveries_streamdelta d JOIN deliveries_stream s ON s.id = d.stream_id
    ORDER BY d.id LIMIT %(limit)s
    FOR NO KEY UPDATE OF d, s SKIP LOCKED
), gone AS (
    DELETE FROM deliveries_streamdelta d USING part WHERE d.id = part.id RETURNING d.*
), {books.FOLDED}
SELECT count(*) FROM gone
"""


def fold(*, limit: int = 10_000) -> int:
    """Adds finished batches' counters to their streams' rows; the sums stay what they were."""
    return sql.count(_FOLD, {"limit": limit})


# Of single mails the last days are looked at; the slots of a run are its history.
_FORGET_PACE: LiteralString = """
WITH gone AS (
    DELETE FROM deliveries_streampace p USING deliveries_stream s
    WHERE s.kind = 'transactional' AND p.stream_id = s.id
      AND p.slot < statement_timestamp() - interval '8 days'
    RETURNING p.slot
)
SELECT count(*) FROM gone
"""


def forget_old_pace() -> int:
    """Deletes the minutes of single mails that ended more than 8 days ago; returns how many."""
    return sql.count(_FORGET_PACE, {})


# How often a provider broke is counted in its row; that is forgotten when it answers again.
_FORGET_HOLDS: LiteralString = """
WITH of_streams AS (
    DELETE FROM deliveries_streamhold WHERE until < statement_timestamp() - interval '1 day'
    RETURNING reason
), of_senders AS (
    DELETE FROM deliveries_senderhold
    WHERE until < statement_timestamp() - interval '1 day' AND reason <> %(counted)s
    RETURNING reason
)
SELECT (SELECT count(*) FROM of_streams) + (SELECT count(*) FROM of_senders)
"""


def forget_ended_holds() -> int:
    """Deletes the causes of holds that ended more than a day ago; returns how many."""
    return sql.count(_FORGET_HOLDS, {"counted": Reason.PROVIDER_BROKEN.value})
