"""Makes contacts and subscriptions of a chunk's rows, in one transaction with the import's cursor.

Rows that are in the database by a commit are before the cursor, and no others: whenever a process
or a server dies, the next one goes on with the row after the last one that counts.
"""

from dataclasses import dataclass, field
from typing import LiteralString

import psycopg
from django.db import IntegrityError, connection, transaction
from psycopg import sql as pg

from postledger.contacts import locks, sql
from postledger.contacts.importing import staging
from postledger.contacts.importing.columns import Columns
from postledger.contacts.importing.problems import Problem
from postledger.contacts.importing.refusals import ImportMovedError
from postledger.contacts.importing.rows import Line, Sifted
from postledger.contacts.importing.seen import Seen

_TRIES = 5
_MANY = 1_000
_TAKEN_MEANWHILE = {"contacts_contact_external_once", "contacts_contact_pkey"}


@dataclass(frozen=True, slots=True)
class Work:
    """What the chunks of one import have in common."""

    workspace_id: int
    import_id: int
    list_id: int | None
    columns: Columns
    source: str
    actor: str
    seen: Seen = field(default_factory=Seen)


@dataclass(frozen=True, slots=True)
class Span:
    """The rows of a chunk in the file: from where, to before where."""

    first_row: int
    first_byte: int
    next_row: int
    next_byte: int


class _OvertakenError(Exception):
    """Somebody made, deleted or renamed a contact after it was looked for."""


def merge(work: Work, span: Span, sifted: Sifted) -> None:
    """Imports one chunk, or nothing of it."""
    if work.seen.is_empty:
        work.seen.recall(work.import_id)
    # Apart from the tries: it depends on the file alone.
    lines, duplicates = staging.repeated(work.seen, work.columns, sifted.lines)
    for tries_left in reversed(range(_TRIES)):
        try:
            with transaction.atomic():
                _merge(work, span, sifted, lines=lines, duplicates=duplicates)
        except (IntegrityError, _OvertakenError) as error:
            # What somebody did meanwhile is committed, and can be seen now.
            if not tries_left or not _is_overtaken(error):
                raise
        else:
            break
    _learn(span)


# Nothing is waited for: whoever builds an index or cleans a table up may take hours.
_ANALYZE: LiteralString = """
ANALYZE (SKIP_LOCKED) contacts_contact (workspace_id), contacts_subscription (list_id)
"""


