"""Stops and starts streams and senders by one short statement, also where they are large."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import LiteralString

from django.db import transaction

from postledger.deliveries.entries import Block
from postledger.deliveries.ledger import sql
from postledger.deliveries.reasons import GUARD_REASONS, Reason

# How long the mail of a blocked sender waits for a person.
BLOCK_ENDS_AFTER = timedelta(hours=72)

# Taken exclusively by a hold or a cancel, after the row is written and before the commit: it waits
# for the arms under way, which last milliseconds, and every later arm sees the change. Before the
# row is written it would make arms wait for the row's lock, which a planner may have.
_TAKE_GATE: LiteralString = """
SELECT pg_advisory_xact_lock(%(gate)s, (%(id)s & 2147483647)::integer)
"""

# A length runs by the database's clock: a process whose own is wrong holds nobody for hours.
_UNTIL: LiteralString = (
    "coalesce(%(until)s::timestamptz, statement_timestamp() + %(length)s::interval)"
)

_HOLD: LiteralString = f"""
UPDATE deliveries_stream
SET held_reason = %(reason)s, held_since = statement_timestamp(), held_until = new.until,
    held_by = %(actor)s, held_detail = %(detail)s
FROM (SELECT {_UNTIL} AS until) AS new
WHERE id = %(stream)s AND cancelled_at IS NULL
  AND (held_reason IS NULL OR held_until < new.until
       OR (held_until IS NOT NULL AND new.until IS NULL))
RETURNING id
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

    False when it is cancelled, or held already until later or without an end: the longer hold
    stays, and one without an end is ended by release only. A `length`, in place of `until`, runs
    by the database's clock. A person's hold gives the mail of a blocked sender its time anew.
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
        _take_gate(sql.GATE_OF_STREAM, stream_id)
    return bool(held)


_RESTART_BLOCK: LiteralString = """
UPDATE deliveries_senderhold SET fails_at = statement_timestamp() + %(after)s
WHERE sender_id = (SELECT sender_id FROM deliveries_stream WHERE id = %(stream)s)
  AND fails_at IS NOT NULL
"""


def _restart_block(stream_id: int) -> None:
    """Gives the mail of a blocked sender its time anew: a person is dealing with it."""
    sql.rows(_RESTART_BLOCK, {"stream": stream_id, "after": BLOCK_ENDS_AFTER})


_RELEASE: LiteralString = """
WITH held AS MATERIALIZED (
    SELECT id, held_reason FROM deliveries_stream
    WHERE id = %(stream)s AND held_reason IS NOT NULL
    FOR NO KEY UPDATE
)
UPDATE deliveries_stream s
SET held_reason = NULL, held_since = NULL, held_until = NULL, held_by = NULL, held_detail = NULL
FROM held WHERE s.id = held.id
RETURNING held.held_reason
"""

# The row is locked, so no counter is folded into it meanwhile.
_COUNT_AFRESH: LiteralString = """
UPDATE deliveries_stream s
SET guard_since = statement_timestamp(),
    guard_accepted = s.accepted + d.accepted + b.accepted,
    guard_delivered = s.delivered + d.delivered,
    guard_bounced = s.bounced + d.bounced,
    guard_complained = s.complained + d.complained
FROM (
    SELECT coalesce(sum(accepted), 0) AS accepted, coalesce(sum(delivered), 0) AS delivered,
           coalesce(sum(bounced), 0) AS bounced, coalesce(sum(complained), 0) AS complained
    FROM deliveries_streamdelta WHERE stream_id = %(stream)s
) AS d, (
    SELECT coalesce(sum(accepted), 0) AS accepted
    FROM deliveries_batch WHERE stream_id = %(stream)s
) AS b
WHERE s.id = %(stream)s
"""

# A person who releases has dealt with the provider: its wishes to wait are void.
_BRING_FORWARD: LiteralString = f"""
UPDATE deliveries_batch SET due_at = statement_timestamp()
WHERE stream_id = ANY(%(streams)s::bigint[]) AND reason IN {sql.BROUGHT_FORWARD}
  AND due_at > statement_timestamp() AND lease IS NULL
"""


