"""What a person decides about single deliveries: the end of a doubt, a second chance, no more."""

from collections.abc import Mapping, Sequence
from typing import LiteralString, assert_never

from django.db import transaction

from postledger.deliveries.entries import Decision, SeenDelivery
from postledger.deliveries.ledger import counting, rotation, sql
from postledger.deliveries.reasons import Reason
from postledger.deliveries.states import State

# A click counts once: only while the delivery is as it was seen (state and last try). The new
# batch comes from what the update returned, never from the click. A position that a live batch
# still covers (its window is armed, the verdict just fell) is left alone: click again later.
_DECIDE: LiteralString = f"""
WITH seen AS (
    SELECT * FROM unnest(%(positions)s::bigint[], %(tries)s::integer[], %(variables)s::text[])
      AS s (position, last_try, variables)
), locked AS MATERIALIZED (
    -- In one order, whatever order was clicked in.
    SELECT d.position, d.settled_at FROM deliveries_delivery d JOIN seen USING (position)
    WHERE d.stream_id = %(stream)s
    ORDER BY d.position
    FOR NO KEY UPDATE OF d
), decided AS (
    UPDATE deliveries_delivery d SET
        state = %(after)s,
        -- A restore since its last try has lost tries with later numbers. From now on the time of
        -- this decision is that of its end, so the numbers leap here.
        last_try = CASE
            WHEN %(after)s = 'failed' THEN {sql.next_try("d.last_try", "d.settled_at")} - 1
            ELSE d.last_try
        END,
        attempts = CASE WHEN %(resets)s THEN 0 ELSE d.attempts END,
        code = %(code)s,
        -- What was handed over keeps the values that it was made from. Who was erased since the
        -- values were read has no contact here any more, and gets none of them back.
        variables = CASE
            WHEN seen.variables IS NOT NULL AND d.contact_id IS NOT NULL AND {sql.NEVER_ARMED}
            THEN seen.variables::jsonb
            ELSE d.variables
        END,
        settled_at = CASE WHEN %(after)s <> 'waiting' THEN clock_timestamp() END,
        doubts = CASE WHEN %(after)s = 'waiting' THEN d.doubts END,
        -- Counted as not sent, its bytes may still leave: a requeue has to wait for them too.
        resend_after = CASE WHEN %(after)s = 'failed' THEN d.resend_after END
    FROM seen JOIN locked USING (position)
    WHERE d.stream_id = %(stream)s
      AND d.position = seen.position
      AND d.state = %(before)s
      AND d.last_try = seen.last_try
      AND (%(after)s <> 'waiting' OR (
        coalesce(d.resend_after <= clock_timestamp(), true)
        AND NOT {sql.BYTES_OF_LOST_TIME}
        AND EXISTS (
            SELECT FROM deliveries_stream s
            WHERE s.id = %(stream)s AND s.cancelled_at IS NULL
        )
        AND NOT {sql.covered("seen.position")}
      ))
    RETURNING d.position, seen.last_try, d.doubts, locked.settled_at
), event AS (
    INSERT INTO deliveries_deliveryevent (stream_id, position, at, kind, actor, data)
    SELECT %(stream)s, position, statement_timestamp(), %(kind)s, %(actor)s,
           jsonb_build_object('try', last_try, 'before', %(before)s, 'after', %(after)s)
    FROM decided
), delta AS (
    INSERT INTO deliveries_streamdelta (stream_id, accepted, failed, in_doubt)
    SELECT %(stream)s,
           CASE %(after)s WHEN 'accepted' THEN count(*) ELSE 0 END,
           CASE WHEN %(after)s = 'failed' THEN count(*)
                WHEN %(before)s = 'failed' THEN -count(*) ELSE 0 END,
           CASE %(before)s WHEN 'in_doubt' THEN -count(*) ELSE 0 END
    FROM decided HAVING count(*) > 0
), again AS (
    INSERT INTO deliveries_batch (
        stream_id, lo, hi, is_single, try_number, due_at, reason, since
    )
    SELECT %(stream)s, decided.position, decided.position + 1, s.kind = 'transactional',
           {sql.next_try("decided.last_try", "decided.settled_at")},
           {sql.due_after("decided.last_try", "interval '0'")}, %(reason)s, statement_timestamp()
    FROM decided JOIN deliveries_stream s ON s.id = %(stream)s
    WHERE %(after)s = 'waiting'
)
SELECT position FROM decided ORDER BY position
"""


