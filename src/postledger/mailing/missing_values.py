"""The contacts of an audience that lack a value which their letter requires."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connection
from psycopg import sql as pg
from psycopg.sql import Composable

from postledger.contacts.audience import AudienceQuery

LISTED = 100  # contacts of each variable


@dataclass(frozen=True, slots=True)
class LackingContact:
    id: int
    address: str


@dataclass(frozen=True, slots=True)
class MissingValue:
    """A variable, how many contacts lack it, and the first of them by address."""

    variable: str
    count: int
    contacts: Sequence[LackingContact]


# Every contact has a name, though it may be empty, and an address.
_ALWAYS_THERE = frozenset({"name", "email", "unsubscribe_url"})

_MISSING = pg.SQL("""
SELECT lacking.variable, count(*),
       (array_agg(recipient.contact_id ORDER BY recipient.address_key))[:%(listed)s],
       (array_agg(recipient.address ORDER BY recipient.address_key))[:%(listed)s]
FROM ({people}) AS recipient
CROSS JOIN LATERAL (VALUES {values}) AS lacking (variable, value)
WHERE recipient.kept_back IS NULL AND coalesce(lacking.value, 'null') = 'null'
  AND recipient.locale <> ALL(%(unserved)s::text[])
GROUP BY lacking.variable
ORDER BY count(*) DESC, lacking.variable
""")


def list_missing(
    people: AudienceQuery, required: Sequence[str], *, unserved_locales: Sequence[str]
) -> list[MissingValue]:
    """The variables that contacts lack who would get a letter, the most frequent first."""
    names = [name for name in required if name not in _ALWAYS_THERE]
    if not names:
        return []
    values = pg.SQL(", ").join(map(_value_sql, names))
    statement = _MISSING.format(people=people.sql, values=values)
    params: dict[str, Any] = {**people.params, "listed": LISTED, "unserved": list(unserved_locales)}
    with connection.cursor() as cursor:
        cursor.execute(statement.as_string(), params)
        rows = cursor.fetchall()
    return [
        MissingValue(variable, count, list(map(LackingContact, contact_ids, addresses)))
        for variable, count, contact_ids, addresses in rows
    ]


def _value_sql(name: str) -> Composable:
    """A variable and its value, as planning reads it."""
    literal = pg.Literal(name)
    if name == "from_name":
        return pg.SQL("({}::text, to_jsonb(recipient.from_name))").format(literal)
    return pg.SQL("({name}::text, recipient.attributes -> {name})").format(name=literal)
