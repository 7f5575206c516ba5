"""Contacts as callers send and get them."""

from datetime import datetime
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue

from postledger.contacts import details
from postledger.contacts.details import Changes, Details
from postledger.contacts.paging import Listed
from postledger.contacts.profiles import Event, Profile
from postledger.contacts.states import ConsentAction, ContactState, SuppressionReason
from postledger.web.api import cursors
from postledger.web.api.contact_forms_consent import ConsentIn, Line, SubscriptionOut, subscription
from postledger.web.api.fields import Address
from postledger.web.api.incoming import Incoming, ListKey

MOST_LISTS = 100


def _distinct(keys: list[str]) -> list[str]:
    if len(set(keys)) < len(keys):
        raise ValueError("name each list once")
    return keys


# The rules judge the rest, each with its own words.
Text = Annotated[str, Field(json_schema_extra={"maxLength": details.LONGEST_TEXT})]
ExternalId = Annotated[Line, Field(min_length=1, description="Your own name for this person.")]
Locale = Annotated[str, Field(max_length=35, examples=["en", "pt-BR"])]
TimeZone = Annotated[str, Field(max_length=64, examples=["Europe/Lisbon"])]
Attributes = Annotated[
    dict[str, JsonValue],
    Field(
        json_schema_extra={"maxProperties": details.MOST_KEYS},
        description="Texts, numbers, true or false, or lists of texts; 8,192 bytes of JSON.",
        examples=[{"state": "OH", "plan": "pro"}],
    ),
]
Places = Annotated[
    list[str], Field(max_length=200, examples=[["ocd-division/country:us/state:oh"]])
]


class NewContactIn(Incoming):
    """A new contact, and the lists it asked for."""

    address: Address
    external_id: ExternalId | None = None
    name: Text = ""
    from_name: Text | None = Field(
        default=None, description="Who mail to this contact comes from; the sender unless said."
    )
    locale: Locale | None = None
    time_zone: TimeZone | None = Field(default=None, description="The workspace's unless said.")
    attributes: Attributes = Field(default={})
    ocd_ids: Places = Field(default=[])
    lists: Annotated[list[ListKey], AfterValidator(_distinct)] = Field(
        default=[], max_length=MOST_LISTS, description="What it asked for."
    )
    is_confirmed: bool = Field(
        default=False,
        description="Whether the owner of the address said yes already; else it is pending.",
    )
    consent: ConsentIn = Field(default_factory=ConsentIn)

    def details(self) -> Details:
        return Details(
            name=self.name,
            from_name=self.from_name or "",
            locale=self.locale or "",
            time_zone=self.time_zone or "",
            attributes=self.attributes,  # type: ignore[arg-type]  # judged by the rule
            ocd_ids=self.ocd_ids,
        )


class ContactChangeIn(Incoming):
    """What becomes different: what is left out stays, what is null goes."""

    # Without a default in the description: what was given is read from `model_fields_set`.
    address: Address = Field(default_factory=str)
    external_id: ExternalId | None = None
    name: Text | None = None
    from_name: Text | None = None
    locale: Locale | None = None
    time_zone: TimeZone | None = None
    attributes: Attributes = Field(
        default_factory=dict, description="Those that are named are set; null takes one away."
    )
    ocd_ids: Places = Field(default_factory=list)

    def changes(self) -> Changes:
        given: dict[str, Any] = {name: getattr(self, name) for name in self.model_fields_set}
        gone = {name: "" for name, value in given.items() if value is None}
        return Changes(**(given | gone))


class ContactOut(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    id: int
    address: str = Field(examples=["alice@example.com"])
    external_id: str | None
    name: str
    from_name: str | None
    locale: str | None
    time_zone: str | None
    attributes: dict[str, JsonValue]
    ocd_ids: list[str]
    state: ContactState
    bounce_type: str | None = Field(description="In the provider's words, as the next.")
    bounce_subtype: str | None
    state_changed_at: datetime | None
    created_at: datetime
    updated_at: datetime


class KeptOut(BaseModel):
    """What keeps an address back from all mail."""

    reason: SuppressionReason
    has_left: bool = Field(description="Its owner left, even if there is a stronger reason.")


class WholeContact(ContactOut):
    """A contact with what it agreed to."""

    suppression: KeptOut | None = Field(description="Null while nothing keeps it from all mail.")
    subscriptions: list[SubscriptionOut] = Field(description="By the key of the list.")


class ContactPage(BaseModel):
    """By address, whatever its capitals."""

    contacts: list[ContactOut]
    next: str | None = Field(description="The cursor of the next page; null on the last one.")


class EventOut(BaseModel):
    """One change of consent; without a list, it is about all mail."""

    id: int
    at: datetime
    action: ConsentAction
    list: str | None
    before: str | None = Field(description="The state of the subscription, or of the contact.")
    after: str | None
    source: str
    actor: str
    text_version: str
    ip: str | None
    detail: str


class HistoryPage(BaseModel):
    """The newest first."""

    events: list[EventOut]
    next: str | None = Field(description="The cursor of the next page; null on the last one.")


def page(found: list[Listed], *, limit: int) -> ContactPage:
    """`found` has one more than the page, where there is one."""
    shown = [ContactOut.model_validate(contact) for contact in found[:limit]]
    last = cursors.write_place(found[limit - 1].place) if len(found) > limit else None
    return ContactPage(contacts=shown, next=last)


def whole(profile: Profile) -> WholeContact:
    kept = profile.suppression
    return WholeContact(
        **dict(ContactOut.model_validate(profile)),
        suppression=KeptOut(reason=kept.reason, has_left=kept.has_left) if kept.reason else None,
        subscriptions=[subscription(found) for found in profile.subscriptions],
    )


def history(found: list[Event], *, limit: int) -> HistoryPage:
    """The same of a history."""
    shown = [_event(event) for event in found[:limit]]
    return HistoryPage(events=shown, next=str(shown[-1].id) if len(found) > limit else None)


def _event(event: Event) -> EventOut:
    return EventOut(
        id=event.id,
        at=event.at,
        action=event.action,
        list=event.list_key,
        before=event.before,
        after=event.after,
        source=event.source,
        actor=event.actor,
        text_version=event.text_version,
        ip=event.ip,
        detail=event.detail,
    )
