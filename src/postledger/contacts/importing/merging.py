"""Makes contacts and subscriptions of a chunk's rows, in one transaction with the import's cursor.

Rows that are in the database by a commit are before the cursor, and no others: whenever a process
or a server dies, the next one goes on with the row after the last one that counts.
"""

from dataclasses import dataclass
from typing import LiteralString

import psycopg
from django.db import IntegrityError, connection, transaction
from psycopg import sql as pg

from postledger.contacts import locks, sql
from postledger.contacts.importing import reading, staging
from postledger.contacts.importing.columns import Columns
from postledger.contacts.importing.problems import Problem
from postledger.contacts.importing.refusals import ImportMovedError
from postledger.contacts.importing.rows import Sifted

_TRIES = 3
_MANY = 1_000


@dataclass(frozen=True, slots=True)
class Work:
    """What the chunks of one import have in common."""

    workspace_id: int
    import_id: int
    list_id: int | None
    columns: Columns
    source: str
    actor: str


@dataclass(frozen=True, slots=True)
class Span:
    """The rows of a chunk in the file: from where, to before where."""

    first_row: int
    first_byte: int
    next_row: int
    next_byte: int


def merge(work: Work, span: Span, sifted: Sifted) -> None:
    """Imports one chunk, or nothing of it."""
    for tries_left in reversed(range(_TRIES)):
        try:
            with transaction.atomic():
                _merge(work, span, sifted)
        except IntegrityError as error:
            # Somebody made a contact with the same external id meanwhile; now it can be seen.
            if not tries_left or not _is_about_external_id(error):
                raise
        else:
            return


def _is_about_external_id(error: IntegrityError) -> bool:
    cause = error.__cause__
    return (
        isinstance(cause, psycopg.Error)
        and cause.diag.constraint_name == "contacts_contact_external_once"
    )


def _merge(work: Work, span: Span, sifted: Sifted) -> None:
    locks.joining(work.workspace_id)
    _claim(work, span)
    staging.fill(sifted)
    duplicates, taken = staging.sort_out(
        work.workspace_id,
        work.import_id,
        work.columns,
        seen=staging.SEEN,
        staged=sifted.line_count,
    )
    created, updated = _contacts(work)
    _learn(span, sifted.line_count)
    subscribed, kept_back = _subscriptions(work)
    _note_problems(work.import_id, [*sifted.problems, *duplicates, *taken, *kept_back])
    refused = len(sifted.problems) + len(taken)
    staged = sifted.line_count - len(duplicates) - len(taken)
    counts = {
        "created": created,
        "updated": updated,
        "unchanged": staged - created - updated,
        "duplicate": len(duplicates),
        "refused": refused,
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


# An empty cell changes nothing. A new contact stands as its address does, which is
# states.state_under in SQL.
_CONTACTS: LiteralString = """
WITH salted AS MATERIALIZED (
    SELECT staged.*,
           contacts_fingerprint((SELECT salt FROM contacts_salt), address) AS address_hash
    FROM contacts_staged AS staged
), line AS (
    INSERT INTO contacts_contact AS c (
        workspace_id, address, external_id, name, from_name, locale, time_zone, attributes,
        ocd_ids, state
    )
    SELECT %(workspace)s, salted.address, nullif(external_id, ''), name, nullif(from_name, ''),
           nullif(locale, ''), nullif(time_zone, ''), attributes,
           CASE WHEN places = '' THEN '{}' ELSE string_to_array(places, ' ') END,
           CASE WHEN kept.reason = 'bounced' THEN 'bounced'
                WHEN kept.reason IN ('complained', 'unsubscribed') OR kept.has_left
                THEN 'unsubscribed' ELSE 'active' END
    FROM salted LEFT JOIN LATERAL (
        SELECT reason, has_left FROM contacts_suppression AS s
        WHERE s.workspace_id = %(workspace)s AND s.address_hash = salted.address_hash
          AND s.list_id IS NULL
        OFFSET 0
    ) AS kept ON true
    ORDER BY lower(salted.address) COLLATE "C"
    ON CONFLICT (workspace_id, lower(address) COLLATE "C") WHERE deleted_at IS NULL DO UPDATE SET
        name = coalesce(nullif(excluded.name, ''), c.name),
        from_name = coalesce(excluded.from_name, c.from_name),
        locale = coalesce(excluded.locale, c.locale),
        time_zone = coalesce(excluded.time_zone, c.time_zone),
        attributes = c.attributes || excluded.attributes,
        updated_at = statement_timestamp()
    WHERE excluded.name NOT IN ('', c.name)
       OR coalesce(excluded.from_name, c.from_name) IS DISTINCT FROM c.from_name
       OR coalesce(excluded.locale, c.locale) IS DISTINCT FROM c.locale
       OR coalesce(excluded.time_zone, c.time_zone) IS DISTINCT FROM c.time_zone
       OR c.attributes || excluded.attributes <> c.attributes
    RETURNING xmax = 0 AS is_new
)
SELECT count(*) FILTER (WHERE is_new), count(*) FILTER (WHERE NOT is_new) FROM line
"""


def _contacts(work: Work) -> tuple[int, int]:
    """Makes the contacts that are not there, and changes the others; says how many of each."""
    [(created, updated)] = sql.rows(_CONTACTS, {"workspace": work.workspace_id})
    return int(created), int(updated)


def _learn(span: Span, staged: int) -> None:
    """Lets the planner know how a table grew, the more seldom the larger it is.

    Of a workspace that was empty when statistics were last taken it expects nothing, and would
    look for an address by reading all its contacts.
    """
    chunk = (span.first_row - 2) // reading.CHUNK
    if staged >= _MANY and not chunk & (chunk - 1):
        sql.changed("ANALYZE contacts_contact, contacts_subscription", {})


# Whoever is kept back is passed over, and so is every subscription there is already. A statement
# of its own: it sees contacts that others made while the first one waited for them.
_SUBSCRIPTIONS = pg.SQL("""
WITH {stood}, line AS (
    INSERT INTO contacts_subscription (contact_id, list_id, state)
    SELECT id, %(list)s, 'active' FROM stood
    WHERE kept_back IS NULL AND subscription IS NULL AND id IS NOT NULL
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
SELECT row_number, address, kept_back FROM stood WHERE kept_back IS NOT NULL
""").format(stood=staging.STOOD)


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
