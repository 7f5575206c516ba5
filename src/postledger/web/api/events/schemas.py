"""Events and their notifications as callers send and get them."""

from datetime import datetime
from typing import Annotated

from pydantic import Field, JsonValue

from postledger.deliveries.states import State
from postledger.notifications.events import publishing
from postledger.notifications.events.publishing import NewEvent
from postledger.web.api.common.fields import Moment, Values
from postledger.web.api.common.pagination import NextCursor, OldestFirstQuery
from postledger.web.api.common.schemas import RequestSchema, ResponseSchema

LONGEST_ID = 255

EventKey = Annotated[str, Field(min_length=1, max_length=LONGEST_ID, examples=["10023-open-1"])]


class EventIn(RequestSchema):
    """Something that happened."""

    id: EventKey | None = Field(
        default=None,
        description="Your own id: an event with the same id is not published a second time.",
    )
    data: Values = Field(description="Of the form that the topic's event_schema says.")
    occurred_at: Moment | None = Field(default=None, description="Now by default.")
    dedupe_key: str | None = Field(
        default=None,
        min_length=1,
        max_length=publishing.LONGEST_DEDUPE_KEY,
        description="Events with the same one are the same to a subscriber for the topic's"
        " `dedupe_seconds`; by default those with the same match fields and status.",
    )
    trace_id: str | None = Field(
        default=None,
        min_length=1,
        max_length=publishing.LONGEST_TRACE_ID,
        description="Goes along with the mails; by default a new one.",
    )

    def event(self, key: str | None) -> NewEvent:
        return NewEvent(self.data, key, self.occurred_at, self.dedupe_key, self.trace_id)


class EventsIn(RequestSchema):
    """Published all or none, in this order."""

    events: list[EventIn] = Field(min_length=1, max_length=publishing.MOST_EVENTS)

    def new_events(self, idempotency_key: str | None) -> list[NewEvent]:
        """An event without an id gets one of the Idempotency-Key and its place."""
        made = "" if idempotency_key is None else f"{idempotency_key}#"
        return [
            event.event(event.id or (f"{made}{index}" if made else None))
            for index, event in enumerate(self.events)
        ]


class PublishedOut(ResponseSchema):
    """A stored event; a repeated one is as it was published first."""

    id: int
    key: str | None = Field(description="Your own id.")
    trace_id: str
    dedupe_key: str
    occurred_at: datetime
    expires_at: datetime
    is_repeat: bool = Field(description="Whether an earlier request published it.")


class PublishedEvents(ResponseSchema):
    events: list[PublishedOut]


class EventOut(ResponseSchema):
    id: int
    key: str | None
    data: dict[str, JsonValue]
    trace_id: str
    dedupe_key: str
    occurred_at: datetime
    received_at: datetime
    expires_at: datetime
    planned_at: datetime | None = Field(
        description="When the last of its notifications was planned; null before."
    )
    trouble: str = Field(description="Why its fan-out does not go on; empty if it does.")
    trouble_since: datetime | None


class EventPage(ResponseSchema):
    """The newest first."""

    events: list[EventOut]
    next: NextCursor


class FanOutCountOut(ResponseSchema):
    state: State
    code: str | None = Field(description="Why; null if there is nothing to say.")
    count: int


class EventWithFanOut(EventOut):
    topic: str
    fan_out: list[FanOutCountOut] = Field(description="Its notifications by state and reason.")


class NotificationsQuery(OldestFirstQuery):
    state: State | None = Field(default=None, description="Only those in this state.")


class FanOutRowOut(ResponseSchema):
    """One notification of an event's fan-out; `/v1/notifications/{id}` has all of it."""

    id: int
    subscription_id: int
    contact_id: int | None
    address: str | None
    state: State
    code: str | None
    mail_id: str | None = Field(description="Of its mail, for `/v1/why`; null if it gets none.")
    created_at: datetime


class NotificationPage(ResponseSchema):
    """In the order of subscriptions."""

    notifications: list[FanOutRowOut]
    next: NextCursor
