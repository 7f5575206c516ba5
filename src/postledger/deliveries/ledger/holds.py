"""Stops and starts whole streams and senders: one short statement, whatever their size."""

from datetime import datetime, timedelta
from typing import LiteralString

from django.db import transaction

from postledger.deliveries.ledger import sql
from postledger.deliveries.reasons import Reason

# Taken alone by whoever holds or cancels, after the row is written and before the commit: it waits
# for the arms under way, which last milliseconds, and every later arm sees the change. Before the
# row is written it would make arms wait for whoever has the row, such as a planner.
_TAKE_GATE: LiteralString = """
SELECT pg_advisory_xact_lock(%(gate)s, (%(id)s & 2147483647)::integer)
"""

# A length runs by the database's clock: a process whose own is wrong holds nobody for hours.
_UNTIL: LiteralString = (
    "coalesce(%(until)s::timestamptz, statement_timestamp() + %(length)s::interval)"
)

_HOLD: LiteralString = (
    """
UPDATE deliveries_stream
SET held_reason = %(reason)s, held_since = statement_timestamp(), held_until = new.until,
    held_by = %(actor)s, held_detail = %(detail)s
FROM (SELECT """
    + _UNTIL
    + """ AS until) AS new
WHERE id = %(stream)s AND cancelled_at IS NULL
  AND (held_reason IS NULL OR held_until < new.until
       OR (held_until IS NOT NULL AND new.until IS NULL))
RETURNING id
"""
)


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

    False when it is cancelled, or held already until later or without an end: the longer hold
    stays, and one without an end is ended by release only. A `length`, in place of `until`, runs
    by the database's clock.
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
        _take_gate(sql.GATE_OF_STREAM, stream_id)
    return bool(held)


_RELEASE: LiteralString = """
UPDATE deliveries_stream
SET held_reason = NULL, held_since = NULL, held_until = NULL, held_by = NULL, held_detail = NULL
WHERE id = %(stream)s AND held_reason IS NOT NULL
RETURNING id
"""


def release(stream_id: int) -> bool:
    """Ends a stream's hold; False when there was none."""
    return bool(sql.rows(_RELEASE, {"stream": stream_id}))


_HOLD_SENDER: LiteralString = (
    """
INSERT INTO deliveries_senderhold (sender_id, reason, since, until, actor, detail)
VALUES (%(sender)s, %(reason)s, statement_timestamp(), """
    + _UNTIL
    + """, %(actor)s, %(detail)s)
ON CONFLICT (sender_id) DO UPDATE SET
    reason = excluded.reason, since = excluded.since, until = excluded.until,
    actor = excluded.actor, detail = excluded.detail
WHERE deliveries_senderhold.until < excluded.until
   OR (deliveries_senderhold.until IS NOT NULL AND excluded.until IS NULL)
RETURNING sender_id
"""
)


def hold_sender(  # noqa: PLR0913  what a hold is, each part by its name
    sender_id: int,
    *,
    reason: Reason,
    actor: str,
    until: datetime | None = None,
    length: timedelta | None = None,
    detail: str = "",
) -> bool:
    """Holds every stream of a sender at once; the same promise and the same answer as `hold`."""
    params = {
        "sender": sender_id,
        "reason": reason.value,
        "until": until,
        "length": length,
        "actor": actor,
        "detail": detail,
    }
    with transaction.atomic():
        held = sql.rows(_HOLD_SENDER, params)
        _take_gate(sql.GATE_OF_SENDER, sender_id)
    return bool(held)


_RELEASE_SENDER: LiteralString = """
DELETE FROM deliveries_senderhold WHERE sender_id = %(sender)s RETURNING sender_id
"""


def release_sender(sender_id: int) -> bool:
    """Ends a sender's hold; False when there was none."""
    return bool(sql.rows(_RELEASE_SENDER, {"sender": sender_id}))


_CANCEL: LiteralString = """
UPDATE deliveries_stream
SET cancelled_at = statement_timestamp(), cancelled_by = %(actor)s
WHERE id = %(stream)s AND cancelled_at IS NULL
RETURNING id
"""


def cancel(stream_id: int, *, actor: str) -> bool:
    """Cancels a stream for good: nothing more is armed; `drain` books the rest as cancelled.

    Armed windows end by their settle or the sweep. False when it was cancelled before.
    """
    with transaction.atomic():
        cancelled = sql.rows(_CANCEL, {"stream": stream_id, "actor": actor})
        _take_gate(sql.GATE_OF_STREAM, stream_id)
    return bool(cancelled)


def _take_gate(gate: int, id_: int) -> None:
    sql.rows(_TAKE_GATE, {"gate": gate, "id": id_})
