"""Ends deliveries for good of which nothing is with the provider, and nothing may have been.

A single mail is cancelled while it waits. A failure that was never armed is superseded: another
stream plans its recipient again.
"""

from collections.abc import Mapping, Sequence
from typing import LiteralString

from django.db import transaction
from psycopg import sql as pg

from postledger.deliveries.entries import Cancellation
from postledger.deliveries.ledger import books, counting, evidence, sql
from postledger.deliveries.states import State

# Why the delivery was cancelled, where its stream was not.
BY_CALLER = "cancelled_by_caller"
SUPERSEDED = "superseded"

# A batch of one that is deleted cannot be armed any more, leased or not.
_CANCEL: LiteralString = f"""
WITH delivery AS MATERIALIZED (
    SELECT position, state, code, doubts IS NOT NULL AS is_doubtful,
           deliveries_is_judged(%(stream)s) AS is_judged
    FROM deliveries_delivery WHERE stream_id = %(stream)s AND position = %(position)s
), win AS MATERIALIZED (
    SELECT b.id, b.stream_id, b.lo, b.hi, b.hi AS moved_to
    FROM delivery JOIN deliveries_batch b
      ON b.stream_id = %(stream)s AND b.lo = delivery.position AND b.hi = delivery.position + 1
    WHERE b.id = ANY(%(locked)s::bigint[]) AND b.armed_to IS NULL
      AND delivery.state = 'waiting' AND NOT delivery.is_doubtful AND delivery.is_judged
), booked AS (
    UPDATE deliveries_delivery d SET
        state = 'cancelled', code = %(code)s, settled_at = clock_timestamp()
    FROM win
    WHERE d.stream_id = %(stream)s AND d.position = win.lo AND d.state = 'waiting'
    RETURNING d.stream_id, d.position, d.last_try, d.state
), event AS (
    INSERT INTO deliveries_deliveryevent (stream_id, position, at, kind, actor, data)
    SELECT %(stream)s, position, statement_timestamp(), 'cancelled', %(actor)s,
           jsonb_build_object(
               'try', last_try, 'before', 'waiting', 'after', state, 'code', %(code)s::text
           )
    FROM booked
), {books.counters(moved="armed_to = NULL")}
SELECT state, is_doubtful, is_judged, EXISTS (SELECT FROM booked) FROM delivery
"""


def cancel_delivery(stream_id: int, position: int, *, actor: str) -> Cancellation | None:
    """Cancels a single mail that waits, and says what became of it; None if there is none.

    From waiting only, in a batch of its own of which nothing is armed, and without a doubtful
    try: nobody has it, and nobody can get it any more. A worker that has claimed it finds it gone.
    Repeating it changes nothing.
    """
    params = {"stream": stream_id, "position": position, "actor": actor, "code": BY_CALLER}
    with transaction.atomic():
        locked = evidence.outdate(stream_id, [position])
        row = sql.first_row(_CANCEL, {**params, "locked": sql.Bigints(sorted(locked))})
        if row is None:
            return None
        state, is_doubtful, is_judged, is_cancelled = row
        if is_cancelled:
            counting.count_results([State.CANCELLED.value], is_untouched=True)
            return Cancellation.CANCELLED
    return _explain(State(state), is_doubtful=is_doubtful, is_judged=is_judged)


def _explain(state: State, *, is_doubtful: bool, is_judged: bool) -> Cancellation:
    """Why a delivery in this state was not cancelled."""
    if state is State.CANCELLED:
        return Cancellation.CANCELLED
    if state is State.IN_DOUBT or is_doubtful:
        return Cancellation.IN_DOUBT
    if state is not State.WAITING:
        return Cancellation.ENDED
    return Cancellation.ARMED if is_judged else Cancellation.FENCED


# The source is run once more when the recipients are planned: by then their failures are over.
_LOCK_FAILURES = """
WITH given AS MATERIALIZED (
    SELECT DISTINCT dedupe_key FROM ({source}) AS source
)
SELECT d.stream_id, d.position
FROM given CROSS JOIN unnest(%(superseded)s::bigint[]) AS earlier (stream_id)
JOIN deliveries_delivery d
  ON d.stream_id = earlier.stream_id AND d.dedupe_key = given.dedupe_key
WHERE d.state = 'failed'
ORDER BY d.stream_id, d.position
FOR NO KEY UPDATE OF d
"""
# With a snapshot from after the locks: while they were waited for, a failure may have been
# requeued, handed over and refused.
_SUPERSEDE: LiteralString = f"""
WITH ended AS (
    UPDATE deliveries_delivery d SET
        state = 'cancelled', settled_at = clock_timestamp(), resend_after = NULL,
        code = %(code)s
    FROM unnest(%(streams)s::bigint[], %(positions)s::bigint[]) AS locked (stream_id, position)
    WHERE d.stream_id = locked.stream_id AND d.position = locked.position AND d.state = 'failed'
      AND {sql.NEVER_ARMED}
    RETURNING d.stream_id, d.position, d.last_try
), event AS (
    INSERT INTO deliveries_deliveryevent (stream_id, position, at, kind, actor, data)
    SELECT stream_id, position, statement_timestamp(), 'superseded', %(actor)s,
           jsonb_build_object('try', last_try, 'before', 'failed', 'after', 'cancelled')
    FROM ended
), delta AS (
    INSERT INTO deliveries_streamdelta (stream_id, failed, cancelled)
    SELECT stream_id, -count(*), count(*) FROM ended GROUP BY stream_id
)
SELECT count(*) FROM ended
"""


def supersede(
    stream_ids: Sequence[int], *, source: pg.Composable, params: Mapping[str, object], actor: str
) -> int:
    """Ends failures that were never armed, because their recipients are planned again elsewhere.

    From failed only; returns how many. `source` yields the dedupe_key of each recipient. Call it
    in the transaction that plans them, and before: a requeue waits for it, and finds nothing.
    """
    with transaction.atomic():
        locked = sql.rows(
            pg.SQL(_LOCK_FAILURES).format(source=source),
            {**params, "superseded": sql.Bigints(stream_ids)},
        )
        if not locked:
            return 0
        ended = sql.count(
            _SUPERSEDE,
            {
                "streams": sql.Bigints(stream for stream, _ in locked),
                "positions": sql.Bigints(position for _, position in locked),
                "actor": actor,
                "code": SUPERSEDED,
            },
        )
        counting.count_results([State.CANCELLED.value] * ended)
    return ended
