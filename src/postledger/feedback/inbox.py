"""The inbox: messages of providers as they came, stored once each, to be applied later."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
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


def store(account_id: int, messages: Sequence[IncomingMessage]) -> int:
    """Stores what an account has not received before, and returns how many messages that are.

    Outside a transaction they are durable on return. A message with a fault is kept, and never
    applied.
    """
    storable = [_make_storable(message) for message in messages]
    params = [
        account_id,
        [message.message_id for message in storable],
        [message.body for message in storable],
        [message.sent_at for message in storable],
        [message.fault for message in storable],
    ]
    connection.ensure_connection()
    # Django's own cursors interpolate on the client, and nothing that they run is prepared.
    with connection.wrap_database_errors, psycopg.RawCursor(connection.connection) as cursor:
        cursor.execute(_STORE, params, prepare=True)
        return cursor.rowcount


def _make_storable(message: IncomingMessage) -> IncomingMessage:
    if values.is_storable(message.body):
        return message
    # PostgreSQL refuses the text as it is, and a message that is never stored comes for ever.
    body = message.body.replace("\0", "\N{REPLACEMENT CHARACTER}").encode(errors="replace").decode()
    return replace(message, body=body, fault=message.fault or values.UNSTORABLE)
