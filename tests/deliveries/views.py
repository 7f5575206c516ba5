"""Reads the views as rows with names, and makes the results the tests of the views tell of."""

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db import connection

from postledger.deliveries import entries
from postledger.deliveries.entries import Entry
from postledger.lib.ids import DeliveryId
from postledger.providers.base import Category

JSON = {"metadata", "payload"}

type Row = dict[str, Any]


def read(view: str, stream_id: int, *, order: str = '"position"') -> list[Row]:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT * FROM {view} WHERE stream_id = %s ORDER BY {order}", [stream_id])
        names = [column.name for column in cursor.description or []]
        rows = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
    # Django leaves jsonb as text to those who write their own SQL.
    return [row | {key: json.loads(row[key]) for key in JSON & row.keys()} for row in rows]


def only(view: str, stream_id: int) -> Row:
    [row] = read(view, stream_id)
    return row


def events(stream_id: int) -> list[str]:
    return [row["type"] for row in read("email_events", stream_id, order='"createdAt"')]


def report(stream_id: int, position: int, kind: str, message_id: str | None = None) -> None:
    """Adds an event of a provider, as `take_feedback` stores it."""
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO deliveries_feedback (stream_id, position, happened_at, received_at,"
            " try_number, key, kind, counts_as, name, message_id)"
            " VALUES (%s, %s, clock_timestamp(), now(), 1, gen_random_uuid()::text, %s,"
            " nullif(%s, 'unsubscribed'), '', %s)",
            [stream_id, position, kind, kind, message_id],
        )


def name(stream_id: int, position: int) -> UUID:
    return DeliveryId(stream_id, position).uuid()


def sent(position: int) -> Entry:
    return entries.accepted(position, message_id=f"m{position}", duration_ms=1)


def refused(position: int) -> Entry:
    return entries.refused(position, code="NO", detail="Never.")


def busy(position: int) -> Entry:
    return entries.try_later(position, delay=timedelta(), code="BUSY", detail="Later.")


def timed_out(position: int) -> Entry:
    entry = entries.try_later(position, delay=timedelta(), code="timeout", detail="Too late.")
    return replace(entry, category=Category.TIMEOUT)


def blocked(position: int) -> Entry:
    return entries.sender_blocked(position, code="KEY", detail="Bad key.")


def throttled(position: int) -> Entry:
    return entries.throttled(position, delay=timedelta(), detail="Slow down.")


def exhausted(position: int) -> Entry:
    return entries.exhausted(position, code="BUSY", detail="Later.")


def invalid(position: int) -> Entry:
    return entries.invalid(position, code="INVALID_TEMPLATE", detail="No body.")


def suppressed(position: int) -> Entry:
    return entries.suppressed(position, code="bounced")


def skipped(position: int) -> Entry:
    return entries.skipped(position, code="inactive")
