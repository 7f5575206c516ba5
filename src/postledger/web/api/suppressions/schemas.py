"""Suppressed addresses as callers send and get them."""

from datetime import datetime
from typing import Annotated

from pydantic import Field

from postledger.contacts.models import Suppression
from postledger.contacts.states import SuppressionReason
from postledger.contacts.suppressions import ALL_MAIL
from postledger.web.api.common.fields import (
    Address,
    CanonicalAddress,
    KeyOfList,
    Line,
    ListKey,
)
from postledger.web.api.common.pagination import NextCursor, PageQuery, cursor_like
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


class SuppressionsQuery(PageQuery):
    address: CanonicalAddress | None = Field(
        default=None, description="Only the suppressions of this address."
    )
    cursor: Annotated[str, cursor_like("^[0-9a-f]{32}-[0-7][0-9a-f]{15}$")] | None = Field(
        default=None, description="`next` of the previous page."
    )

    @property
    def after(self) -> tuple[bytes, int]:
        address_hash, _, list_id = (self.cursor or "-0").partition("-")
        return bytes.fromhex(address_hash), int(list_id, 16)


def encode_cursor(row: Suppression) -> str:
    list_id = ALL_MAIL if row.list_id is None else row.list_id
    return f"{bytes(row.address_hash).hex()}-{list_id:016x}"


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
    """In an arbitrary but stable order."""

    suppressions: list[SuppressionOut]
    next: NextCursor


class RestoredAddress(ResponseSchema):
    is_restored: bool = Field(description="Whether a suppression was lifted.")
    suppression: SuppressionOut | None = Field(description="The suppression that remains.")