def release(stream_id: int) -> bool:
    """Ends a stream's hold and brings its throttled batches forward; False when there was none.

    The mail of a blocked sender gets its time anew, and a run that stopped itself counts afresh.
    """
    with transaction.atomic():
        # Before the row is locked: reports under way are counted with the mail before the release.
        sql.lock_feedback(stream_id)
        released = sql.rows(_RELEASE, {"stream": stream_id})
        if released:
            _restart_block(stream_id)
            if released[0][0] in GUARD_REASONS:
                sql.rows(_COUNT_AFRESH, {"stream": stream_id})
        _bring_forward([stream_id])
    return bool(released)


def _bring_forward(stream_ids: Sequence[int]) -> None:
    sql.rows(_BRING_FORWARD, {"streams": sql.Bigints(stream_ids)})


# The sender, and with its account every other sender that uses it.
_SENDERS: LiteralString = """
SELECT id FROM accounts_sender
WHERE id = %(sender)s
   OR (%(is_account)s
       AND account_id = (SELECT account_id FROM accounts_sender WHERE id = %(sender)s))
ORDER BY id
"""

_HOLD_SENDERS: LiteralString = f"""
INSERT INTO deliveries_senderhold (
    sender_id, reason, since, until, actor, detail, is_account, times, code, category,
    original_code, fails_at
)
SELECT id, %(reason)s, statement_timestamp(), {_UNTIL}, %(actor)s, %(detail)s, %(is_account)s, 1,
       %(code)s::text, %(category)s::text, %(original_code)s::text,
       CASE WHEN %(code)s::text IS NOT NULL THEN statement_timestamp() + %(ends_after)s END
FROM ({_SENDERS}) AS sender
ON CONFLICT (sender_id) DO UPDATE SET
    reason = excluded.reason, since = excluded.since, until = excluded.until,
    actor = excluded.actor, detail = excluded.detail, is_account = excluded.is_account, times = 1,
    code = excluded.code, category = excluded.category, original_code = excluded.original_code,
    fails_at = excluded.fails_at
WHERE deliveries_senderhold.until < excluded.until
   OR (deliveries_senderhold.until IS NOT NULL AND excluded.until IS NULL)
RETURNING sender_id
"""


def hold_sender(  # noqa: PLR0913  what a hold is, each part by its name
    sender_id: int,
    *,
    reason: Reason,
    actor: str,
    until: datetime | None = None,
    length: timedelta | None = None,
    detail: str = "",
    is_account: bool = False,
    block: Block | None = None,
) -> bool:
    """Holds every stream of a sender at once; the same promise and the same answer as `hold`.

    With `is_account` every sender of its account is held with it. A `block` has no end: mail that
    is due fails with it after 72 hours in which nobody acted (`closing.give_up`).
    """
    params = {
        "reason": reason.value,
        "until": until,
        "length": length,
        "actor": actor,
        "detail": detail,
        "code": block and block.code,
        "category": block and block.category.value,
        "original_code": block and block.original_code,
        "ends_after": BLOCK_ENDS_AFTER,
    }
    return _hold_senders(_HOLD_SENDERS, sender_id, params, is_account=is_account)


# How long an account is held whose provider was found broken for the first time, and after how
# many times in a row only a person ends the hold.
BROKEN_FOR = timedelta(seconds=15)
MOST_TIMES_BROKEN = 3

_HOLD_BROKEN: LiteralString = f"""
INSERT INTO deliveries_senderhold AS held (
    sender_id, reason, since, until, actor, detail, is_account, times
)
SELECT id, %(reason)s, statement_timestamp(), statement_timestamp() + %(length)s::interval,
       %(actor)s, %(detail)s, true, 1
FROM ({_SENDERS}) AS sender
ON CONFLICT (sender_id) DO UPDATE SET
    reason = excluded.reason, since = excluded.since, actor = excluded.actor,
    detail = excluded.detail, is_account = true,
    times = CASE
        WHEN held.reason = excluded.reason AND held.until > excluded.since - interval '1 hour'
        THEN held.times + 1 ELSE 1
    END,
    until = CASE
        WHEN held.reason <> excluded.reason OR held.until <= excluded.since - interval '1 hour'
        THEN excluded.until
        WHEN held.times < %(most)s THEN excluded.since + %(length)s::interval * 2 ^ held.times
    END
WHERE held.until <= excluded.since
   OR (held.reason <> excluded.reason AND held.until < excluded.until)
RETURNING sender_id
"""


