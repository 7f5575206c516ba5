"""Routes for one event, and what became of it."""

from typing import Annotated

from ninja import Query

from postledger.accounts.keys import Scope
from postledger.notifications.events import queries as event_queries
from postledger.web.api.common.decisions import show_text
from postledger.web.api.common.fields import path_id
from postledger.web.api.common.pagination import cut_page
from postledger.web.api.common.routing import Call, Routes
from postledger.web.api.events.schemas import (
    EventOut,
    EventWithFanOut,
    FanOutRowOut,
    NotificationPage,
    NotificationsQuery,
)

routes = Routes("events", read=Scope.NOTIFICATIONS_READ, write=Scope.NOTIFICATIONS_WRITE)

EventId = Annotated[int, path_id("The id of the event.")]


@routes.get("/{int:event_id}", EventWithFanOut)
def get_event(call: Call, event_id: EventId) -> dict[str, object]:
    """The event, and how many of its notifications are in which state, and why."""
    event = event_queries.get_event(call.workspace_id, event_id)
    return {
        **dict(EventOut.model_validate(event)),
        "topic": event.topic.list.key,
        "fan_out": event_queries.count_fan_out(event),
    }


@routes.get("/{int:event_id}/notifications", NotificationPage)
def list_notifications(
    call: Call, event_id: EventId, query: Query[NotificationsQuery]
) -> dict[str, object]:
    """The event's notifications in the order of subscriptions.

    Without the scope contacts:read, addresses are masked.
    """
    event = event_queries.get_event(call.workspace_id, event_id)
    notifications = event_queries.list_notifications(
        event, state=query.state, after=max(query.after, 0), limit=query.limit + 1
    )
    page = cut_page(
        "notifications", notifications, query.limit, lambda facts: facts.subscription_id
    )
    shown = [FanOutRowOut.model_validate(facts) for facts in notifications[: query.limit]]
    for notification in shown:
        notification.address = notification.address and show_text(call, notification.address)
    return {**page, "notifications": shown}
