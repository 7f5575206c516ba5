"""Suppressed addresses as callers send and get them."""

from datetime import datetime

from pydantic import Field

from postledger.contacts.states import SuppressionReason
from postledger.web.api.common.fields import (
    Address,
    CanonicalAddress,
    KeyOfList,
    Line,
    ListKey,
)
from postledger.web.api.common.pagination import NewestFirstQuery, NextCursor
from postledger.web.api.common.schemas import RequestSchema, ResponseSchema


class RestoreIn(RequestSchema):
    """Why mail goes to this contact again."""

    reason: Line = Field(description="Stored in the history.", examples=["Wrote to us on 1 May."])
    list: ListKey | None = Field(default=None, description="Only this list; all mail by default.")
    expected_reason: SuppressionReason | None = Field(
        default=None,
        strict=False,
        description="Lift this reason alone: 409 `suppression_changed` if it is another by now, or"
        " none. A repeated request then lifts no unsubscribe that lies beneath.",
    )


class SuppressionsQuery(NewestFirstQuery):
    address: CanonicalAddress | None = Field(
        default=None, description="Only the suppressions of this address."
    )


class NewSuppressionIn(RequestSchema):
    """An address that must not get mail."""

    address: Address
    list: ListKey | None = Field(default=None, description="Only this list; all mail by default.")
    reason: SuppressionReason = Field(default=SuppressionReason.BY_HAND, strict=False)


class RestoreAddressIn(RestoreIn):
    """Why mail goes to this address again."""

    address: Address


class SuppressionOut(ResponseSchema):
    address: str | None = Field(description="Null after its owner was erased.")
    list: KeyOfList | None = Field(description="Null for all mail.")
    reason: SuppressionReason
    has_left: bool = Field(
        description="True if the owner unsubscribed, or complained and bounced."
        " `reason` may show a stronger reason."
    )
    created_at: datetime


class SuppressionPage(ResponseSchema):
    """Newest first."""

    suppressions: list[SuppressionOut]
    next: NextCursor


class RestoredAddress(ResponseSchema):
    is_restored: bool = Field(description="Whether a suppression was lifted.")
    suppression: SuppressionOut | None = Field(description="The suppression that remains.")
