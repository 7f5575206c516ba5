"""Applies a page of subscribers to the contacts, in one transaction with the sync's cursor."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import LiteralString

from django.db import transaction
from psycopg import sql as pg

from postledger.contacts import consent, sql, suppressions
from postledger.contacts.actions import apply_feedback
from postledger.contacts.consent import Origin, StateReport
from postledger.observability import masking
from postledger.supabase import errors, removals
from postledger.supabase.page import ClassifiedPage, RowIssue
from postledger.supabase.rows import SubscriberRow

ORIGIN = Origin("supabase", "supabase sync")

_LONGEST_SHOWN = 100


def apply_page(workspace_id: int, page: ClassifiedPage, *, now: datetime) -> None:
    """Applies a page and moves the cursor behind it, or does neither."""
    reported = [*page.new, *(row for _, row in page.to_restore), *page.to_end]
    with transaction.atomic():
        if reported or page.to_rename or page.to_confirm:
            # Not shared first and taken later: two transactions that do so wait for each other.
            sql.take_consent_lock(workspace_id)
        created = _create(workspace_id, page.new)
        restored = removals.restore_contacts(
            workspace_id, [contact_id for contact_id, _ in page.to_restore], origin=ORIGIN, now=now
        )
        renamed = _update_from_names(workspace_id, page.to_rename)
        _confirm(workspace_id, page.to_confirm)
        reports = [_report(row, now) for row in reported]
        ended = (
            apply_feedback.apply_reports(workspace_id, reports, origin=ORIGIN) if reports else []
        )
        removals.mark_seen(workspace_id, page.addresses)
        record_issues(workspace_id, page.issues, now=now)
        counts = {
            "read": page.row_count,
            "created": created,
            "renamed": renamed,
            "ended": len(ended),
            "written": page.written_count,
            "returned": restored,
        }
        _advance(workspace_id, page, counts)


def _report(row: SubscriberRow, now: datetime) -> StateReport:
    """A time in the future counts as now, so that later reports of Supabase are not older."""
    report = consent.import_report(row.address, state=row.state, at=min(row.at or now, now))
    return replace(report, bounce_type=row.bounce_type, bounce_subtype=row.bounce_subtype)


# The first row of each address.
_FIRST_ROWS = pg.SQL("""
    SELECT DISTINCT ON (lower(address) COLLATE "C")
           lower(address) COLLATE "C" AS key, address, from_name
    FROM unnest(%(addresses)s::text[], %(names)s::text[])
         WITH ORDINALITY AS given (address, from_name, number)
    ORDER BY lower(address) COLLATE "C", number
""")
# No list is joined: a row in a table does not say what its owner agreed to.
_CREATE = pg.SQL("""
WITH given AS MATERIALIZED (
    SELECT key, address, from_name,
           contacts_fingerprint(%(hash_key)s::bytea, address) AS hash
    FROM ({first_rows}) AS first_row
), created AS (
    INSERT INTO contacts_contact (workspace_id, address, from_name, state)
    SELECT %(workspace)s, given.address, given.from_name, {implied_state}
    FROM given LEFT JOIN contacts_suppression AS suppression
      ON suppression.workspace_id = %(workspace)s AND suppression.address_hash = given.hash
     AND suppression.list_id IS NULL
    ORDER BY given.key
    ON CONFLICT (workspace_id, lower(address) COLLATE "C") WHERE deleted_at IS NULL DO NOTHING
    RETURNING id, address, state
), event AS (
    INSERT INTO contacts_consentevent (
        workspace_id, contact_id, action, after, source, actor
    )
    SELECT %(workspace)s, id, 'imported', state, %(source)s, %(actor)s FROM created
), subscriber AS (
    INSERT INTO supabase_subscriber (contact_id, workspace_id, row_hash)
    SELECT created.id, %(workspace)s, given.hash
    FROM created JOIN given
      ON given.key = lower(created.address) COLLATE "C"
    ON CONFLICT (workspace_id, row_hash) DO UPDATE SET
        contact_id = excluded.contact_id, gone_at = NULL
)
SELECT count(*) FROM created
""").format(first_rows=_FIRST_ROWS, implied_state=suppressions.IMPLIED_STATE)


def _create(workspace_id: int, rows: Sequence[SubscriberRow]) -> int:
    if not rows:
        return 0
    origin = {"source": ORIGIN.source, "actor": ORIGIN.actor}
    [(created,)] = sql.rows(_CREATE, {**_name_params(workspace_id, rows), **origin})
    return int(created)


_UPDATE_FROM_NAMES = pg.SQL("""
UPDATE contacts_contact AS c
SET from_name = given.from_name, updated_at = statement_timestamp()
FROM ({first_rows}) AS given
WHERE c.workspace_id = %(workspace)s AND lower(c.address) COLLATE "C" = given.key
  AND c.deleted_at IS NULL AND c.from_name IS DISTINCT FROM given.from_name
