"""Consents and preferences as callers send and get them."""

from datetime import datetime
from ipaddress import ip_address
from typing import Annotated

from pydantic import AfterValidator, BaseModel, Field

from postledger.contacts import details
from postledger.contacts.actions import Wanted
from postledger.contacts.actions.preferences import LAST_MINUTE, MOST_EVENTS
from postledger.contacts.consent import Origin, Preferences
from postledger.contacts.profiles import Subscribed
from postledger.contacts.states import SubscriptionState
from postledger.web.api.fields import Moment
from postledger.web.api.incoming import Incoming, ListKey


def _visible(text: str) -> str:
    if not text.isprintable():
        raise ValueError("write one line of visible characters")
    return text


def _ip(text: str) -> str:
    try:
        found = ip_address(text)
    except ValueError:
        raise ValueError("write an address such as 192.0.2.7 or 2001:db8::7") from None
    if getattr(found, "scope_id", None) is not None:
        raise ValueError("leave the zone of the address out")
    return str(found)


Line = Annotated[str, AfterValidator(_visible), Field(max_length=details.LONGEST_TEXT)]
Ip = Annotated[str, AfterValidator(_ip), Field(max_length=45, examples=["192.0.2.7"])]
Minute = Annotated[int, Field(ge=0, le=LAST_MINUTE)]


class ConsentIn(Incoming):
    """What proves a consent, beside its time and the key that told it."""

    source: Annotated[Line, Field(min_length=1)] = Field(
        default="api", description="The form, page or file.", examples=["signup page"]
    )
    text_version: Line = Field(
        default="", description="Of the words that were agreed to.", examples=["2026-05"]
    )
    ip: Ip | None = Field(default=None, description="From where the person did it.")

    def origin(self, actor: str) -> Origin:
        return Origin(self.source, actor, self.text_version, self.ip)


class WindowIn(Incoming):
    """Minutes of the contact's local day; end before start wraps midnight, equal is always."""

    start_minute: Minute = Field(examples=[540])
    end_minute: Minute = Field(examples=[1080])


class PreferencesIn(Incoming):
    """All of them: what is left out, or null, sets no bound."""

    notify_on: list[str] | None = Field(
        default=None,
        max_length=MOST_EVENTS,
        description="Only these kinds of events.",
        examples=[["open"]],
    )
    max_notifications: int | None = Field(default=None, ge=1, le=2**31 - 1)
    delivery_window: WindowIn | None = None
    snooze_until: Moment | None = Field(
        default=None, description="Until then, campaigns leave it out."
    )
    locale: str | None = Field(default=None, max_length=35, description="The contact's unless set.")

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


class SubscriptionIn(Incoming):
    """How a subscription is to stand; what is left out stays."""

    state: Wanted | None = Field(
        default=None,
        strict=False,
        description="Who left the list is pending in place of active, until they confirm.",
    )
    preferences: PreferencesIn | None = Field(default=None, description="All of them anew.")
    consent: ConsentIn = Field(default_factory=ConsentIn)


class RestoringIn(Incoming):
    """Why mail goes to this contact again."""

    reason: Line = Field(description="Kept in the history.", examples=["Wrote to us on 1 May."])
    list: ListKey | None = Field(default=None, description="Only this list; else all mail.")


class WindowOut(BaseModel):
    start_minute: int
    end_minute: int


class PreferencesOut(BaseModel):
    notify_on: list[str] | None
    max_notifications: int | None
    delivery_window: WindowOut | None
    snooze_until: datetime | None
    locale: str | None


class SubscriptionOut(BaseModel):
    list: str
    state: SubscriptionState
    preferences: PreferencesOut
    created_at: datetime
    changed_at: datetime


def subscription(found: Subscribed) -> SubscriptionOut:
    return SubscriptionOut(
        list=found.list_key,
        state=found.state,
        preferences=_preferences(found.preferences),
        created_at=found.created_at,
        changed_at=found.changed_at,
    )


def _preferences(found: Preferences) -> PreferencesOut:
    window = None
    if found.window_from is not None and found.window_until is not None:
        window = WindowOut(start_minute=found.window_from, end_minute=found.window_until)
    return PreferencesOut(
        notify_on=None if found.notify_on is None else list(found.notify_on),
        max_notifications=found.max_notifications,
        delivery_window=window,
        snooze_until=found.snooze_until,
        locale=found.locale,
    )
