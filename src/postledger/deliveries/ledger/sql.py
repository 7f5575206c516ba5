"""Runs the ledger's statements on Django's connection, prepared on the server and in binary."""

from collections.abc import Mapping
from typing import Any, LiteralString

import psycopg
from django.db import connection
from psycopg.sql import Composed

type Row = tuple[Any, ...]
type Statement = LiteralString | Composed

# Advisory locks, by purpose. An arm holds its stream's and sender's gate while it reads whether
# they are held; whoever holds or cancels takes the gate alone, so after a hold has committed no
# window can still be armed from an older snapshot. A row lock would write the stream's row.
GATE_OF_STREAM = 1
GATE_OF_SENDER = 2
LANE = 3


def rows(statement: Statement, params: Mapping[str, object]) -> list[Row]:
    """Executes one statement and returns its rows.

    Django's own cursors interpolate on the client, which rules out binary arrays and prepared
    plans; both were measured to matter here.
    """
    connection.ensure_connection()
    with connection.wrap_database_errors, psycopg.Cursor(connection.connection) as cursor:
        cursor.execute(statement, params, prepare=True, binary=True)
        return cursor.fetchall() if cursor.description else []


def one(statement: Statement, params: Mapping[str, object]) -> Row | None:
    found = rows(statement, params)
    return found[0] if found else None


# Whether work of a stream may be claimed and armed: nothing wide holds it.
STREAM_IS_OPEN: LiteralString = """
EXISTS (
    SELECT FROM deliveries_stream s
    WHERE s.id = %(stream)s
      AND s.cancelled_at IS NULL
      AND (s.held_reason IS NULL OR s.held_until <= clock_timestamp())
      AND NOT EXISTS (
        SELECT FROM deliveries_senderhold h
        WHERE h.sender_id = s.sender_id AND (h.until IS NULL OR h.until > clock_timestamp())
      )
)"""
