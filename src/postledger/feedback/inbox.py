"""The inbox: messages of providers as they came, stored once each, to be applied later."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import psycopg
from django.db import connection

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
_STORE = b"""
WITH received AS (
    INSERT INTO feedback_receivedmessage (account_id, message_id)
    SELECT $1, message_id FROM unnest($2::text[]) AS message_id ORDER BY message_id
    ON CONFLICT DO NOTHING
    RETURNING message_id
)
INSERT INTO feedback_inboxmessage (account_id, message_id, body, sent_at, fault)
SELECT DISTINCT ON (message_id) $1, message_id, body, sent_at, fault
FROM unnest($2::text[], $3::text[], $4::timestamptz[], $5::text[])
    AS message (message_id, body, sent_at, fault)
JOIN received USING (message_id)
"""
# Without arrays, whose making takes as long as the rest of a call with one message.
_STORE_ONE = b"""
WITH received AS (
    INSERT INTO feedback_receivedmessage (account_id, message_id) VALUES ($1, $2)
    ON CONFLICT DO NOTHING
    RETURNING message_id
)
INSERT INTO feedback_inboxmessage (account_id, message_id, body, sent_at, fault)
SELECT $1, $2, $3, $4, $5 FROM received
"""


def store(account_id: int, messages: Sequence[IncomingMessage]) -> int:
    """Stores what an account has not received before, and returns how many messages that are.

    Outside a transaction they are durable on return. A message with a fault is kept, and never
    applied.
    """
    rows = [_make_row(message) for message in messages]
    if len(rows) == 1:
        return _execute(_STORE_ONE, (account_id, *rows[0]))
    return _execute(_STORE, (account_id, *map(list, zip(*rows, strict=True)))) if rows else 0


def _make_row(message: IncomingMessage) -> tuple[str, str, datetime | None, str]:
    """The message as PostgreSQL takes it: a letter that it would refuse is replaced.

    A message that is never stored would come for ever, and its other events may be in order.
    """
    body = message.body
    if not values.is_storable(body):
        body = body.replace("\0", "\N{REPLACEMENT CHARACTER}").encode(errors="replace").decode()
    return message.message_id, body, message.sent_at, message.fault


_CLAIM = b"""
SELECT id, octet_length(body) FROM feedback_inboxmessage
WHERE fault = '' AND id > $2 ORDER BY id LIMIT $1
FOR UPDATE SKIP LOCKED
"""
_CLAIM_FAILED = b"""
SELECT id, octet_length(body) FROM feedback_inboxmessage
WHERE failed_at IS NOT NULL AND id > $2 ORDER BY id LIMIT $1
FOR UPDATE SKIP LOCKED
"""
# By a join: a plan that was made for an empty inbox would search the ids for every row.
_READ = b"""
SELECT m.id, m.account_id, a.kind, a.workspace_id, m.body, m.received_at
FROM unnest($1::bigint[]) AS given (id)
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


def _lock(statement: bytes, limit: int, *, after: int) -> list[int]:
    """Locks few at first and then more, because others skip what is locked and not taken."""
    ids: list[int] = []
    total, step = 0, _FIRST_LOCKED
    while len(ids) < limit:
        rows = _rows(statement, [min(step, limit - len(ids)), after])
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
    return [WaitingMessage(*row) for row in _rows(_READ, [ids])] if ids else []


_REMOVE = b"""
DELETE FROM feedback_inboxmessage m USING unnest($1::bigint[]) AS given (id) WHERE m.id = given.id
"""
_MARK = b"""
UPDATE feedback_inboxmessage m SET fault = given.fault, failed_at = statement_timestamp()
FROM unnest($1::bigint[], $2::text[]) AS given (id, fault) WHERE m.id = given.id
"""


def remove(messages: Sequence[WaitingMessage], faults: Mapping[int, str]) -> None:
    """Removes those that were applied, and marks the others, by id, with their faults."""
    _execute(_REMOVE, [[message.id for message in messages if message.id not in faults]])
    if faults:
        _execute(_MARK, [list(faults), list(faults.values())])


_DROPPED_AT_ONCE = 10_000
_DROP_RECEIVED = b"""
DELETE FROM feedback_receivedmessage WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM feedback_receivedmessage WHERE received_at < $1 LIMIT $2
))
"""
_DROP_FAULTY = b"DELETE FROM feedback_inboxmessage WHERE fault <> '' AND received_at < $1"


def drop_old_messages(now: datetime) -> None:
    """Forgets the ids of messages that came long ago, and deletes those of them with a fault."""
    before = now - KEPT_FOR
    _execute(_DROP_FAULTY, [before])
    while _execute(_DROP_RECEIVED, [before, _DROPPED_AT_ONCE]) == _DROPPED_AT_ONCE:
        pass


def _rows(statement: bytes, params: Sequence[object]) -> list[tuple[Any, ...]]:
    with connection.wrap_database_errors, _cursor() as cursor:
        return cursor.execute(statement, params, prepare=True, binary=True).fetchall()


def _execute(statement: bytes, params: Sequence[object]) -> int:
    with connection.wrap_database_errors, _cursor() as cursor:
        return cursor.execute(statement, params, prepare=True).rowcount


def _cursor() -> psycopg.RawCursor[tuple[Any, ...]]:
    """Django's own cursors interpolate on the client, and nothing that they run is prepared."""
    connection.ensure_connection()
    return psycopg.RawCursor(connection.connection)
