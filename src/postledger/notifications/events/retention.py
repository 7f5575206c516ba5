"""Ends what waits for a job that never came, and forgets the events of dropped months."""

from datetime import datetime

from django.db import transaction
from django.db.models import Q

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
        found = Event.objects.filter(of_streams | of_month).exclude(planned_at=None)
        event_ids = list(found.order_by("pk").values_list("pk", flat=True)[:_FORGOTTEN_AT_ONCE])
        Notification.objects.filter(event_id__in=event_ids).delete()
        Event.objects.filter(pk__in=event_ids).delete()
    return len(event_ids) == _FORGOTTEN_AT_ONCE
