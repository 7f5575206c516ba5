"""The contacts that a filter means: how many, some of them, and all of them in their order."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import LiteralString

from django.db import transaction
from psycopg import sql as pg
from psycopg.sql import Composed

from postledger.contacts import filter_sql, filters, lists, sql
from postledger.contacts.filters import All, Column, Comparison, Filter, Op
from postledger.contacts.states import ContactState


@dataclass(frozen=True, slots=True)
class Source:
    """A query and its parameters, to be run here or inside the statement that plans a mailout."""

    sql: Composed
    params: Mapping[str, object]


def active(audience: Filter) -> Filter:
    """Those of an audience that a live mailout goes to."""
    return All((audience, Comparison(Column.STATE, Op.IS, ContactState.ACTIVE.value)))


# contacts_contact_once lies in this order and has each address once, whatever its capitals, so
# nothing is sorted or compared here where the filter lets most contacts pass.
_WALK: LiteralString = """
SELECT contact.id AS contact_id, contact.address, lower(contact.address) COLLATE "C" AS place,
       contact.name, contact.from_name, contact.locale, contact.time_zone, contact.attributes,
       contact.ocd_ids
FROM contacts_contact AS contact
WHERE contact.workspace_id = %(workspace)s::bigint AND contact.deleted_at IS NULL
  AND lower(contact.address) COLLATE "C" > %(after)s::text AND {condition}
ORDER BY lower(contact.address) COLLATE "C"
LIMIT %(limit)s::bigint
"""


def walk(workspace_id: int, audience: Filter, *, after: str, limit: int) -> Source:
    """The next `limit` active contacts of an audience, by lower-case address in byte order.

    `after` is the place of the last one, and empty at first. A chunk that is walked again has the
    same contacts but for those who came, left or moved meanwhile.
    """
    return _source(_WALK, workspace_id, active(audience), {"after": after, "limit": limit})


_COUNT: LiteralString = """
SELECT count(*) FROM contacts_contact AS contact
WHERE contact.workspace_id = %(workspace)s::bigint AND contact.deleted_at IS NULL AND {condition}
"""


def count(workspace_id: int, audience: Filter) -> int:
    """How many contacts a filter means, in whatever state they are; `active` narrows it."""
    source = counting(workspace_id, audience)
    with transaction.atomic():
        # Compiling a statement of this kind takes longer than executing it.
        sql.changed("SET LOCAL jit = off", {})
        [(number,)] = sql.rows(source.sql, source.params)
    return int(number)


def counting(workspace_id: int, audience: Filter) -> Source:
    return _source(_COUNT, workspace_id, audience, {})


@dataclass(frozen=True, slots=True)
class Member:
    """One contact of an audience, as somebody who tries a filter sees it."""

    contact_id: int
    address: str
    name: str
    state: ContactState


# Any of them, in no order: looking for the first ones could mean looking at all.
_SAMPLE: LiteralString = """
SELECT contact.id, contact.address, contact.name, contact.state
FROM contacts_contact AS contact
WHERE contact.workspace_id = %(workspace)s::bigint AND contact.deleted_at IS NULL AND {condition}
LIMIT %(limit)s::bigint
"""


def sample(workspace_id: int, audience: Filter, *, size: int = 10) -> list[Member]:
    """Some contacts that a filter means, in whatever state they are."""
    source = _source(_SAMPLE, workspace_id, audience, {"limit": size})
    return [
        Member(contact_id, address, name, ContactState(state))
        for contact_id, address, name, state in sql.rows(source.sql, source.params)
    ]


def _source(
    statement: LiteralString, workspace_id: int, audience: Filter, params: Mapping[str, object]
) -> Source:
    """Lists that the workspace does not have are refused: a typing error is no empty audience."""
    known = lists.ids(workspace_id, filters.lists_of(audience))
    compiled = filter_sql.condition(audience, known)
    return Source(
        pg.SQL(statement).format(condition=compiled.sql),
        {"workspace": workspace_id, **params, **compiled.params},
    )
