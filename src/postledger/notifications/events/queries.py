"""Reads events, and what became of each: who was told, who was not, and why."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, LiteralString

from postledger.contacts import sql
from postledger.deliveries.states import State
from postledger.lib.errors import NotFoundError
from postledger.lib.ids import LAST_ID, DeliveryId
from postledger.notifications.models import Event, Topic


class EventUnknownError(NotFoundError):
    code = "event_unknown"


@dataclass(frozen=True, slots=True)
class FanOutCount:
    """How many notifications of an event are in one state for one reason."""

    state: State
    code: str | None
    count: int


@dataclass(frozen=True, slots=True)
class FanOutRow:
    """One notification of an event's fan-out; without a mail, none was planned for it."""

    id: int
    subscription_id: int
    contact_id: int | None
    address: str | None
    state: State
    code: str | None
    mail_id: str | None
    created_at: datetime


def list_events(topic: Topic, *, before: int = LAST_ID, limit: int) -> Sequence[Event]:
    """A topic's events, the newest first; served by notifications_event_newest."""
    return list(Event.objects.filter(topic=topic, pk__lt=before).order_by("-pk")[:limit])


def get_event(workspace_id: int, event_id: int) -> Event:
    own = Event.objects.filter(pk=event_id, topic__workspace_id=workspace_id)
    event = own.select_related("topic__list").first()
    if event is None:
        raise EventUnknownError(f"There is no event {event_id}.")
    return event


# The stream is given: the line of the books is one look-up in deliveries_delivery_once.
_NOTIFICATIONS: LiteralString = """
FROM notifications_notification AS notification
LEFT JOIN deliveries_delivery AS delivery
  ON delivery.stream_id = %(stream)s AND delivery.dedupe_key = notification.id::text
 AND notification.is_planned
"""
_STATE: LiteralString = "coalesce(notification.\"end\", delivery.state, 'waiting')"
_CODE: LiteralString = "coalesce(nullif(notification.code, ''), delivery.code)"
_COUNTS: LiteralString = (
    "SELECT "
    + _STATE
    + ", "
    + _CODE
    + ", count(*)"
    + _NOTIFICATIONS
    + " WHERE notification.event_id = %(event)s GROUP BY 1, 2 ORDER BY 1, 2"
)
_PAGE: LiteralString = (
    "SELECT notification.id, notification.subscription_id, contact.id, contact.address, "
    + _STATE
    + ", "
    + _CODE
    + ", delivery.position, notification.created_at"
    + _NOTIFICATIONS
    + """
JOIN notifications_topicsubscription AS subscription
  ON subscription.id = notification.subscription_id
LEFT JOIN contacts_contact AS contact
  ON contact.id = subscription.contact_id AND contact.deleted_at IS NULL
WHERE notification.event_id = %(event)s AND notification.subscription_id > %(after)s
  AND (%(state)s::text IS NULL OR """
    + _STATE
    + """ = %(state)s)
  AND (%(code)s::text IS NULL OR """
    + _CODE
    + """ = %(code)s)
ORDER BY notification.subscription_id LIMIT %(limit)s
"""
)


def count_fan_out(event: Event) -> list[FanOutCount]:
    """The notifications of an event by state and reason; nobody is in two of them."""
    rows = sql.rows(_COUNTS, _make_params(event))
    return [FanOutCount(State(state), code, count) for state, code, count in rows]


def list_notifications(
    event: Event,
    *,
    state: State | None = None,
    code: str | None = None,
    after: int = 0,
    limit: int,
) -> list[FanOutRow]:
    """A page of an event's notifications in the order of subscriptions, after one of these."""
    params = {**_make_params(event), "state": state, "code": code, "after": after, "limit": limit}
    return [_make_row(event, row) for row in sql.rows(_PAGE, params)]


def _make_params(event: Event) -> Mapping[str, Any]:
    return {"event": event.pk, "stream": event.stream_id}


def _make_row(event: Event, row: sql.Row) -> FanOutRow:
    id_, subscription_id, contact_id, address, state, code, position, created_at = row
    stream_id = event.stream_id
    mail = None if stream_id is None or position is None else DeliveryId(stream_id, position)
    return FanOutRow(
        id=id_,
        subscription_id=subscription_id,
        contact_id=contact_id,
        address=address,
        state=State(state),
        code=code,
        mail_id=None if mail is None else mail.text(),
        created_at=created_at,
    )
