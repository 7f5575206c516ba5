"""Contacts as callers send and get them."""

import json
from datetime import datetime
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    Field,
    Json,
    JsonValue,
)

from postledger.contacts import details, export
from postledger.contacts.details import Changes, Details
from postledger.contacts.filters import parsing
from postledger.contacts.filters.expressions import (
    EVERYBODY,
    All,
    Column,
    Comparison,
    Filter,
    OnList,
    Op,
)
from postledger.contacts.states import (
    ContactState,
    SuppressionReason,
)
from postledger.web.api.common.fields import (
    Address,
    CanonicalAddress,
    Line,
    ListKey,
)
from postledger.web.api.common.pagination import NextCursor, PageQuery, TextCursor
from postledger.web.api.common.schemas import RequestSchema, ResponseSchema
from postledger.web.api.contacts.subscription_schemas import (
    ConsentIn,
    SubscriptionOut,
)

MOST_LISTS = 100
LONGEST_FILTER = 4_000


def _distinct(keys: list[str]) -> list[str]:
    if len(set(keys)) < len(keys):
        raise ValueError("name each list once")
    return keys


def _filter_json(text: str) -> str:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        raise ValueError('write a filter as JSON, such as {"state": "OH"}') from None
    return text


# The application checks these further, with a message for each.
Text = Annotated[str, Field(json_schema_extra={"maxLength": details.LONGEST_TEXT})]
ExternalId = Annotated[Line, Field(min_length=1, description="Your own id of this person.")]
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
OcdIds = Annotated[
    list[str], Field(max_length=200, examples=[["ocd-division/country:us/state:oh"]])
]


class ContactsQuery(PageQuery):
    cursor: TextCursor | None = Field(
        default=None, description="`next` of the previous page; the other parameters stay the same."
    )
    address: CanonicalAddress | None = Field(
        default=None, description="Only the contact with this address."
    )
    external_id: Line | None = Field(
        default=None, description="Only the contact with this id of yours."
    )
    state: ContactState | None = Field(default=None, description="Only contacts in this state.")
    list: ListKey | None = Field(default=None, description="Only active subscribers of this list.")
    filter: Annotated[str, AfterValidator(_filter_json)] | None = Field(
        default=None,
        max_length=LONGEST_FILTER,
        description="Only contacts that match this filter, as JSON.",
        examples=['{"state": "OH"}'],
    )

    def audience(self, now: datetime) -> Filter:
        parts: list[Filter] = []
        if self.state is not None:
            parts.append(Comparison(Column.STATE, Op.IS, self.state.value))
        if self.list is not None:
            parts.append(OnList(self.list))
        if self.filter is not None:
            parts.append(parsing.parse(json.loads(self.filter), now=now))
        return All(tuple(parts)) if parts else EVERYBODY


class ExportQuery(BaseModel):
    list: ListKey | None = Field(
        default=None, description="Only contacts that get the mail of this list."
    )
    filter: Json[Any] | None = Field(
        default=None,
        description="Only contacts that match this filter, as JSON.",
        examples=['{"state": "OH"}'],
    )

    def audience(self, now: datetime) -> Filter:
        parts: list[Filter] = []
        if self.list is not None:
            parts.append(export.list_recipients(self.list))
        if self.filter is not None:
            parts.append(parsing.parse(self.filter, now=now))
        return All(tuple(parts))


class NewContactIn(RequestSchema):
    """A new contact and its lists."""

    address: Address
    external_id: ExternalId | None = None
    name: Text = ""
    from_name: Text | None = Field(
        default=None, description="Sender name of mail to this contact; the sender's by default."
    )
    locale: Locale | None = None
    time_zone: TimeZone | None = Field(default=None, description="The workspace's by default.")
    attributes: Attributes = Field(default={})
    ocd_ids: OcdIds = Field(default=[])
    lists: Annotated[list[ListKey], AfterValidator(_distinct)] = Field(
        default=[], max_length=MOST_LISTS, description="Lists to subscribe it to."
    )
    is_confirmed: bool = Field(
        default=False,
        description="Whether the owner of the address has confirmed; pending otherwise.",
    )
    consent: ConsentIn = Field(default_factory=ConsentIn)

    def details(self) -> Details:
        return Details(
            name=self.name,
            from_name=self.from_name or "",
            locale=self.locale or "",
            time_zone=self.time_zone or "",
            attributes=self.attributes,  # type: ignore[arg-type]  # checked by `create_contact`
            ocd_ids=self.ocd_ids,
        )


class ContactChangeIn(RequestSchema):
    """Absent fields do not change; null removes a value."""

    # No default in the OpenAPI document: `model_fields_set` tells which fields were sent.
    address: Address = Field(default_factory=str)
    external_id: ExternalId | None = None
    name: Text | None = None
    from_name: Text | None = None
    locale: Locale | None = None
    time_zone: TimeZone | None = None
    attributes: Attributes = Field(
        default_factory=dict, description="Sets the named attributes; null removes one."
    )
    ocd_ids: OcdIds = Field(default_factory=list)

    def changes(self) -> Changes:
        sent: dict[str, Any] = {name: getattr(self, name) for name in self.model_fields_set}
        removed = {name: "" for name, value in sent.items() if value is None}
        return Changes(**(sent | removed))


class EraseIn(RequestSchema):
    """The person who asks for erasure."""

    address: Address


class ContactOut(ResponseSchema):
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
    bounce_type: str | None = Field(description="The provider's term, like `bounce_subtype`.")
    bounce_subtype: str | None
    state_changed_at: datetime | None
    created_at: datetime
    updated_at: datetime


class ContactSuppression(ResponseSchema):
    """Why an address gets no mail at all."""

    reason: SuppressionReason
    has_left: bool = Field(
        description="True if the owner unsubscribed. `reason` may show a stronger reason."
    )


class ContactWithConsent(ContactOut):
    """A contact with its subscriptions."""

    suppression: Annotated[
        ContactSuppression | None, BeforeValidator(lambda status: status if status.reason else None)
    ] = Field(description="Null if it may get mail.")
    subscriptions: list[SubscriptionOut] = Field(description="By the key of the list.")


class ContactPage(ResponseSchema):
    """Ordered by address, ignoring case."""

    contacts: list[ContactOut]
    next: NextCursor


class Erased(ResponseSchema):
    """How much was erased."""

    contacts: int
    consents: int
    mails: int
    waiting: int = Field(
        description="Mails that are not sent yet; they are erased once they have a result."
    )
    uploads: int = Field(
        description="Files that waited to be imported and named the address; they are abandoned."
    )


class PersonExport(ResponseSchema):
    """All data about one person."""

    address: str
    exported_at: datetime
    contacts: list[dict[str, JsonValue]] = Field(description="Deleted ones included.")
    history: list[dict[str, JsonValue]] = Field(
        description="Events of the address while it had no contact."
    )
    suppressions: list[dict[str, JsonValue]] = Field(
        description="Suppressions, of all mail or of one list."
    )
    topic_subscriptions: list[dict[str, JsonValue]] = Field(
        description="What the contacts want to be told, and what became of each event."
    )
    mails: list[dict[str, JsonValue]]
