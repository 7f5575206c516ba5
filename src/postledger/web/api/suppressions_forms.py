"""Suppressed addresses as callers ask for them, send and get them."""

from datetime import datetime

from pydantic import BaseModel, Field

from postledger.contacts import suppressions
from postledger.contacts.states import SuppressionReason
from postledger.contacts.suppressions import Place, Suppressed
from postledger.web.api.contact_forms_consent import RestoringIn
from postledger.web.api.fields import Address
from postledger.web.api.incoming import Incoming, ListKey
from postledger.web.api.looking import AskedAddress


class Question(BaseModel):
    address: AskedAddress | None = Field(
        default=None, description="Only what keeps this address back."
    )
    limit: int = Field(default=25, ge=1, le=100, description="The most of a page.")
    cursor: str | None = Field(
        default=None,
        pattern="^[0-9a-f]{32}-[0-7][0-9a-f]{15}$",
        description="`next` of the page before.",
    )

    def after(self) -> Place:
        if self.cursor is None:
            return suppressions.FIRST
        address_hash, _, list_id = self.cursor.partition("-")
        return Place(bytes.fromhex(address_hash), int(list_id, 16))


class NewSuppressionIn(Incoming):
    """An address that must not be mailed."""

    address: Address
    list: ListKey | None = Field(default=None, description="Only this list; else all mail.")
    reason: SuppressionReason = Field(default=SuppressionReason.BY_HAND, strict=False)


class RestoringAddressIn(RestoringIn):
    """Why mail goes to this address again."""

    address: Address


class SuppressionOut(BaseModel):
    address: str | None = Field(description="Null once its owner was forgotten.")
    list: str | None = Field(description="Null for all mail.")
    reason: SuppressionReason
    has_left: bool = Field(description="Its owner left, even if there is a stronger reason.")
    created_at: datetime


class SuppressionPage(BaseModel):
    """In an order that means nothing and stays the same."""

    suppressions: list[SuppressionOut]
    next: str | None = Field(description="The cursor of the next page; null on the last one.")


class RestoredAddress(BaseModel):
    is_restored: bool = Field(description="Whether anything kept it back before.")
    suppression: SuppressionOut | None = Field(description="What still does.")


def suppression(found: Suppressed) -> SuppressionOut:
    return SuppressionOut(
        address=found.address,
        list=found.list_key,
        reason=found.reason,
        has_left=found.has_left,
        created_at=found.created_at,
    )


def page(found: list[Suppressed], *, limit: int) -> SuppressionPage:
    """`found` has one more than the page, where there is one."""
    shown = [suppression(one) for one in found[:limit]]
    return SuppressionPage(
        suppressions=shown, next=_cursor(found[limit - 1].place) if len(found) > limit else None
    )


def _cursor(place: Place) -> str:
    return f"{place.address_hash.hex()}-{place.list_id:016x}"