def _learn(span: Span) -> None:
    """Lets the planner know how a table grew, each time the rows so far are twice as many.

    Of a workspace that was empty when statistics were last taken it expects nothing, and would
    look for an address by reading all its contacts. After the transaction: it takes a while, and
    nobody who leaves is to wait for that.
    """
    before, after = ((row - 2) // _MANY for row in (span.first_row, span.next_row))
    if after.bit_length() > before.bit_length():
        sql.changed(_ANALYZE, {})


def _is_overtaken(error: Exception) -> bool:
    cause = error.__cause__
    return isinstance(error, _OvertakenError) or (
        isinstance(cause, psycopg.Error) and cause.diag.constraint_name in _TAKEN_MEANWHILE
    )


def _merge(
    work: Work, span: Span, sifted: Sifted, *, lines: list[Line], duplicates: list[Problem]
) -> None:
    locks.joining(work.workspace_id)
    _claim(work, span)
    work.seen.keep(work.import_id, first_row=span.first_row)
    staging.fill(lines)
    taken = staging.taken_ids(work.workspace_id, work.columns)
    forgotten = _meet(work)
    created, updated = _contacts(work)
    subscribed, kept_back = _subscriptions(work)
    refused = [*sifted.problems, *taken, *forgotten]
    _note_problems(work.import_id, [*refused, *duplicates, *kept_back])
    counts = {
        "created": created,
        "updated": updated,
        "unchanged": len(lines) - len(taken) - len(forgotten) - created - updated,
        "duplicate": len(duplicates),
        "refused": len(refused),
        "blank": sifted.blank_count,
        "subscribed": subscribed,
        "kept_back": len(kept_back),
    }
    _advance(work, span, counts)


# The row is locked first, so that of two processes with the same import one finds it moved.
_CLAIM: LiteralString = """
SELECT FROM contacts_import
WHERE id = %(import)s AND workspace_id = %(workspace)s AND state = 'running'
  AND cursor_byte = %(byte)s AND cursor_row = %(row)s
FOR NO KEY UPDATE
"""


def _claim(work: Work, span: Span) -> None:
    params = {"import": work.import_id, "workspace": work.workspace_id}
    if not sql.rows(_CLAIM, {**params, "byte": span.first_byte, "row": span.first_row}):
        raise ImportMovedError(
            f"Another process works on import {work.import_id} as well, and was faster."
            " Let it finish; nothing was imported twice."
        )


# Everything is looked up once, and a new contact is given its id here already: its subscription
# and the proof of it then need no look-up of their own.
_MET: LiteralString = """
CREATE TEMPORARY TABLE IF NOT EXISTS contacts_met (
    row_number bigint, address text, external_id text, name text, from_name text, locale text,
    time_zone text, attributes jsonb, places text, id bigint, is_new boolean, differs boolean,
    is_forgotten boolean, state text, subscription text, kept_back text, is_confirmed boolean
) ON COMMIT DELETE ROWS;
TRUNCATE contacts_met
"""
# A new contact stands as its address does, which is states.state_under in SQL.
_MEET = pg.SQL("""
WITH {stood}
INSERT INTO contacts_met
SELECT row_number, address, nullif(external_id, ''), name, nullif(from_name, ''),
       nullif(locale, ''), nullif(time_zone, ''), attributes, places,
       coalesce(contact_id, nextval('contacts_contact_id_seq')), contact_id IS NULL, differs,
       is_forgotten,
       CASE WHEN NOT is_general THEN 'active'
            WHEN reason = 'bounced' THEN 'bounced'
            WHEN reason IN ('complained', 'unsubscribed') OR has_left
            THEN 'unsubscribed' ELSE 'active' END,
       subscription, kept_back,
       is_unconfirmed IS TRUE AND %(list)s::bigint IS NOT NULL AND kept_back IS NULL
           AND subscription IS NULL
FROM stood
""").format(stood=staging.STOOD)
_FORGET: LiteralString = "DELETE FROM contacts_met WHERE is_forgotten RETURNING row_number"


def _meet(work: Work) -> list[Problem]:
    """Looks everything up; takes the rows away whose owner asked to be forgotten."""
    sql.changed(_MET, {})
    sql.changed(_MEET, {"workspace": work.workspace_id, "list": work.list_id})
    return staging.forgotten(work.columns, sql.rows(_FORGET, {}))


# An empty cell changes nothing. Rows are locked in the order of their addresses, by every import;
# so whoever is about to be subscribed is confirmed here, which is no change that the file made.
_CONTACTS: LiteralString = """
WITH line AS (
    INSERT INTO contacts_contact AS c (
        id, workspace_id, address, external_id, name, from_name, locale, time_zone, attributes,
        ocd_ids, state, is_unconfirmed
    )
    SELECT id, %(workspace)s, address, external_id, name, from_name, locale, time_zone, attributes,
           CASE WHEN places = '' THEN '{}' ELSE string_to_array(places, ' ') END, state,
           NOT is_new AND NOT is_confirmed
    FROM contacts_met WHERE is_new OR differs OR is_confirmed
    ORDER BY lower(address) COLLATE "C"
    ON CONFLICT (workspace_id, lower(address) COLLATE "C") WHERE deleted_at IS NULL DO UPDATE SET
        name = coalesce(nullif(excluded.name, ''), c.name),
        from_name = coalesce(excluded.from_name, c.from_name),
        locale = coalesce(excluded.locale, c.locale),
        time_zone = coalesce(excluded.time_zone, c.time_zone),
        attributes = c.attributes || excluded.attributes,
        ocd_ids = CASE WHEN excluded.ocd_ids = '{}' THEN c.ocd_ids ELSE excluded.ocd_ids END,
        is_unconfirmed = c.is_unconfirmed AND excluded.is_unconfirmed,
        updated_at = statement_timestamp()
    RETURNING c.id, xmax = 0 AS is_new
)
SELECT count(*) FILTER (WHERE is_new),
       count(*) FILTER (WHERE NOT is_new)
           - (SELECT count(*) FROM contacts_met WHERE is_confirmed AND NOT differs),
       (SELECT count(*) FROM contacts_met WHERE is_new)
FROM line
"""


def _contacts(work: Work) -> tuple[int, int]:
    """Makes the contacts that are not there, and changes the others; says how many of each."""
    [(created, updated, expected)] = sql.rows(_CONTACTS, {"workspace": work.workspace_id})
    if created != expected:
        raise _OvertakenError
    return int(created), int(updated)


# Whoever is kept back is passed over, and so is every subscription there is already.
_SUBSCRIPTIONS: LiteralString = """
WITH line AS (
    INSERT INTO contacts_subscription (contact_id, list_id, state)
    SELECT id, %(list)s, 'active' FROM contacts_met
    WHERE kept_back IS NULL AND subscription IS NULL
    ORDER BY id
    ON CONFLICT (contact_id, list_id) DO NOTHING
    RETURNING contact_id
), event AS (
    INSERT INTO contacts_consentevent (
        workspace_id, contact_id, list_id, action, after, source, actor
    )
    SELECT %(workspace)s, contact_id, %(list)s, 'imported', 'active', %(source)s, %(actor)s
    FROM line
)
SELECT NULL::bigint, NULL::text, count(*)::text FROM line
UNION ALL
SELECT row_number, address, kept_back FROM contacts_met WHERE kept_back IS NOT NULL
"""


def _subscriptions(work: Work) -> tuple[int, list[Problem]]:
    if work.list_id is None:
        return 0, []
    params = {
        "workspace": work.workspace_id,
        "list": work.list_id,
        "source": work.source,
        "actor": work.actor,
    }
    found = sql.rows(_SUBSCRIPTIONS, params)
    [subscribed] = [int(word) for row, _, word in found if row is None]
    kept_back = [told for told in found if told[0] is not None]
    return subscribed, staging.kept_back(work.columns, kept_back)


_PROBLEMS: LiteralString = (
    "COPY contacts_importproblem"
    " (of_import_id, row_number, column_name, value, problem, remedy) FROM STDIN"
)


def _note_problems(import_id: int, problems: list[Problem]) -> None:
    if not problems:
        return
    with connection.cursor() as cursor, cursor.copy(_PROBLEMS) as copy:
        for one in problems:
            copy.write_row((import_id, one.row, one.column, one.value, one.problem, one.remedy))


_ADVANCE: LiteralString = """
UPDATE contacts_import SET
    cursor_byte = %(next_byte)s, cursor_row = %(next_row)s, changed_at = statement_timestamp(),
    created_count = created_count + %(created)s, updated_count = updated_count + %(updated)s,
    unchanged_count = unchanged_count + %(unchanged)s,
    duplicate_count = duplicate_count + %(duplicate)s,
    refused_count = refused_count + %(refused)s, blank_count = blank_count + %(blank)s,
    subscribed_count = subscribed_count + %(subscribed)s,
    kept_back_count = kept_back_count + %(kept_back)s
WHERE id = %(import)s
"""


def _advance(work: Work, span: Span, counts: dict[str, int]) -> None:
    places = {"next_byte": span.next_byte, "next_row": span.next_row, "import": work.import_id}
    sql.changed(_ADVANCE, {**places, **counts})
