"""Subscriptions, their preferences and the evidence of consent, as callers send and get them."""

from datetime import datetime
from ipaddress import ip_address
from typing import Annotated

from pydantic import AfterValidator, Field, model_validator

from postledger.contacts.actions.desired_state import DesiredState
from postledger.contacts.actions.subscriptions import LAST_MINUTE, MOST_EVENTS
from postledger.contacts.consent import Origin, Preferences
from postledger.contacts.models import Subscription
from postledger.contacts.states import ConsentAction, SubscriptionState
from postledger.web.api.common.fields import LAST_NUMBER, KeyOfList, Line, Moment
from postledger.web.api.common.pagination import NextCursor
from postledger.web.api.common.schemas import RequestSchema, ResponseSchema


def _ip(text: str) -> str:
    try:
        ip = ip_address(text)
    except ValueError:
        raise ValueError("write an IP address such as 192.0.2.7 or 2001:db8::7") from None
    if getattr(ip, "scope_id", None) is not None:
        raise ValueError("leave out the zone of the IP address")
    return str(ip)


Ip = Annotated[str, AfterValidator(_ip), Field(max_length=45, examples=["192.0.2.7"])]
Minute = Annotated[int, Field(ge=0, le=LAST_MINUTE)]


class ConsentIn(RequestSchema):
    """The evidence of a consent, beside its time and the API key that reported it."""

    source: Annotated[Line, Field(min_length=1)] = Field(
        default="api", description="The form, page or file.", examples=["signup page"]
    )
    text_version: Line = Field(
        default="", description="Version of the text that was agreed to.", examples=["2026-05"]
    )
    ip: Ip | None = Field(default=None, description="The IP address of the person.")

    def origin(self, actor: str) -> Origin:
        return Origin(self.source, actor, self.text_version, self.ip)


class WindowIn(RequestSchema):
    """Minutes of the contact's day. An end before the start wraps midnight; equal means always."""

    start_minute: Minute = Field(examples=[540])
    end_minute: Minute = Field(examples=[1080])


class PreferencesIn(RequestSchema):
    """Replaces all preferences; an absent or null one sets no limit."""

    notify_on: list[str] | None = Field(
        default=None,
        max_length=MOST_EVENTS,
        description="Only events of these kinds.",
        examples=[["open"]],
    )
    max_notifications: int | None = Field(default=None, ge=1, le=LAST_NUMBER)
    delivery_window: WindowIn | None = None
    snooze_until: Moment | None = Field(
        default=None, description="Campaigns skip the contact until then."
    )
    locale: str | None = Field(
        default=None, max_length=35, description="The contact's locale by default."
    )

    def preferences(self) -> Preferences:
        window = self.delivery_window
        return Preferences(
            notify_on=None if self.notify_on is None else tuple(self.notify_on),
            max_notifications=self.max_notifications,
            window_from=window.start_minute if window else None,
            window_until=window.end_minute if window else None,
            snooze_until=self.snooze_until,
            locale=self.locale,
        )


class SubscriptionIn(RequestSchema):
    """The wanted subscription; absent fields do not change."""

    state: DesiredState | None = Field(
        default=None,
        strict=False,
        description="A contact that unsubscribed becomes pending in place of active, until it"
        " confirms.",
    )
    preferences: PreferencesIn | None = Field(default=None, description="Replaces all of them.")
    consent: ConsentIn = Field(default_factory=ConsentIn)


class WindowOut(ResponseSchema):
    start_minute: int
    end_minute: int


class PreferencesOut(ResponseSchema):
    notify_on: list[str] | None
    max_notifications: int | None
    delivery_window: WindowOut | None
    snooze_until: datetime | None
    locale: str | None

    @model_validator(mode="before")
    @classmethod
    def _read(cls, subscription: Subscription) -> dict[str, object]:
        start, end = subscription.window_from, subscription.window_until
        has_window = start is not None and end is not None
        return {
            "notify_on": subscription.notify_on,
            "max_notifications": subscription.max_notifications,
            "delivery_window": {"start_minute": start, "end_minute": end} if has_window else None,
            "snooze_until": subscription.snooze_until,
            "locale": subscription.locale,
        }


class SubscriptionOut(ResponseSchema):
    list: KeyOfList
    state: SubscriptionState
    preferences: PreferencesOut
    created_at: datetime
    changed_at: datetime

    @model_validator(mode="before")
    @classmethod
    def _read(cls, subscription: Subscription) -> dict[str, object]:
        return {
            "list": subscription.list,
            "state": subscription.state,
            "preferences": subscription,
            "created_at": subscription.created_at,
            "changed_at": subscription.changed_at,
        }


class ConsentEventOut(ResponseSchema):
    """One change of consent; without a list, it is about all mail."""

    id: int
    at: datetime
    action: ConsentAction
    list: KeyOfList | None
    before: str | None = Field(description="The state of the subscription, or of the contact.")
    after: str | None
    source: str
    actor: str
    text_version: str
    ip: str | None
    detail: str


class HistoryPage(ResponseSchema):
    """The newest first."""

    events: list[ConsentEventOut]
    next: NextCursor
