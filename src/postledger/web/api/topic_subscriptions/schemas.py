"""Topic subscriptions as callers send and get them."""

from datetime import datetime
from typing import Annotated

from pydantic import Field, model_validator

from postledger.contacts.consent import Preferences
from postledger.contacts.details import LONGEST_KEY
from postledger.lib.ids import LAST_ID
from postledger.notifications.states import TopicSubscriptionState
from postledger.notifications.subscriptions.standing import SubscriptionStatus
from postledger.notifications.subscriptions.subscriptions import LONGEST_VALUE
from postledger.notifications.topics.matching import MOST_MATCH_FIELDS
from postledger.web.api.common.pagination import NewestFirstQuery, NextCursor
from postledger.web.api.common.schemas import RequestSchema, ResponseSchema
from postledger.web.api.contacts.subscription_schemas import ConsentIn, PreferencesIn, WindowOut

MatchField = Annotated[str, Field(min_length=1, max_length=LONGEST_KEY)]
MatchValue = Annotated[str, Field(min_length=1, max_length=LONGEST_VALUE)]


class NewTopicSubscriptionIn(RequestSchema):
    """Who wants to be told of what."""

    contact_id: int = Field(ge=1, le=LAST_ID)
    match: dict[MatchField, MatchValue] = Field(
        default_factory=dict,
        max_length=MOST_MATCH_FIELDS,
        description="Fields of an event and the values that all of them must have; without any,"
        " every event.",
        examples=[{"indexNumber": "10023"}],
    )
    preferences: PreferencesIn | None = None
    is_confirmed: bool = Field(
        default=False,
        description="Whether the owner of the address confirmed already; if not, the subscription"
        " is pending until then. True takes `contacts:write` too.",
    )
    consent: ConsentIn = Field(default_factory=ConsentIn)


class TopicSubscriptionChangeIn(RequestSchema):
    preferences: PreferencesIn = Field(description="Replaces all of them.")
    consent: ConsentIn = Field(default_factory=ConsentIn)


class TopicPreferencesOut(ResponseSchema):
    """Its own; one that is null is that of the contact's subscription to the list."""

    notify_on: list[str] | None
    max_notifications: int | None
    delivery_window: WindowOut | None
    snooze_until: datetime | None
    locale: str | None

    @model_validator(mode="before")
    @classmethod
    def _read(cls, preferences: Preferences) -> dict[str, object]:
        start, end = preferences.window_from, preferences.window_until
        has_window = start is not None and end is not None
        return {
            "notify_on": preferences.notify_on and list(preferences.notify_on),
            "max_notifications": preferences.max_notifications,
            "delivery_window": {"start_minute": start, "end_minute": end} if has_window else None,
            "snooze_until": preferences.snooze_until,
            "locale": preferences.locale,
        }


class TopicSubscriptionOut(ResponseSchema):
    id: int
    topic: str = Field(description="The key of the topic.")
    contact_id: int | None = Field(description="Null if the contact was deleted.")
    match: dict[str, str]
    status: SubscriptionStatus = Field(
        description="What counts: the contact's consent to the list first, then its own state."
    )
    state: TopicSubscriptionState = Field(description="Its own state.")
    preferences: TopicPreferencesOut
    created_at: datetime
    changed_at: datetime


class TopicSubscriptionPage(ResponseSchema):
    """The newest first."""

    subscriptions: list[TopicSubscriptionOut]
    next: NextCursor


class TopicSubscriptionsQuery(NewestFirstQuery):
    status: SubscriptionStatus | None = Field(
        default=None, description="Only those with this status."
    )
    contact_id: int | None = Field(
        default=None, ge=1, le=LAST_ID, description="Only those of this contact."
    )
