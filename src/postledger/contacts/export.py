"""Writes a workspace's contacts as a CSV file that an import takes back, however many they are."""

import csv
import json
from collections.abc import Iterator, Mapping
from typing import LiteralString, TextIO

from django.db import connection, transaction

from postledger.contacts import lists, sql
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

_OF_LIST: LiteralString = """
  AND contact.state = 'active' AND EXISTS (
      SELECT FROM contacts_subscription AS s
      WHERE s.contact_id = contact.id AND s.list_id = %(list)s AND s.state = 'active'
  )
"""
_KEYS: LiteralString = """
SELECT DISTINCT jsonb_object_keys(attributes) AS key FROM contacts_contact AS contact
WHERE workspace_id = %(workspace)s AND deleted_at IS NULL
"""
_CONTACTS: LiteralString = """
SELECT address, name, coalesce(from_name, ''), coalesce(locale, ''), coalesce(time_zone, ''),
       array_to_string(ocd_ids, ' '), coalesce(external_id, ''), attributes::text
FROM contacts_contact AS contact
WHERE workspace_id = %(workspace)s AND deleted_at IS NULL
"""


def write(
    workspace_id: int, file: TextIO, *, list_key: str | None = None, is_raw: bool = False
) -> int:
    """Writes all contacts, or those who get a list's mail; returns how many.

    What a spreadsheet would take for a formula begins with an apostrophe, unless it is to be raw.
    """
    list_id = None if list_key is None else lists.ids(workspace_id, [list_key])[list_key]
    params: dict[str, int | None] = {"workspace": workspace_id, "list": list_id}
    narrowed = "" if list_id is None else _OF_LIST
    writer = csv.writer(file)
    with transaction.atomic():
        keys = sorted(key for (key,) in sql.rows(_KEYS + narrowed, params))
        names = [ATTRIBUTE + key if _is_taken(key) else key for key in keys]
        writer.writerow(_cells([*COLUMNS, *names], is_raw=is_raw))
        count = 0
        for *known, attributes in _rows(_CONTACTS + narrowed, params):
            told = json.loads(attributes)
            cells = [*known, *(_text(told, key) for key in keys)]
            writer.writerow(_cells(cells, is_raw=is_raw))
            count += 1
    return count


def _is_taken(key: str) -> bool:
    """Whether an import would take a column of this name for something else than an attribute."""
    return columns.usual(key) != ATTRIBUTE + key


def _rows(statement: LiteralString, params: Mapping[str, int | None]) -> Iterator[sql.Row]:
    """Through a cursor of the server: neither side holds more than some rows."""
    with connection.chunked_cursor() as cursor:
        cursor.execute(statement + " ORDER BY contact.id", params)
        while rows := cursor.fetchmany(_AT_ONCE):
            yield from rows


def _text(told: Mapping[str, object], key: str) -> str:
    value = told.get(key, "")
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _cells(cells: list[str], *, is_raw: bool) -> list[str]:
    return cells if is_raw else [safe(cell) for cell in cells]
