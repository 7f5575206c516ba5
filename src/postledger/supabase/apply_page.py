"""Applies a page of subscribers to the contacts, in one transaction with the sync's cursor."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import LiteralString

from django.db import transaction
from psycopg import sql as pg

from postledger.contacts import consent, sql, suppressions
from postledger.contacts.actions import apply_feedback
from postledger.contacts.consent import Origin, StateReport
from postledger.observability import masking
from postledger.supabase import errors, removals
from postledger.supabase.models import Way
from postledger.supabase.rows import SubscriberRow

ORIGIN = Origin("supabase", "supabase sync")

_LONGEST_SHOWN = 100


@dataclass(frozen=True, slots=True)
class RowIssue:
    email: str
    way: Way
    problem: str


@dataclass(slots=True)
class ClassifiedPage:
    """What must change here for the rows of one page."""

    after: str  # the cursor of the page
    last: str
    read: int = 0
    seen: list[str] = field(default_factory=list)  # the addresses of all rows that have one
    new: list[SubscriberRow] = field(default_factory=list)
    returned: list[tuple[int, SubscriberRow]] = field(default_factory=list)  # with the contact
    renamed: list[SubscriberRow] = field(default_factory=list)
    confirmed: list[SubscriberRow] = field(default_factory=list)  # known by a form alone, until now
    ended: list[SubscriberRow] = field(default_factory=list)
    written: int = 0
    issues: list[RowIssue] = field(default_factory=list)


def apply_page(workspace_id: int, page: ClassifiedPage, *, now: datetime) -> None:
    """Applies a page and moves the cursor behind it, or does neither."""
    reported = [*page.new, *(row for _, row in page.returned), *page.ended]
    with transaction.atomic():
        if reported or page.renamed or page.confirmed:
            # The stronger of both locks at once: two that share it would wait for each other.
            sql.take_consent_lock(workspace_id)
        created = _create(workspace_id, page.new)
        returned = removals.restore_contacts(
            workspace_id, [contact_id for contact_id, _ in page.returned], origin=ORIGIN, now=now
        )
        renamed = _rename(workspace_id, page.renamed)
        _confirm(workspace_id, page.confirmed)
        reports = [_report(row, now) for row in reported]
        ended = (
            apply_feedback.apply_reports(workspace_id, reports, origin=ORIGIN) if reports else []
        )
        removals.mark_seen(workspace_id, page.seen)
        record_issues(workspace_id, page.issues, now=now)
        counts = {
            "read": page.read,
            "created": created,
            "renamed": renamed,
            "ended": len(ended),
            "written": page.written,
            "returned": returned,
        }
        _advance(workspace_id, page, counts)


def _report(row: SubscriberRow, now: datetime) -> StateReport:
    """A time in the future counts as now, so that later reports of Supabase are not older."""
    report = consent.import_report(row.address, state=row.state, at=min(row.at or now, now))
    return replace(report, bounce_type=row.bounce_type, bounce_subtype=row.bounce_subtype)


# No list is joined: a row in a table does not say what its owner agreed to.
_CREATE = pg.SQL("""
WITH given AS MATERIALIZED (
    SELECT DISTINCT ON (lower(address) COLLATE "C") address, from_name,
           contacts_fingerprint(%(hash_key)s::bytea, address) AS hash
    FROM unnest(%(addresses)s::text[], %(names)s::text[])
         WITH ORDINALITY AS given (address, from_name, number)
    ORDER BY lower(address) COLLATE "C", number
), created AS (
    INSERT INTO contacts_contact (workspace_id, address, from_name, state)
    SELECT %(workspace)s, given.address, given.from_name, {implied_state}
    FROM given LEFT JOIN contacts_suppression AS suppression
      ON suppression.workspace_id = %(workspace)s AND suppression.address_hash = given.hash
     AND suppression.list_id IS NULL
    ORDER BY lower(given.address) COLLATE "C"
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
      ON lower(given.address) COLLATE "C" = lower(created.address) COLLATE "C"
    ON CONFLICT (workspace_id, row_hash) DO UPDATE SET
        contact_id = excluded.contact_id, gone_at = NULL
)
SELECT count(*) FROM created
""").format(implied_state=suppressions.IMPLIED_STATE)


def _create(workspace_id: int, rows: Sequence[SubscriberRow]) -> int:
    if not rows:
        return 0
    origin = {"source": ORIGIN.source, "actor": ORIGIN.actor}
    [(created,)] = sql.rows(_CREATE, {**_names(workspace_id, rows), **origin})
    return int(created)


_RENAME: LiteralString = """
UPDATE contacts_contact AS c
SET from_name = given.from_name, updated_at = statement_timestamp()
FROM (
    SELECT DISTINCT ON (lower(address) COLLATE "C") lower(address) COLLATE "C" AS key, from_name
    FROM unnest(%(addresses)s::text[], %(names)s::text[])
         WITH ORDINALITY AS given (address, from_name, number)
    ORDER BY lower(address) COLLATE "C", number
) AS given
WHERE c.workspace_id = %(workspace)s AND lower(c.address) COLLATE "C" = given.key
  AND c.deleted_at IS NULL AND c.from_name IS DISTINCT FROM given.from_name
"""


def _rename(workspace_id: int, rows: Sequence[SubscriberRow]) -> int:
    return sql.execute(_RENAME, _names(workspace_id, rows)) if rows else 0


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


def _names(workspace_id: int, rows: Sequence[SubscriberRow]) -> dict[str, object]:
    return {
        "workspace": workspace_id,
        "addresses": [row.address for row in rows],
        "names": [row.from_name if row.is_name_usable else None for row in rows],
    }


_RECORD: LiteralString = """
INSERT INTO supabase_syncproblem AS p (
    workspace_id, row_hash, way, shown, problem, since, seen_at
)
SELECT DISTINCT ON (hash, way) %(workspace)s, hash, way, shown, problem, %(now)s, %(now)s
FROM (
    SELECT contacts_fingerprint(%(hash_key)s::bytea, email) AS hash, way, shown,
           problem
    FROM unnest(%(emails)s::text[], %(ways)s::text[], %(shown)s::text[], %(problems)s::text[])
         AS given (email, way, shown, problem)
) AS given
ON CONFLICT (workspace_id, row_hash, way) DO UPDATE SET
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
        "ways": [issue.way.value for issue in issues],
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
