"""A workspace's contacts by their addresses, a page at a time."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import LiteralString

from postledger.contacts import audience as audiences
from postledger.contacts import sql
from postledger.contacts.filters import EVERYBODY, Filter
from postledger.contacts.states import ContactState


@dataclass(frozen=True, slots=True)
class Listed:
    """A contact without its subscriptions and its history."""

    id: int
    address: str
    external_id: str | None
    name: str
    from_name: str | None
    locale: str | None
    time_zone: str | None
    attributes: Mapping[str, object]
    ocd_ids: Sequence[str]
    state: ContactState
    bounce_type: str | None
    bounce_subtype: str | None
    state_changed_at: datetime | None
    created_at: datetime
    updated_at: datetime
    place: str  # in the order of the pages


# In the order of contacts_contact_once, which no other index has. By id, the planner would take the
# primary key, and read past everybody of every other workspace.
_PAGE: LiteralString = """
SELECT contact.id, contact.address, contact.external_id, contact.name, contact.from_name,
       contact.locale, contact.time_zone, contact.attributes::text, contact.ocd_ids, contact.state,
       contact.bounce_type, contact.bounce_subtype, contact.state_changed_at, contact.created_at,
       contact.updated_at, lower(contact.address) COLLATE "C"
FROM contacts_contact AS contact
WHERE contact.workspace_id = %(workspace)s::bigint AND contact.deleted_at IS NULL
  AND lower(contact.address) COLLATE "C" > %(after)s::text AND {condition}
"""
_LAST: LiteralString = ' ORDER BY lower(contact.address) COLLATE "C" LIMIT %(limit)s::bigint'
_BY_ADDRESS: LiteralString = (
    ' AND lower(contact.address) COLLATE "C" = lower(%(address)s::text) COLLATE "C"'
)
# Served by contacts_contact_external_once.
_BY_EXTERNAL_ID: LiteralString = " AND contact.external_id = %(external_id)s::text"


def page(  # noqa: PLR0913  each question by its name
    workspace_id: int,
    *,
    audience: Filter = EVERYBODY,
    address: str | None = None,
    external_id: str | None = None,
    after: str = "",
    limit: int,
) -> list[Listed]:
    """The contacts that meet everything asked for; `after` is the place of the last one before."""
    statement = _PAGE
    if address is not None:
        statement += _BY_ADDRESS
    if external_id is not None:
        statement += _BY_EXTERNAL_ID
    params = {"address": address, "external_id": external_id, "after": after, "limit": limit}
    source = audiences.source(statement + _LAST, workspace_id, audience, params)
    return [_listed(row) for row in sql.rows(source.sql, source.params)]


def _listed(row: sql.Row) -> Listed:
    found = dict(zip(_COLUMNS, row, strict=True))
    told = {"attributes": json.loads(found["attributes"]), "state": ContactState(found["state"])}
    return Listed(**(found | told))


_COLUMNS = [column.name for column in fields(Listed)]