""").format(first_rows=_FIRST_ROWS)


def _update_from_names(workspace_id: int, rows: Sequence[SubscriberRow]) -> int:
    return sql.execute(_UPDATE_FROM_NAMES, _name_params(workspace_id, rows)) if rows else 0


# An active row confirms, whichever came first, the row or the form.
_CONFIRM: LiteralString = """
UPDATE contacts_contact SET is_unconfirmed = false, updated_at = statement_timestamp()
WHERE workspace_id = %(workspace)s AND deleted_at IS NULL AND is_unconfirmed
  AND lower(address) COLLATE "C" = ANY (ARRAY(
      SELECT lower(address) COLLATE "C" FROM unnest(%(addresses)s::text[]) AS given (address)
  ))
"""


def _confirm(workspace_id: int, rows: Sequence[SubscriberRow]) -> None:
    if rows:
        addresses = [row.address for row in rows]
        sql.execute(_CONFIRM, {"workspace": workspace_id, "addresses": addresses})


def _name_params(workspace_id: int, rows: Sequence[SubscriberRow]) -> dict[str, object]:
    return {
        "workspace": workspace_id,
        "addresses": [row.address for row in rows],
        "names": [row.from_name if row.is_name_usable else None for row in rows],
    }


_RECORD: LiteralString = """
INSERT INTO supabase_syncproblem AS p (
    workspace_id, row_hash, failure, shown, problem, since, seen_at
)
SELECT DISTINCT ON (hash, failure) %(workspace)s, hash, failure, shown, problem, %(now)s, %(now)s
FROM (
    SELECT contacts_fingerprint(%(hash_key)s::bytea, email) AS hash, failure, shown, problem
    FROM unnest(%(emails)s::text[], %(failures)s::text[], %(shown)s::text[], %(problems)s::text[])
         AS given (email, failure, shown, problem)
) AS given
ON CONFLICT (workspace_id, row_hash, failure) DO UPDATE SET
    shown = excluded.shown, problem = excluded.problem, seen_at = excluded.seen_at,
    since = CASE WHEN p.problem = excluded.problem THEN p.since ELSE excluded.since END
"""


def record_issues(workspace_id: int, issues: Sequence[RowIssue], *, now: datetime) -> None:
    if not issues:
        return
    params = {
        "workspace": workspace_id,
        "now": now,
        "emails": [issue.email for issue in issues],
        "failures": [issue.failure.value for issue in issues],
        "shown": [masking.mask_text(issue.email)[:_LONGEST_SHOWN] for issue in issues],
        "problems": [issue.problem for issue in issues],
    }
    sql.execute(_RECORD, params)


# Of two processes with the same page, one finds the cursor moved, and applies nothing.
_ADVANCE: LiteralString = """
UPDATE supabase_sync SET
    cursor = %(last)s, trouble = NULL, troubled_at = NULL,
    read_count = read_count + %(read)s, created_count = created_count + %(created)s,
    renamed_count = renamed_count + %(renamed)s, ended_count = ended_count + %(ended)s,
    written_count = written_count + %(written)s, returned_count = returned_count + %(returned)s
WHERE workspace_id = %(workspace)s AND cursor = %(after)s
"""


def _advance(workspace_id: int, page: ClassifiedPage, counts: dict[str, int]) -> None:
    cursors = {"workspace": workspace_id, "after": page.after, "last": page.last}
    if not sql.execute(_ADVANCE, {**cursors, **counts}):
        raise errors.overtaken()