def resolve(
    stream_id: int, seen: Sequence[SeenDelivery], *, decision: Decision, actor: str
) -> list[int]:
    """Ends doubts by a person's (or a policy's) word; returns the positions it applied to.

    From in_doubt only, each once. "Count as sent" accepts, "count as not sent" fails and forgets
    the doubt; "send again" makes it wait with the doubt kept, is refused until the bytes of the
    doubtful try can no longer leave, and not done in a cancelled stream.
    """
    match decision:
        case Decision.COUNT_AS_SENT:
            after, code, reason = State.ACCEPTED, None, Reason.READY
        case Decision.COUNT_AS_NOT_SENT:
            after, code, reason = State.FAILED, "counted_not_sent", Reason.READY
        case Decision.SEND_AGAIN:
            after, code, reason = State.WAITING, None, Reason.SENT_AGAIN
        case _:
            assert_never(decision)
    params = {
        "before": State.IN_DOUBT.value,
        "after": after.value,
        "code": code,
        "kind": decision.value,
        "reason": reason.value,
        "resets": False,
    }
    return _decide(stream_id, seen, actor, params)


def requeue(
    stream_id: int,
    seen: Sequence[SeenDelivery],
    *,
    actor: str,
    variables: Mapping[int, str] | None = None,
) -> list[int]:
    """Gives failed deliveries another chance; returns the positions it applied to.

    From failed only, each once: state, attempts and error are reset, the try goes on counting.
    What was counted as not sent waits until its bytes can no longer leave, as for "send again".
    `variables`, as JSON by position, replace those of a delivery to a contact that was never armed.
    """
    params = {
        "before": State.FAILED.value,
        "after": State.WAITING.value,
        "code": None,
        "kind": "requeued",
        "reason": Reason.REQUEUED.value,
        "resets": True,
    }
    return _decide(stream_id, seen, actor, params, variables)


def _decide(
    stream_id: int,
    seen: Sequence[SeenDelivery],
    actor: str,
    params: Mapping[str, object],
    variables: Mapping[int, str] | None = None,
) -> list[int]:
    all_params = {
        **params,
        "stream": stream_id,
        "actor": actor,
        "positions": sql.Bigints(delivery.position for delivery in seen),
        "tries": sql.Bigints(delivery.last_try for delivery in seen),
        "variables": sql.Texts((variables or {}).get(delivery.position) for delivery in seen),
    }
    with transaction.atomic():
        rotation.keep_stream(stream_id)
        positions = [position for (position,) in sql.rows(_DECIDE, all_params)]
        counting.count_results([str(params["after"])] * len(positions))
    return positions


_LOCK_SEEN: LiteralString = """
SELECT d.position FROM deliveries_delivery d
WHERE d.stream_id = %(stream)s AND d.position = ANY(%(positions)s::bigint[])
ORDER BY d.position
FOR NO KEY UPDATE OF d
"""
# With a snapshot from after the locks, so that of two clicks one finds the other's event.
_DISCARD: LiteralString = f"""
INSERT INTO deliveries_deliveryevent (stream_id, position, at, kind, actor, data)
SELECT %(stream)s, d.position, statement_timestamp(), 'discarded', %(actor)s,
       jsonb_build_object('try', d.last_try, 'before', d.state, 'after', d.state)
FROM unnest(%(positions)s::bigint[], %(tries)s::integer[]) AS seen (position, last_try)
JOIN deliveries_delivery d ON d.stream_id = %(stream)s AND d.position = seen.position
WHERE d.state = 'failed' AND d.last_try = seen.last_try AND NOT {sql.IS_DISCARDED}
RETURNING position
"""


def discard(stream_id: int, seen: Sequence[SeenDelivery], *, actor: str) -> list[int]:
    """Lets failed deliveries ask for nobody any more; returns the positions it applied to.

    From failed only, each once. No state and no counter changes: they stay failed in the books,
    and may still be requeued; after that they count as never discarded.
    """
    params = {
        "stream": stream_id,
        "actor": actor,
        "positions": sql.Bigints(delivery.position for delivery in seen),
        "tries": sql.Bigints(delivery.last_try for delivery in seen),
    }
    with transaction.atomic():
        sql.rows(_LOCK_SEEN, params)
        return sorted(position for (position,) in sql.rows(_DISCARD, params))
