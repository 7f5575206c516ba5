"""Holds streams for limits and working hours. They begin and end by what is counted and by the
clock, and no release ends them.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import LiteralString

from django.db import transaction

from postledger.deliveries.ledger import sql
from postledger.deliveries.ledger.holds import stream_holds
from postledger.deliveries.reasons import LIMIT_REASONS, Reason


@dataclass(frozen=True, slots=True)
class LimitCause:
    """A limit that is reached, or hours that are over, and when that ends."""

    reason: Reason
    until: datetime
    detail: str = ""

    def __post_init__(self) -> None:
        if self.reason not in LIMIT_REASONS:
            raise ValueError(f"{self.reason} is not the cause of a limit")


# The rows are locked in the order in which `end_limit_holds` locks them.
_HOLD: LiteralString = f"""
WITH given AS MATERIALIZED (
    SELECT * FROM unnest(
        %(reasons)s::text[], %(untils)s::timestamptz[], %(details)s::text[]
    ) AS g (reason, until, detail)
), present AS MATERIALIZED (
    SELECT reason FROM deliveries_streamhold
    WHERE stream_id = %(stream)s AND {stream_holds.OF_LIMITS}
    ORDER BY reason FOR UPDATE
), gone AS (
    DELETE FROM deliveries_streamhold h USING present
    WHERE h.stream_id = %(stream)s AND h.reason = present.reason
      AND h.reason NOT IN (SELECT reason FROM given)
)
INSERT INTO deliveries_streamhold AS held (stream_id, reason, since, until, actor, detail)
SELECT s.id, reason, statement_timestamp(), until, '{stream_holds.LIMITS}', detail
FROM deliveries_stream s, given
WHERE s.id = %(stream)s AND s.cancelled_at IS NULL AND (SELECT count(*) FROM present) >= 0
ORDER BY reason
ON CONFLICT (stream_id, reason) DO UPDATE SET
    since = {stream_holds.KEPT_SINCE}, until = excluded.until, actor = excluded.actor,
    detail = excluded.detail
WHERE (held.until, held.detail) IS DISTINCT FROM (excluded.until, excluded.detail)
  AND (held.actor = excluded.actor OR held.until < excluded.until)
RETURNING reason
"""


def hold_for_limits(stream_id: int, causes: Sequence[LimitCause]) -> bool:
    """Holds a stream for exactly these limits; returns whether one of them is new or has changed.

    Those that it was held for and that are not named have ended. Unlike other causes one may
    become shorter: a limit knows its own end. After this has committed only windows already armed
    may go.
    """
    params = {
        "stream": stream_id,
        "reasons": sql.Texts(cause.reason.value for cause in causes),
        "untils": [cause.until for cause in causes],
        "details": sql.Texts(cause.detail for cause in causes),
    }
    with transaction.atomic():
        # Two callers at once would wait for each other's rows.
        lock = {"lock": sql.LIMITS_LOCK, "id": stream_id}
        sql.rows("SELECT pg_advisory_xact_lock(%(lock)s, (%(id)s & 2147483647)::integer)", lock)
        changed = sql.rows(_HOLD, params)
        if changed:
            stream_holds.take_gate(sql.GATE_OF_STREAM, stream_id)
    return bool(changed)


_END: LiteralString = f"""
WITH ended AS (
    SELECT h.stream_id, h.reason
    FROM deliveries_streamhold h JOIN deliveries_stream s ON s.id = h.stream_id
    WHERE {stream_holds.OF_LIMITS}
      AND (s.sender_id = ANY(%(senders)s::bigint[]) OR s.member_id = %(member)s)
    ORDER BY h.stream_id, h.reason FOR UPDATE OF h
)
UPDATE deliveries_streamhold h
SET until = least(h.until, statement_timestamp() + %(within)s)
FROM ended WHERE h.stream_id = ended.stream_id AND h.reason = ended.reason
RETURNING h.stream_id
"""


def end_limit_holds(
    *,
    sender_ids: Collection[int] = (),
    member_id: int | None = None,
    within: timedelta = timedelta(),
) -> list[int]:
    """Ends the limits' causes of all streams of some senders, or of what a member launched;
    returns these streams.

    For when a limit has changed: the next worker asks anew. `within` leaves time for the workers to
    read the change; a cause that ends sooner by itself does.
    """
    params = {"senders": sql.Bigints(sender_ids), "member": member_id, "within": within}
    return sorted({id_ for (id_,) in sql.rows(_END, params)})
