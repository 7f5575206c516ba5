"""The contacts that a filter means: how many there are, and some of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import LiteralString

import psycopg
from django.db import OperationalError, transaction
from psycopg import sql as pg
from psycopg.sql import Composed

from postledger.contacts import filter_sql, filters, lists, sql
from postledger.contacts.filters import All, Column, Comparison, Filter, Op
from postledger.contacts.lists import Count
from postledger.contacts.states import ContactState


@dataclass(frozen=True, slots=True)
class Source:
    """A query and its parameters, to be run here or inside the statement that plans a mailout."""

    sql: Composed
    params: Mapping[str, object]


def active(audience: Filter) -> Filter:
    """Those of an audience that a live mailout goes to."""
    return All((audience, Comparison(Column.STATE, Op.IS, ContactState.ACTIVE.value)))


_COUNT: LiteralString = """
SELECT count(*) FROM contacts_contact AS contact
WHERE contact.workspace_id = %(workspace)s::bigint AND contact.deleted_at IS NULL AND {condition}
"""


def count(workspace_id: int, audience: Filter) -> int:
    """How many contacts a filter means, in whatever state they are; `active` narrows it."""
    found = counting(workspace_id, audience)
    with transaction.atomic():
        # Compiling a statement of this kind takes longer than executing it.
        sql.changed("SET LOCAL jit = off", {})
        [(number,)] = sql.rows(found.sql, found.params)
    return int(number)


PATIENCE = timedelta(seconds=5)


def count_or_estimate(
    workspace_id: int, audience: Filter, *, patience: timedelta = PATIENCE
) -> Count:
    """The same for somebody who waits: what cannot be counted in time is estimated."""
    try:
        with transaction.atomic():
            milliseconds = max(1, patience // timedelta(milliseconds=1))
            wait = "SELECT set_config('statement_timeout', %(most)s::text, true)"
            sql.rows(wait, {"most": milliseconds})
            return Count(count(workspace_id, audience), is_exact=True)
    except OperationalError as error:
        if not isinstance(error.__cause__, psycopg.errors.QueryCanceled):
            raise
    everyone = source(_EVERYONE, workspace_id, audience, {})
    return Count(int(sql.plan(everyone.sql, everyone.params)["Plan Rows"]), is_exact=False)


_EVERYONE: LiteralString = """
SELECT FROM contacts_contact AS contact
WHERE contact.workspace_id = %(workspace)s::bigint AND contact.deleted_at IS NULL AND {condition}
"""


def counting(workspace_id: int, audience: Filter) -> Source:
    return source(_COUNT, workspace_id, audience, {})


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
    found = source(_SAMPLE, workspace_id, audience, {"limit": size})
    return [
        Member(contact_id, address, name, ContactState(state))
        for contact_id, address, name, state in sql.rows(found.sql, found.params)
    ]


def source(
    statement: LiteralString, workspace_id: int, audience: Filter, params: Mapping[str, object]
) -> Source:
    """Lists that the workspace does not have are refused: a typing error is no empty audience."""
    known = lists.ids(workspace_id, filters.lists_of(audience))
    compiled = filter_sql.condition(audience, known)
    return Source(
        pg.SQL(statement).format(condition=compiled.sql),
        {"workspace": workspace_id, **params, **compiled.params},
    )
