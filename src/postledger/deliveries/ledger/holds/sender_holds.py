"""Stops and starts senders and accounts, with all their streams at once."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import LiteralString

from django.db import transaction

from postledger.deliveries.entries import Block
from postledger.deliveries.ledger import sql
from postledger.deliveries.ledger.holds import probes, stream_holds
from postledger.deliveries.reasons import Reason

# The sender, and with its account every other sender that uses it.
_SENDERS: LiteralString = """
SELECT id FROM accounts_sender
WHERE id = %(sender)s
   OR (%(is_account)s
       AND account_id = (SELECT account_id FROM accounts_sender WHERE id = %(sender)s))
ORDER BY id
"""

_HOLD_SENDERS: LiteralString = f"""
INSERT INTO deliveries_senderhold AS held (
    sender_id, reason, since, until, actor, detail, is_account, times, code, category,
    original_code, fails_at
)
SELECT id, %(reason)s, statement_timestamp(), {stream_holds.UNTIL}, %(actor)s, %(detail)s,
       %(is_account)s, 1,
       %(code)s::text, %(category)s::text, %(original_code)s::text,
       CASE WHEN %(code)s::text IS NOT NULL THEN statement_timestamp() + %(ends_after)s END
FROM ({_SENDERS}) AS sender
ON CONFLICT (sender_id, reason) DO UPDATE SET
    since = {stream_holds.KEPT_SINCE}, until = excluded.until,
    actor = excluded.actor, detail = excluded.detail, is_account = excluded.is_account, times = 1,
    code = excluded.code, category = excluded.category, original_code = excluded.original_code,
    fails_at = excluded.fails_at, probe_lease = NULL, probe_until = NULL
WHERE {stream_holds.IS_LATER}
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
        "ends_after": stream_holds.BLOCK_ENDS_AFTER,
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
ON CONFLICT (sender_id, reason) DO UPDATE SET
    since = {stream_holds.KEPT_SINCE}, actor = excluded.actor, detail = excluded.detail,
    is_account = true, probe_lease = NULL, probe_until = NULL,
    times = CASE
        WHEN held.until > excluded.since - interval '1 hour' THEN held.times + 1 ELSE 1
    END,
    until = CASE
        WHEN held.until <= excluded.since - interval '1 hour' THEN excluded.until
        WHEN held.times < %(most)s THEN excluded.since + %(length)s::interval * 2 ^ held.times
    END
WHERE held.until <= excluded.since
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
WHERE reason IN {probes.TRIED_FIRST} AND until <= statement_timestamp()
  AND sender_id IN ({_SENDERS})
"""


def forget_broken_provider(sender_id: int) -> None:
    """Lets an account start afresh whose provider has answered since it was found broken or down:
    the rest of its mail follows.
    """
    sql.rows(_FORGET_BROKEN, {"sender": sender_id, "is_account": True})


def _hold_senders(
    statement: LiteralString, sender_id: int, params: Mapping[str, object], *, is_account: bool
) -> bool:
    senders = {"sender": sender_id, "is_account": is_account}
    with transaction.atomic():
        held = sql.rows(statement, {**params, **senders})
        for (id_,) in sql.rows(_SENDERS, senders):
            stream_holds.take_gate(sql.GATE_OF_SENDER, id_)
    return (sender_id,) in held


_RELEASE_SENDERS: LiteralString = """
DELETE FROM deliveries_senderhold h
USING accounts_sender s, accounts_sender mine, deliveries_senderhold own
WHERE mine.id = %(sender)s AND own.sender_id = mine.id AND own.reason = h.reason
  AND s.id = h.sender_id
  AND (s.id = mine.id OR (own.is_account AND h.is_account AND s.account_id = mine.account_id))
RETURNING h.sender_id
"""

_STREAMS_WITH_WORK: LiteralString = """
SELECT s.id FROM deliveries_stream s JOIN deliveries_lane l ON l.stream_id = s.id
WHERE s.sender_id = ANY(%(senders)s::bigint[])
"""


def release_sender(sender_id: int) -> bool:
    """Ends a sender's holds, and with them those of its account; False when there was none.

    What the provider throttled goes at once.
    """
    with transaction.atomic():
        released = [id_ for (id_,) in sql.rows(_RELEASE_SENDERS, {"sender": sender_id})]
        streams = sql.rows(_STREAMS_WITH_WORK, {"senders": sql.Bigints({sender_id, *released})})
        stream_holds.bring_forward([id_ for (id_,) in streams])
    return bool(released)


# Within this time every worker reads changed settings and limits; before, it uses the former ones.
SETTINGS_READ_WITHIN = timedelta(seconds=10)

# The rows are locked in the order in which a hold of an account writes them.
_SHORTEN_HOLDS: LiteralString = """
WITH held AS (
    SELECT sender_id, reason FROM deliveries_senderhold
    WHERE sender_id = ANY(%(senders)s::bigint[]) AND reason <> %(paused)s
    ORDER BY sender_id, reason FOR UPDATE
)
UPDATE deliveries_senderhold h
SET until = least(h.until, statement_timestamp() + %(length)s::interval),
    is_account = false, times = 0,
    code = NULL, category = NULL, original_code = NULL, fails_at = NULL
FROM held WHERE h.sender_id = held.sender_id AND h.reason = held.reason
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
        stream_holds.bring_forward([id_ for (id_,) in streams])
