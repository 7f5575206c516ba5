"""Writes a workspace's contacts as a CSV file that an import can read back."""

import json
from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import LiteralString, TextIO

from postledger.accounts import trail
from postledger.contacts import audience as audiences
from postledger.contacts import sql
from postledger.contacts.csv_columns import (
    ATTRIBUTE,
    FOR_READERS,
    Field,
    csv_line,
    is_plain_name,
)
from postledger.contacts.filters.expressions import EVERYBODY, Filter, OnList
from postledger.contacts.states import STOPS_EVERYTHING
from postledger.lib.errors import RefusedError
from postledger.lib.sentences import say

COLUMNS = (
    Field.EMAIL,
    Field.NAME,
    Field.FROM_NAME,
    Field.LOCALE,
    Field.TIME_ZONE,
    Field.OCD_IDS,
    Field.EXTERNAL_ID,
)

# Every line has a cell for each attribute that any of the contacts has.
MOST_ATTRIBUTES = 1_000
_AT_ONCE = 2_000
_LONG = timedelta(hours=1)  # for the command: an operator can end it


class ExportTooWideError(RefusedError):
    code = "export_too_wide"


_KEYS: LiteralString = """
SELECT DISTINCT jsonb_object_keys(contact.attributes) AS key FROM contacts_contact AS contact
WHERE contact.workspace_id = %(workspace)s::bigint AND contact.deleted_at IS NULL AND {condition}
LIMIT %(limit)s::bigint
"""
# Page by page: a slow client would keep a transaction open, and dead rows with it.
_CONTACTS: LiteralString = """
SELECT contact.id, contact.address, contact.name, coalesce(contact.from_name, ''),
       coalesce(contact.locale, ''), coalesce(contact.time_zone, ''),
       array_to_string(contact.ocd_ids, ' '), coalesce(contact.external_id, ''),
       CASE WHEN contact.state <> 'active' THEN contact.state
            WHEN EXISTS (
                SELECT FROM contacts_suppression AS s
                WHERE s.workspace_id = contact.workspace_id AND s.list_id IS NULL
                  AND s.address_hash
                      = (SELECT contacts_fingerprint(%(hash_key)s::bytea, contact.address))
                  AND s.reason = ANY(%(stops)s::text[])
            ) THEN 'suppressed'
            WHEN contact.is_unconfirmed THEN 'unconfirmed'
            ELSE 'active' END,
       coalesce((
           SELECT string_agg(list.key, ' ' ORDER BY list.key)
           FROM contacts_subscription AS s JOIN contacts_list AS list ON list.id = s.list_id
           WHERE s.contact_id = contact.id AND s.state = 'active' AND list.kind = 'list'
       ), ''),
       coalesce((
           SELECT string_agg(
               list.key || ' since '
                   || to_char(agreed.at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')
                   || ' (' || agreed.source || ')',
               '; ' ORDER BY list.key
           )
           FROM contacts_subscription AS s JOIN contacts_list AS list ON list.id = s.list_id
           CROSS JOIN LATERAL (
               SELECT event.at, event.source FROM contacts_consentevent AS event
               WHERE event.contact_id = s.contact_id AND event.list_id = s.list_id
                 AND event.after = 'active'
               ORDER BY event.id DESC LIMIT 1
           ) AS agreed
           WHERE s.contact_id = contact.id AND s.state = 'active' AND list.kind = 'list'
       ), ''),
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
    audience = EVERYBODY if list_key is None else list_recipients(list_key)
    lines = csv_lines(workspace_id, audience, is_raw=is_raw, patience=_LONG)
    file.write(next(lines))  # the header
    return sum(1 for line in lines if file.write(line))


def note_export(
    workspace_id: int, *, actor: str, list_key: str = "", **narrowed: trail.Fact
) -> None:
    """Notes that contacts leave: who takes them and by which search, but no address."""
    data = {"list": list_key, **narrowed}
    trail.note(workspace_id, actor=actor, action="contacts.exported", subject="contacts", data=data)


def list_recipients(list_key: str) -> Filter:
    """The contacts who get a list's mail."""
    return audiences.only_active(OnList(list_key))


def csv_lines(
    workspace_id: int,
    audience: Filter,
    *,
    is_raw: bool = False,
    patience: timedelta = audiences.PATIENCE,
) -> Iterator[str]:
    """The lines of the file, read from the database page by page; an unknown list is refused first.

    A cell that a spreadsheet would take for a formula gets an apostrophe, unless `is_raw`.
    """
    query = audiences.compile_query(_KEYS, workspace_id, audience, {"limit": MOST_ATTRIBUTES + 1})
    with audiences.limited_time(patience):
        keys = sorted(key for (key,) in sql.rows(query.sql, query.params))
    if len(keys) > MOST_ATTRIBUTES:
        raise ExportTooWideError(
            say(
                "These contacts have more than %(most)s different attributes, and"
                " each is a column of the file. Export fewer contacts at once, by a list or a"
                " filter, or remove attributes that nobody needs.",
                most=MOST_ATTRIBUTES,
            )
        )
    return _lines(workspace_id, audience, keys, is_raw=is_raw)


def _lines(workspace_id: int, audience: Filter, keys: list[str], *, is_raw: bool) -> Iterator[str]:
    names = [key if is_plain_name(key) else ATTRIBUTE + key for key in keys]
    yield csv_line([*COLUMNS, *names, *FOR_READERS], is_raw=is_raw)
    for *cells, attributes in _rows(workspace_id, audience):
        values = json.loads(attributes)
        texts = (_text(values, key) for key in keys)
        own, for_readers = cells[: len(COLUMNS)], cells[len(COLUMNS) :]
        yield csv_line([*own, *texts, *for_readers], is_raw=is_raw)


def _rows(workspace_id: int, audience: Filter) -> Iterator[list[str]]:
    after, stops = 0, [reason.value for reason in STOPS_EVERYTHING]
    while True:
        page = {"after": after, "limit": _AT_ONCE, "stops": stops}
        query = audiences.compile_query(_CONTACTS, workspace_id, audience, page)
        rows = sql.rows(query.sql, query.params)
        yield from (cells for _, *cells in rows)
        if len(rows) < _AT_ONCE:
            return
        after = rows[-1][0]


def _text(values: Mapping[str, object], key: str) -> str:
    value = values.get(key, "")
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
