"""Lists and topics as callers send and get them."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from postledger.contacts.lists import Count, ListFacts
from postledger.contacts.states import ListKind, SubscriptionState
from postledger.web.api.incoming import Incoming, ListKey
from postledger.web.api.words import Name


class NewListIn(Incoming):
    """A new list, still without subscribers."""

    key: ListKey
    name: Name
    kind: ListKind = Field(
        default=ListKind.LIST,
        strict=False,
        description="Campaigns are sent to lists, notifications are about topics.",
    )
    is_public: bool = Field(default=False, description="Whether people may find it and subscribe.")


class ListChangeIn(Incoming):
    """What becomes different; what is left out stays."""

    # Without a default in the description: what was given is read from `model_fields_set`.
    name: Name = Field(default_factory=str)
    is_public: bool = Field(default_factory=bool)

    def given(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.model_fields_set}


class ListOut(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    key: str = Field(examples=["news"])
    name: str
    kind: ListKind
    is_public: bool
    created_at: datetime
    archived_at: datetime | None = Field(description="Since when it is out of use.")


class ListList(BaseModel):
    lists: list[ListOut]


class CountOut(BaseModel):
    """How many; a number that is not exact is an estimate."""

    model_config = ConfigDict(from_attributes=True)

    number: int
    is_exact: bool


class WholeList(ListOut):
    subscriptions: dict[SubscriptionState, CountOut] = Field(description="How many by state.")


def list_(facts: ListFacts) -> ListOut:
    return ListOut.model_validate(facts)


def whole(facts: ListFacts, counts: Mapping[SubscriptionState, Count]) -> WholeList:
    told = {state: CountOut.model_validate(count) for state, count in counts.items()}
    return WholeList(**dict(list_(facts)), subscriptions=told)
