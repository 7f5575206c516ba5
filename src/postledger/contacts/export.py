"""Writes a workspace's contacts as a CSV file that an import takes back, however many they are."""

import csv
import io
import json
from collections.abc import Iterator, Mapping
from typing import LiteralString, TextIO

from postledger.contacts import audience as audiences
from postledger.contacts import sql
from postledger.contacts.filters import EVERYBODY, Filter, OnList
from postledger.contacts.importing import columns
from postledger.contacts.importing.columns import ATTRIBUTE, Field
from postledger.contacts.importing.formulas import safe

COLUMNS = (
    Field.EMAIL,
    Field.NAME,
    Field.FROM_NAME,
    Field.LOCALE,
    Field.TIME_ZONE,
    Field.OCD_IDS,
    Field.EXTERNAL_ID,
)

_AT_ONCE = 2_000

_KEYS: LiteralString = """
SELECT DISTINCT jsonb_object_keys(contact.attributes) AS key FROM contacts_contact AS contact
WHERE contact.workspace_id = %(workspace)s::bigint AND contact.deleted_at IS NULL AND {condition}
"""
# Page by page: a slow reader would keep a transaction open, and dead rows with it.
_CONTACTS: LiteralString = """
SELECT contact.id, contact.address, contact.name, coalesce(contact.from_name, ''),
       coalesce(contact.locale, ''), coalesce(contact.time_zone, ''),
       array_to_string(contact.ocd_ids, ' '), coalesce(contact.external_id, ''),
       contact.attributes::text
FROM contacts_contact AS contact
WHERE contact.workspace_id = %(workspace)s::bigint AND contact.deleted_at IS NULL
  AND contact.id > %(after)s::bigint AND {condition}
ORDER BY contact.id LIMIT %(limit)s::bigint
"""


def write(
    workspace_id: int, file: TextIO, *, list_key: str | None = None, is_raw: bool = False
) -> int:
    """Writes all contacts, or those who get a list's mail; returns how many."""
    audience = EVERYBODY if list_key is None else readers(list_key)
    written = lines(workspace_id, audience, is_raw=is_raw)
    file.write(next(written))  # the header
    return sum(1 for line in written if file.write(line))


def readers(list_key: str) -> Filter:
    """Those who get a list's mail."""
    return audiences.active(OnList(list_key))


def lines(workspace_id: int, audience: Filter, *, is_raw: bool = False) -> Iterator[str]:
    """The lines of the file, each read from the database when it is asked for.

    What a spreadsheet would take for a formula begins with an apostrophe, unless it is to be raw.
    A list that is not there is refused at once.
    """
    source = audiences.source(_KEYS, workspace_id, audience, {})
    keys = sorted(key for (key,) in sql.rows(source.sql, source.params))
    return _lines(workspace_id, audience, keys, is_raw=is_raw)


def _lines(workspace_id: int, audience: Filter, keys: list[str], *, is_raw: bool) -> Iterator[str]:
    names = [ATTRIBUTE + key if _is_taken(key) else key for key in keys]
    yield _line([*COLUMNS, *names], is_raw=is_raw)
    for *known, attributes in _rows(workspace_id, audience):
        told = json.loads(attributes)
        yield _line([*known, *(_text(told, key) for key in keys)], is_raw=is_raw)


def _rows(workspace_id: int, audience: Filter) -> Iterator[list[str]]:
    after = 0
    while True:
        place = {"after": after, "limit": _AT_ONCE}
        source = audiences.source(_CONTACTS, workspace_id, audience, place)
        found = sql.rows(source.sql, source.params)
        yield from (list(told) for _, *told in found)
        if len(found) < _AT_ONCE:
            return
        after = found[-1][0]


def _is_taken(key: str) -> bool:
    """Whether an import would take a column of this name for something else than an attribute."""
    return columns.usual(key) != ATTRIBUTE + key


def _text(told: Mapping[str, object], key: str) -> str:
    value = told.get(key, "")
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _line(cells: list[str], *, is_raw: bool) -> str:
    line = io.StringIO()
    csv.writer(line).writerow(cells if is_raw else [safe(cell) for cell in cells])
    return line.getvalue()