def hold_broken_provider(sender_id: int, *, actor: str, detail: str) -> bool:
    """Holds all senders of an account whose provider broke down; False when they are held already.

    Twice as long each time it is found broken within an hour, and after three times until a
    person releases it.
    """
    params = {
        "reason": Reason.PROVIDER_BROKEN.value,
        "length": BROKEN_FOR,
        "most": MOST_TIMES_BROKEN,
        "actor": actor,
        "detail": detail,
    }
    return _hold_senders(_HOLD_BROKEN, sender_id, params, is_account=True)


_FORGET_BROKEN: LiteralString = f"""
DELETE FROM deliveries_senderhold
WHERE reason = %(reason)s AND until <= statement_timestamp() AND sender_id IN ({_SENDERS})
"""


def forget_broken_provider(sender_id: int) -> None:
    """Lets an account start afresh whose provider has accepted mail since it was found broken."""
    params = {"reason": Reason.PROVIDER_BROKEN.value, "sender": sender_id, "is_account": True}
    sql.rows(_FORGET_BROKEN, params)


def _hold_senders(
    statement: LiteralString, sender_id: int, params: Mapping[str, object], *, is_account: bool
) -> bool:
    senders = {"sender": sender_id, "is_account": is_account}
    with transaction.atomic():
        held = sql.rows(statement, {**params, **senders})
        for (id_,) in sql.rows(_SENDERS, senders):
            _take_gate(sql.GATE_OF_SENDER, id_)
    return (sender_id,) in held


_RELEASE_SENDERS: LiteralString = """
DELETE FROM deliveries_senderhold h
USING accounts_sender s, accounts_sender mine, deliveries_senderhold own
WHERE mine.id = %(sender)s AND own.sender_id = mine.id AND s.id = h.sender_id
  AND (s.id = mine.id OR (own.is_account AND h.is_account AND s.account_id = mine.account_id))
RETURNING h.sender_id
"""

_STREAMS_WITH_WORK: LiteralString = """
SELECT s.id FROM deliveries_stream s JOIN deliveries_lane l ON l.stream_id = s.id
WHERE s.sender_id = ANY(%(senders)s::bigint[])
"""


def release_sender(sender_id: int) -> bool:
    """Ends a sender's hold, and with it that of its account; False when there was none.

    What the provider throttled goes at once.
    """
    with transaction.atomic():
        released = [id_ for (id_,) in sql.rows(_RELEASE_SENDERS, {"sender": sender_id})]
        streams = sql.rows(_STREAMS_WITH_WORK, {"senders": sql.Bigints({sender_id, *released})})
        _bring_forward([id_ for (id_,) in streams])
    return bool(released)


# Within this time every worker reads changed settings; before, it would use the former ones.
SETTINGS_READ_WITHIN = timedelta(seconds=10)

# The rows are locked in the order in which a hold of an account writes them.
_SHORTEN_HOLDS: LiteralString = """
WITH held AS (
    SELECT sender_id FROM deliveries_senderhold
    WHERE sender_id = ANY(%(senders)s::bigint[]) AND reason <> %(paused)s
    ORDER BY sender_id FOR UPDATE
)
UPDATE deliveries_senderhold h
SET until = least(h.until, statement_timestamp() + %(length)s::interval),
    is_account = false, times = 0,
    code = NULL, category = NULL, original_code = NULL, fails_at = NULL
FROM held WHERE h.sender_id = held.sender_id
RETURNING h.sender_id
"""


def retry_senders(sender_ids: Sequence[int]) -> None:
    """Ends in a moment what a provider made senders wait for: a person has changed their account.

    Nothing fails for their blocks any more. If the provider refuses them again, that is a new one.
    """
    params = {
        "senders": sql.Bigints(sender_ids),
        "paused": Reason.PAUSED.value,
        "length": SETTINGS_READ_WITHIN,
    }
    with transaction.atomic():
        held = [id_ for (id_,) in sql.rows(_SHORTEN_HOLDS, params)]
        streams = sql.rows(_STREAMS_WITH_WORK, {"senders": sql.Bigints(held)})
        _bring_forward([id_ for (id_,) in streams])


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
        _take_gate(sql.GATE_OF_STREAM, stream_id)
    return bool(cancelled)


def _take_gate(gate: int, id_: int) -> None:
    sql.rows(_TAKE_GATE, {"gate": gate, "id": id_})
