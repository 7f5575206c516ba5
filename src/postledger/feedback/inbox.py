"""The inbox: messages of providers as they came, stored once each, to be applied later."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import LiteralString

from postledger.deliveries.ledger import sql
from postledger.lib import values

# How long a repetition of a message is known as one, and a message with a fault is kept.
KEPT_FOR = timedelta(days=30)
# Of messages that are taken out at once: one transaction applies them, and others wait for its
# locks. A message of SendGrid has up to 1,500 events in 768 KB, one of SES a single event in 3 KB.
_MOST_BYTES = 2_000_000
_FIRST_LOCKED = 4


@dataclass(frozen=True, slots=True)
class IncomingMessage:
    message_id: str  # the provider's
    body: str  # the events alone: without envelope and signature
    sent_at: datetime | None
    fault: str = ""  # why it cannot be applied


@dataclass(frozen=True, slots=True)
class WaitingMessage:
    """One that is to be applied, with what is known of its account."""

    id: int
    account_id: int
    kind: str
    workspace_id: int
    body: str
    received_at: datetime


# In one order: those who store the same messages at once wait for each other, never in a circle.
_STORE: LiteralString = """
WITH received AS (
    INSERT INTO feedback_receivedmessage (account_id, message_id)
    SELECT %(account)s, message_id FROM unnest(%(ids)s::text[]) AS message_id ORDER BY message_id
    ON CONFLICT DO NOTHING
    RETURNING message_id
), stored AS (
    INSERT INTO feedback_inboxmessage (account_id, message_id, body, sent_at, fault)
    SELECT DISTINCT ON (message_id) %(account)s, message_id, body, sent_at, fault
    FROM unnest(
        %(ids)s::text[], %(bodies)s::text[], %(sent)s::timestamptz[], %(faults)s::text[]
    ) AS message (message_id, body, sent_at, fault)
    JOIN received USING (message_id)
    RETURNING id
)
SELECT count(*) FROM stored
"""
# Without arrays, whose making takes as long as the rest of a call with one message.
_STORE_ONE: LiteralString = """
WITH received AS (
    INSERT INTO feedback_receivedmessage (account_id, message_id) VALUES (%(account)s, %(id)s)
    ON CONFLICT DO NOTHING
    RETURNING message_id
), stored AS (
    INSERT INTO feedback_inboxmessage (account_id, message_id, body, sent_at, fault)
    SELECT %(account)s, %(id)s, %(body)s, %(sent)s, %(fault)s FROM received
    RETURNING id
)
SELECT count(*) FROM stored
"""


def store(account_id: int, messages: Sequence[IncomingMessage]) -> int:
    """Stores what an account has not received before, and returns how many messages that are.

    Outside a transaction they are durable on return. A message with a fault is kept, and never
    applied.
    """
    match messages:
        case []:
            return 0
        case [message]:
            params = {
                "account": account_id,
                "id": message.message_id,
                "body": _make_storable(message.body),
                "sent": message.sent_at,
                "fault": message.fault,
            }
            return sql.count(_STORE_ONE, params)
        case _:
            params = {
                "account": account_id,
                "ids": sql.Texts(message.message_id for message in messages),
                "bodies": sql.Texts(_make_storable(message.body) for message in messages),
                "sent": [message.sent_at for message in messages],
                "faults": sql.Texts(message.fault for message in messages),
            }
            return sql.count(_STORE, params)


def _make_storable(body: str) -> str:
    """The body as PostgreSQL takes it: a letter that it would refuse is replaced.

    A message that is never stored would come for ever, and its other events may be in order.
    """
    if values.is_storable(body):
        return body
    return body.replace("\0", "\N{REPLACEMENT CHARACTER}").encode(errors="replace").decode()


_CLAIM: LiteralString = """
SELECT id, octet_length(body) FROM feedback_inboxmessage
WHERE fault = '' AND id > %(after)s ORDER BY id LIMIT %(limit)s
FOR UPDATE SKIP LOCKED
"""
_CLAIM_FAILED: LiteralString = """
SELECT id, octet_length(body) FROM feedback_inboxmessage
WHERE failed_at IS NOT NULL AND id > %(after)s ORDER BY id LIMIT %(limit)s
FOR UPDATE SKIP LOCKED
"""
# By a join: a plan that was made for an empty inbox would search the ids for every row.
_READ: LiteralString = """
SELECT m.id, m.account_id, a.kind, a.workspace_id, m.body, m.received_at
FROM unnest(%(ids)s::bigint[]) AS given (id)
JOIN feedback_inboxmessage m ON m.id = given.id
JOIN accounts_provideraccount a ON a.id = m.account_id
ORDER BY m.id
"""


def claim(limit: int) -> list[WaitingMessage]:
    """The oldest that wait and that no other transaction has, as many as are soon applied."""
    return _read(_lock(_CLAIM, limit, after=0))


def claim_failed(limit: int, *, after: int) -> list[WaitingMessage]:
    """The oldest of those that could not be applied, from the id after the given one on."""
    return _read(_lock(_CLAIM_FAILED, limit, after=after))


def _lock(statement: LiteralString, limit: int, *, after: int) -> list[int]:
    """Locks few at first and then more, because others skip what is locked and not taken."""
    ids: list[int] = []
    total, step = 0, _FIRST_LOCKED
    while len(ids) < limit:
        rows = sql.rows(statement, {"limit": min(step, limit - len(ids)), "after": after})
        for id_, size in rows:
            total += size
            if ids and total > _MOST_BYTES:
                return ids
            ids.append(id_)
            after = id_
        if len(rows) < step:
            break
        step *= 2
    return ids


def _read(ids: Sequence[int]) -> list[WaitingMessage]:
    rows = sql.rows(_READ, {"ids": sql.Bigints(ids)}) if ids else []
    return [WaitingMessage(*row) for row in rows]


_REMOVE: LiteralString = """
DELETE FROM feedback_inboxmessage m USING unnest(%(ids)s::bigint[]) AS given (id)
WHERE m.id = given.id
"""
_MARK: LiteralString = """
UPDATE feedback_inboxmessage m SET fault = given.fault, failed_at = statement_timestamp()
FROM unnest(%(ids)s::bigint[], %(faults)s::text[]) AS given (id, fault) WHERE m.id = given.id
"""


def remove(messages: Sequence[WaitingMessage], faults: Mapping[int, str]) -> None:
    """Removes those that were applied, and marks the others, by id, with their faults."""
    applied = sql.Bigints(message.id for message in messages if message.id not in faults)
    sql.rows(_REMOVE, {"ids": applied})
    if faults:
        sql.rows(_MARK, {"ids": sql.Bigints(faults), "faults": sql.Texts(faults.values())})


_DROPPED_AT_ONCE = 10_000
_DROP_RECEIVED: LiteralString = """
WITH dropped AS (
    DELETE FROM feedback_receivedmessage WHERE ctid = ANY(ARRAY(
        SELECT ctid FROM feedback_receivedmessage WHERE received_at < %(before)s LIMIT %(most)s
    )) RETURNING message_id
)
SELECT count(*) FROM dropped
"""
_DROP_FAULTY: LiteralString = """
DELETE FROM feedback_inboxmessage WHERE fault <> '' AND received_at < %(before)s
"""


def drop_old_messages(now: datetime) -> None:
    """Forgets the ids of messages that came long ago, and deletes those of them with a fault."""
    params = {"before": now - KEPT_FOR, "most": _DROPPED_AT_ONCE}
    sql.rows(_DROP_FAULTY, params)
    while sql.count(_DROP_RECEIVED, params) == _DROPPED_AT_ONCE:
        pass
