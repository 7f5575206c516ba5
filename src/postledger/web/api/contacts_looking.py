"""The questions that lists of contacts and of their consents take, read from the address."""

import json
from datetime import datetime
from typing import Annotated

from pydantic import AfterValidator, BaseModel, Field

from postledger.contacts import filter_parsing, profiles
from postledger.contacts.filters import EVERYBODY, All, Column, Comparison, Filter, OnList, Op
from postledger.contacts.states import ContactState
from postledger.web.api import cursors
from postledger.web.api.contact_forms_consent import Line
from postledger.web.api.incoming import ListKey
from postledger.web.api.looking import AskedAddress

LONGEST_FILTER = 4_000


def _json(text: str) -> str:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        raise ValueError('write a filter as JSON, like {"state": "OH"}') from None
    return text


Place = Annotated[str, Field(pattern="^[A-Za-z0-9_-]{1,500}$"), AfterValidator(cursors.read_place)]


class Paged(BaseModel):
    limit: int = Field(default=25, ge=1, le=100, description="The most of a page.")


class History(Paged):
    cursor: str | None = Field(
        default=None, pattern="^[0-9]{1,18}$", description="`next` of the page before."
    )

    def before(self) -> int:
        return profiles.END if self.cursor is None else int(self.cursor)


class Contacts(Paged):
    cursor: Place | None = Field(
        default=None,
        description="`next` of the page before; the other questions stay the same.",
    )
    address: AskedAddress | None = Field(default=None, description="Only who has this address.")
    external_id: Line | None = Field(default=None, description="Only who has this id of yours.")
    state: ContactState | None = Field(default=None, description="Only contacts in this state.")
    list: ListKey | None = Field(default=None, description="Only active subscribers of this list.")
    filter: Annotated[str, AfterValidator(_json)] | None = Field(
        default=None,
        max_length=LONGEST_FILTER,
        description="Only whom this filter means, as JSON.",
        examples=['{"state": "OH"}'],
    )

    def audience(self, now: datetime) -> Filter:
        parts: list[Filter] = []
        if self.state is not None:
            parts.append(Comparison(Column.STATE, Op.IS, self.state.value))
        if self.list is not None:
            parts.append(OnList(self.list))
        if self.filter is not None:
            parts.append(filter_parsing.parse(json.loads(self.filter), now=now))
        return All(tuple(parts)) if parts else EVERYBODY
