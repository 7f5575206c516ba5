"""The inbox: messages of providers as they came, stored once each, to be applied later."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import psycopg
from django.db import connection

from postledger.lib import values


@dataclass(frozen=True, slots=True)
class IncomingMessage:
    message_id: str  # the provider's
    body: str  # the events alone: without envelope and signature
    sent_at: datetime | None
    fault: str = ""  # why it cannot be applied


# In one order: those who store the same messages at once wait for each other, never in a circle.
_STORE = b"""
INSERT INTO feedback_inboxmessage (account_id, message_id, body, sent_at, fault, applied_at)
SELECT $1, message_id, body, sent_at, fault, CASE WHEN fault <> '' THEN clock_timestamp() END
FROM unnest($2::text[], $3::text[], $4::timestamptz[], $5::text[])
    AS message (message_id, body, sent_at, fault)
ORDER BY message_id
ON CONFLICT (account_id, message_id) DO NOTHING
"""
# Without arrays, whose making takes as long as the rest of a call with one message.
_STORE_ONE = b"""
INSERT INTO feedback_inboxmessage (account_id, message_id, body, sent_at, fault, applied_at)
VALUES ($1, $2, $3, $4, $5, CASE WHEN $5 <> '' THEN clock_timestamp() END)
ON CONFLICT (account_id, message_id) DO NOTHING
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


def _execute(statement: bytes, params: Sequence[object]) -> int:
    """Django's own cursors interpolate on the client, and nothing that they run is prepared."""
    connection.ensure_connection()
    with connection.wrap_database_errors, psycopg.RawCursor(connection.connection) as cursor:
        cursor.execute(statement, params, prepare=True)
        return cursor.rowcount


def _make_row(message: IncomingMessage) -> tuple[str, str, datetime | None, str]:
    """The message as PostgreSQL takes it; one that it would refuse as it is gets a fault."""
    body, fault = message.body, message.fault
    if not values.is_storable(body):
        # A message that is never stored would come for ever.
        body = body.replace("\0", "\N{REPLACEMENT CHARACTER}").encode(errors="replace").decode()
        fault = fault or values.UNSTORABLE
    return message.message_id, body, message.sent_at, fault
