"""Stops and starts streams by one short statement, also where they are large."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import LiteralString

from django.db import transaction

from postledger.deliveries.ledger import sql
from postledger.deliveries.reasons import GUARD_REASONS, Reason

# How long the mail of a blocked sender waits for a person.
BLOCK_ENDS_AFTER = timedelta(hours=72)

# Taken exclusively by a hold or a cancel, after the row is written and before the commit: it waits
# for the arms under way, which last milliseconds, and every later arm sees the change. Before the
# row is written it would make arms wait for the row's lock, which others may have.
_TAKE_GATE: LiteralString = """
SELECT pg_advisory_xact_lock(%(gate)s, (%(id)s & 2147483647)::integer)
"""

# A length runs by the database's clock: a process whose own is wrong holds nobody for hours.
UNTIL: LiteralString = (
    "coalesce(%(until)s::timestamptz, statement_timestamp() + %(length)s::interval)"
)

# What becomes of a cause that is given once more. It never ends earlier, and one that is renewed
# within a minute of its end has gone on all the time: whoever looks sees no beginning again and
# again.
IS_LATER: LiteralString = """(
    held.until < excluded.until OR (held.until IS NOT NULL AND excluded.until IS NULL)
)"""
KEPT_SINCE: LiteralString = """CASE
    WHEN held.until IS NULL OR held.until > excluded.since - interval '1 minute' THEN held.since
    ELSE excluded.since
END"""

# Causes of limits and hours, which `limit_holds` writes.
LIMITS: LiteralString = "limits"
OF_LIMITS: LiteralString = f"""(
    actor = '{LIMITS}'
    AND reason IN ('rate_per_hour', 'daily_limit', 'quota_exhausted', 'outside_hours')
)"""

_HOLD: LiteralString = f"""
INSERT INTO deliveries_streamhold AS held (stream_id, reason, since, until, actor, detail)
SELECT id, %(reason)s, statement_timestamp(), {UNTIL}, %(actor)s, %(detail)s
FROM deliveries_stream WHERE id = %(stream)s AND cancelled_at IS NULL
ON CONFLICT (stream_id, reason) DO UPDATE SET
    since = {KEPT_SINCE}, until = excluded.until, actor = excluded.actor, detail = excluded.detail
WHERE {IS_LATER}
RETURNING stream_id
"""


def hold(  # noqa: PLR0913  what a hold is, each part by its name
    stream_id: int,
    *,
    reason: Reason,
    actor: str,
    until: datetime | None = None,
    length: timedelta | None = None,
    detail: str = "",
) -> bool:
    """Holds a stream: after this has committed only windows already armed may go.

    Other causes stay beside it. False when it is cancelled, or held for this cause already until
    later or without an end: the longer hold stays, and one without an end is ended by release
    only. A `length`, in place of `until`, runs by the database's clock. A person's hold gives the
    mail of a blocked sender its time anew.
    """
    params = {
        "stream": stream_id,
        "reason": reason.value,
        "until": until,
        "length": length,
        "actor": actor,
        "detail": detail,
    }
    with transaction.atomic():
        held = sql.rows(_HOLD, params)
        if held and reason is Reason.PAUSED:
            _restart_block(stream_id)
        take_gate(sql.GATE_OF_STREAM, stream_id)
    return bool(held)


_RESTART_BLOCK: LiteralString = """
UPDATE deliveries_senderhold SET fails_at = statement_timestamp() + %(after)s
WHERE sender_id = (SELECT sender_id FROM deliveries_stream WHERE id = %(stream)s)
  AND fails_at IS NOT NULL
"""


def _restart_block(stream_id: int) -> None:
    """Gives the mail of a blocked sender its time anew: a person is dealing with it."""
    sql.rows(_RESTART_BLOCK, {"stream": stream_id, "after": BLOCK_ENDS_AFTER})


_RELEASE: LiteralString = f"""
DELETE FROM deliveries_streamhold WHERE stream_id = %(stream)s AND NOT {OF_LIMITS}
RETURNING reason, until IS NULL OR until > statement_timestamp()
"""

_LOCK_STREAM: LiteralString = """
SELECT FROM deliveries_stream WHERE id = %(stream)s FOR NO KEY UPDATE
"""
# The row is locked, so no counter is folded into it meanwhile.
_COUNT_AFRESH: LiteralString = """
UPDATE deliveries_stream s
SET guard_since = statement_timestamp(),
    guard_accepted = s.accepted + d.accepted,
    guard_delivered = s.delivered + d.delivered,
    guard_bounced = s.bounced + d.bounced,
    guard_complained = s.complained + d.complained
FROM (
    SELECT coalesce(sum(accepted), 0) AS accepted, coalesce(sum(delivered), 0) AS delivered,
           coalesce(sum(bounced), 0) AS bounced, coalesce(sum(complained), 0) AS complained
    FROM deliveries_streamdelta WHERE stream_id = %(stream)s
) AS d
WHERE s.id = %(stream)s
"""

# A person who releases has dealt with the provider: its wishes to wait are void.
_BRING_FORWARD: LiteralString = f"""
UPDATE deliveries_batch SET due_at = statement_timestamp()
WHERE stream_id = ANY(%(streams)s::bigint[]) AND reason IN {sql.BROUGHT_FORWARD}
  AND due_at > statement_timestamp() AND lease IS NULL
"""


def release(stream_id: int) -> bool:
    """Ends a stream's holds and brings its throttled batches forward; False when there was none.

    Limits and working hours still hold it. The mail of a blocked sender gets its time anew, and a
    run that stopped itself counts afresh.
    """
    with transaction.atomic():
        # Before the row is locked: reports under way are counted with the mail before the release.
        sql.lock_feedback(stream_id)
        sql.rows(_LOCK_STREAM, {"stream": stream_id})
        ended = sql.rows(_RELEASE, {"stream": stream_id})
        reasons = {reason for reason, was_in_force in ended if was_in_force}
        if reasons:
            _restart_block(stream_id)
        if reasons & GUARD_REASONS:
            sql.rows(_COUNT_AFRESH, {"stream": stream_id})
        bring_forward([stream_id])
    return bool(reasons)


def bring_forward(stream_ids: Sequence[int]) -> None:
    sql.rows(_BRING_FORWARD, {"streams": sql.Bigints(stream_ids)})


_CANCEL: LiteralString = """
UPDATE deliveries_stream s
SET cancelled_at = statement_timestamp(), cancelled_by = %(actor)s,
    (block_code, block_category, block_original_code, block_detail) = (
        SELECT code, category, original_code, detail FROM deliveries_senderhold
        WHERE sender_id = s.sender_id AND fails_at IS NOT NULL
    )
WHERE id = %(stream)s AND cancelled_at IS NULL
RETURNING id
"""


def cancel(stream_id: int, *, actor: str) -> bool:
    """Cancels a stream for good: nothing more is armed; `drain` books what waits as cancelled or,
    if the sender is blocked now, as failed with the code of the block.

    Armed windows end by their settle or the sweep. False when it was cancelled before.
    """
    with transaction.atomic():
        cancelled = sql.rows(_CANCEL, {"stream": stream_id, "actor": actor})
        take_gate(sql.GATE_OF_STREAM, stream_id)
    return bool(cancelled)


def take_gate(gate: int, id_: int) -> None:
    sql.rows(_TAKE_GATE, {"gate": gate, "id": id_})
