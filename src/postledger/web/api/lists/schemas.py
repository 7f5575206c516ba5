"""Lists and topics as callers send and get them."""

from datetime import datetime
from typing import Any

from pydantic import Field

from postledger.contacts.states import ListKind, SubscriptionState
from postledger.web.api.common.fields import ListKey, Name
from postledger.web.api.common.schemas import RequestSchema, ResponseSchema


class NewListIn(RequestSchema):
    """A new list without subscribers."""

    key: ListKey
    name: Name
    kind: ListKind = Field(
        default=ListKind.LIST,
        strict=False,
        description="Campaigns go to lists; notifications are about topics.",
    )
    is_public: bool = Field(default=False, description="Whether people may find and join it.")


class ListChangeIn(RequestSchema):
    """Absent fields do not change."""

    # No default in the OpenAPI document: `model_fields_set` tells which fields were sent.
    name: Name = Field(default_factory=str)
    is_public: bool = Field(default_factory=bool)

    def changes(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.model_fields_set}


class ListOut(ResponseSchema):
    key: str = Field(examples=["news"])
    name: str
    kind: ListKind
    is_public: bool
    created_at: datetime
    archived_at: datetime | None = Field(description="When it was archived.")


class ListList(ResponseSchema):
    lists: list[ListOut]


class CountOut(ResponseSchema):
    """A number that is not exact is an estimate."""

    number: int
    is_exact: bool


class ListWithCounts(ListOut):
    subscriptions: dict[SubscriptionState, CountOut] = Field(description="Counts by state.")
