"""Ends what waits for a job that never came, and forgets the events of dropped months."""

from datetime import datetime
from typing import LiteralString

from django.db import transaction
from django.db.models import Q

from postledger.contacts import sql
from postledger.deliveries import partitions
from postledger.lib import ids
from postledger.notifications.models import Event, Notification
from postledger.notifications.states import FanOutEnd, Skip

_FORGOTTEN_AT_ONCE = 1_000


def expire_without_job(now: datetime) -> int:
    """Ends notifications whose event expired before a job made their mail; returns how many."""
    expired = Event.objects.filter(expires_at__lte=now)
    waiting = Notification.objects.filter(end=None, is_planned=False, event__in=expired)
    return waiting.update(end=FanOutEnd.EXPIRED.value, code=Skip.EXPIRED.value)


# Before the deliveries are gone, which alone say what was sent. A month in doubt is not dropped.
_KEEP_COUNTS: LiteralString = """
UPDATE notifications_topicsubscription AS subscription
SET forgotten_sent = subscription.forgotten_sent + sent.count
FROM (
    SELECT notification.subscription_id, count(*) AS count
    FROM notifications_event AS event
    JOIN notifications_notification AS notification
      ON notification.event_id = event.id AND notification.is_planned
    JOIN deliveries_delivery AS delivery
      ON delivery.stream_id = event.stream_id AND delivery.dedupe_key = notification.id::text
     AND delivery.state = 'accepted'
    WHERE event.stream_id >= %(first)s AND event.stream_id < %(end)s
    GROUP BY 1
) AS sent
WHERE subscription.id = sent.subscription_id
"""


def keep_counts(month: int) -> None:
    """Adds what a month sent to its subscriptions; call it once, in the transaction of its drop."""
    bounds = {"first": ids.first_stream_of(month), "end": ids.first_stream_of(month + 1)}
    sql.execute(_KEEP_COUNTS, bounds)


def forget_events() -> None:
    """Deletes events and their notifications whose deliveries were dropped with their month."""
    for month in partitions.list_dropped():
        while _forget_some(month):
            pass


def _forget_some(month: int) -> bool:
    """An event that expired before its first chunk has no stream, and is of the month it came."""
    of_streams = Q(
        stream_id__range=(ids.first_stream_of(month), ids.first_stream_of(month + 1) - 1)
    )
    of_month = Q(
        stream_id=None,
        received_at__gte=ids.month_start(month),
        received_at__lt=ids.month_start(month + 1),
    )
    with transaction.atomic():
        events = Event.objects.filter(of_streams | of_month).exclude(planned_at=None)
        event_ids = list(events.order_by("pk").values_list("pk", flat=True)[:_FORGOTTEN_AT_ONCE])
        Notification.objects.filter(event_id__in=event_ids).delete()
        Event.objects.filter(pk__in=event_ids).delete()
    return len(event_ids) == _FORGOTTEN_AT_ONCE
