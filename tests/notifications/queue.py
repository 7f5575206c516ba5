"""Notifications as the fan-out leaves them, and as the views of the former queue show them."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from django.db import connection

from postledger.accounts.models import Sender
from postledger.contacts.models import Contact
from postledger.deliveries import ledger, partitions
from postledger.deliveries.entries import NewDelivery, StreamKind
from postledger.notifications.models import (
    Event,
    Notification,
    Topic,
    TopicStream,
    TopicSubscription,
)
from tests.notifications import cast

JSON = {"error", "payload", "preferences", "match", "section_id"}

type Row = dict[str, Any]


def plan(event: Event, subscriptions: Sequence[TopicSubscription]) -> list[Notification]:
    """Tells each of the subscriptions of the event by a delivery."""
    stream_id = event.stream_id or open_stream(event)
    rows = [pend(event, subscription, is_planned=True) for subscription in subscriptions]
    lines = [
        NewDelivery(
            contact_of(subscription).address,
            dedupe_key=str(row.pk),
            contact_id=subscription.contact_id,
            variables=event.data,
        )
        for row, subscription in zip(rows, subscriptions, strict=True)
    ]
    ledger.enqueue(stream_id, lines, due_at=datetime.now(UTC))
    return rows


def contact_of(subscription: TopicSubscription) -> Contact:
    assert subscription.contact is not None
    return subscription.contact


def pend(event: Event, subscription: TopicSubscription, **fields: Any) -> Notification:
    """A notification without a delivery."""
    row = Notification.objects.create(
        event=event, subscription=subscription, dedupe_key=event.dedupe_key, **fields
    )
    return Notification.objects.get(pk=row.pk)


def open_stream(event: Event) -> int:
    """The topic's stream of this month, as that of the event."""
    sender = Sender.objects.get(workspace_id=event.topic.workspace_id, is_default=True)
    month = partitions.this_month()
    known = TopicStream.objects.filter(topic=event.topic, sender=sender, month=month).first()
    if known is None:
        stream_id = ledger.open_stream(
            sender.workspace_id, sender_id=sender.pk, kind=StreamKind.TOPIC, title="Open seats"
        )
        known = TopicStream.objects.create(
            topic=event.topic, sender=sender, month=month, stream_id=stream_id
        )
    event.stream_id = known.stream_id
    event.planned_at = datetime.now(UTC)
    event.template_version = 1
    event.save(update_fields=["stream_id", "planned_at", "template_version"])
    return known.stream_id


def planned(of: Topic, name: str = "alice") -> Notification:
    """A notification that waits to be sent, of an event of its own."""
    [row] = plan(cast.event(of), [cast.subscribe(of, name)])
    return row


def stream_of(row: Notification) -> int:
    stream_id = Event.objects.get(pk=row.event_id).stream_id
    assert stream_id is not None
    return stream_id


def read(view: str, column: str, id_: int) -> list[Row]:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT * FROM {view} WHERE {column} = %s", [id_])
        names = [part.name for part in cursor.description or []]
        rows = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
    # Django leaves jsonb as text to those who write their own SQL.
    return [
        row | {key: json.loads(row[key]) for key in JSON & row.keys() if row[key] is not None}
        for row in rows
    ]


def show(row: Notification) -> Row:
    [shown] = read("open_event_notifications", "notification_id", row.pk)
    return shown
