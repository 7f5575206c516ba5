"""Takes a page of subscribers into the contacts, in one transaction with the sync's cursor."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import LiteralString

from django.db import transaction

from postledger.contacts import consent, locks, sql
from postledger.contacts.actions import applying
from postledger.contacts.consent import Incoming, Origin
from postledger.contacts.supabase import missing, refusals
from postledger.contacts.supabase.models import Way
from postledger.contacts.supabase.rows import Row
from postledger.observability import masking

ORIGIN = Origin("supabase", "supabase sync")

_LONGEST_SHOWN = 100


@dataclass(frozen=True, slots=True)
class Problem:
    email: str
    way: Way
    problem: str


@dataclass(slots=True)
class Page:
    """What one page comes to: filled while it is looked at, then taken as a whole."""

    after: str  # the cursor it was asked for with
    last: str
    read: int = 0
    seen: list[str] = field(default_factory=list)  # the addresses of all rows that have one
    new: list[Row] = field(default_factory=list)
    returned: list[tuple[int, Row]] = field(default_factory=list)  # with the contact to bring back
    renamed: list[Row] = field(default_factory=list)
    confirmed: list[Row] = field(default_factory=list)  # known by a form alone, until now
    ended: list[Row] = field(default_factory=list)
    written: int = 0
    problems: list[Problem] = field(default_factory=list)

    @property
    def back(self) -> list[Row]:
        return [row for _, row in self.returned]


def take(workspace_id: int, page: Page, *, now: datetime) -> None:
    """Takes a page and moves the cursor behind it, or does neither."""
    with transaction.atomic():
        if page.new or page.returned or page.renamed or page.confirmed or page.ended:
            # The stronger of both locks at once: whoever has the weaker one may wait for it.
            locks.leaving(workspace_id)
        created = _create(workspace_id, page.new)
        returned = _bring_back(workspace_id, page, now=now)
        renamed = _rename(workspace_id, page.renamed)
        _confirm(workspace_id, page.confirmed)
        told = [_told(row, now) for row in [*page.new, *page.back, *page.ended]]
        ended = applying.apply_state(workspace_id, told, origin=ORIGIN) if told else []
        missing.saw(workspace_id, page.seen)
        note(workspace_id, page.problems, now=now)
        counts = {
            "read": page.read,
            "created": created,
            "renamed": renamed,
            "ended": len(ended),
            "written": page.written,
            "returned": returned,
        }
        _advance(workspace_id, page, counts)


def _told(row: Row, now: datetime) -> Incoming:
    """A time to come counts as now, here only: what Supabase said last must not seem older."""
    told = consent.told(row.address, state=row.state, at=min(row.at or now, now))
    return replace(told, bounce_type=row.bounce_type, bounce_subtype=row.bounce_subtype)


# A new contact stands as its address does, which is states.state_under in SQL. No list is joined:
# that somebody is in a table says nothing of what they agreed to.
_CREATE: LiteralString = """
WITH given AS MATERIALIZED (
    SELECT DISTINCT ON (lower(address) COLLATE "C") address, from_name,
           contacts_fingerprint((SELECT salt FROM contacts_salt), address) AS hash
    FROM unnest(%(addresses)s::text[], %(names)s::text[])
         WITH ORDINALITY AS given (address, from_name, place)
    ORDER BY lower(address) COLLATE "C", place
), line AS (
    INSERT INTO contacts_contact (workspace_id, address, from_name, state)
    SELECT %(workspace)s, given.address, given.from_name,
           CASE WHEN s.reason = 'bounced' THEN 'bounced'
                WHEN s.reason IN ('complained', 'unsubscribed') OR s.has_left
                THEN 'unsubscribed' ELSE 'active' END
    FROM given LEFT JOIN contacts_suppression AS s
      ON s.workspace_id = %(workspace)s AND s.address_hash = given.hash AND s.list_id IS NULL
    ORDER BY lower(given.address) COLLATE "C"
    ON CONFLICT (workspace_id, lower(address) COLLATE "C") WHERE deleted_at IS NULL DO NOTHING
    RETURNING id, address, state
), event AS (
    INSERT INTO contacts_consentevent (
        workspace_id, contact_id, action, after, source, actor
    )
    SELECT %(workspace)s, id, 'imported', state, %(source)s, %(actor)s FROM line
), subscriber AS (
    INSERT INTO contacts_supabasesubscriber (contact_id, workspace_id, row_hash)
    SELECT line.id, %(workspace)s, given.hash
    FROM line JOIN given ON lower(given.address) COLLATE "C" = lower(line.address) COLLATE "C"
    ON CONFLICT (workspace_id, row_hash) DO UPDATE SET
        contact_id = excluded.contact_id, gone_at = NULL
)
SELECT count(*) FROM line
"""


def _create(workspace_id: int, rows: Sequence[Row]) -> int:
    if not rows:
        return 0
    origin = {"source": ORIGIN.source, "actor": ORIGIN.actor}
    [(created,)] = sql.rows(_CREATE, {**_names(workspace_id, rows), **origin})
    return int(created)


def _bring_back(workspace_id: int, page: Page, *, now: datetime) -> int:
    if not page.returned:
        return 0
    gone = [contact_id for contact_id, _ in page.returned]
    return missing.bring_back(workspace_id, gone, origin=ORIGIN, now=now)


_RENAME: LiteralString = """
UPDATE contacts_contact AS c
SET from_name = given.from_name, updated_at = statement_timestamp()
FROM (
    SELECT DISTINCT ON (lower(address) COLLATE "C") lower(address) COLLATE "C" AS key, from_name
    FROM unnest(%(addresses)s::text[], %(names)s::text[])
         WITH ORDINALITY AS given (address, from_name, place)
    ORDER BY lower(address) COLLATE "C", place
) AS given
WHERE c.workspace_id = %(workspace)s AND lower(c.address) COLLATE "C" = given.key
  AND c.deleted_at IS NULL AND c.from_name IS DISTINCT FROM given.from_name
"""


def _rename(workspace_id: int, rows: Sequence[Row]) -> int:
    return sql.changed(_RENAME, _names(workspace_id, rows)) if rows else 0


# Who is in the table is mailed, whichever came first, the row or the form.
_CONFIRM: LiteralString = """
UPDATE contacts_contact SET is_unconfirmed = false, updated_at = statement_timestamp()
WHERE workspace_id = %(workspace)s AND deleted_at IS NULL AND is_unconfirmed
  AND lower(address) COLLATE "C" = ANY (ARRAY(
      SELECT lower(address) COLLATE "C" FROM unnest(%(addresses)s::text[]) AS given (address)
  ))
"""


def _confirm(workspace_id: int, rows: Sequence[Row]) -> None:
    if rows:
        addresses = [row.address for row in rows]
        sql.changed(_CONFIRM, {"workspace": workspace_id, "addresses": addresses})


def _names(workspace_id: int, rows: Sequence[Row]) -> dict[str, object]:
    return {
        "workspace": workspace_id,
        "addresses": [row.address for row in rows],
        "names": [row.from_name if row.is_name_usable else None for row in rows],
    }


_NOTE: LiteralString = """
INSERT INTO contacts_supabaseproblem AS p (
    workspace_id, row_hash, way, shown, problem, since, seen_at
)
SELECT DISTINCT ON (hash, way) %(workspace)s, hash, way, shown, problem, %(now)s, %(now)s
FROM (
    SELECT contacts_fingerprint((SELECT salt FROM contacts_salt), email) AS hash, way, shown,
           problem
    FROM unnest(%(emails)s::text[], %(ways)s::text[], %(shown)s::text[], %(problems)s::text[])
         AS given (email, way, shown, problem)
) AS given
ON CONFLICT (workspace_id, row_hash, way) DO UPDATE SET
    shown = excluded.shown, problem = excluded.problem, seen_at = excluded.seen_at,
    since = CASE WHEN p.problem = excluded.problem THEN p.since ELSE excluded.since END
"""


def note(workspace_id: int, problems: Sequence[Problem], *, now: datetime) -> None:
    if not problems:
        return
    params = {
        "workspace": workspace_id,
        "now": now,
        "emails": [one.email for one in problems],
        "ways": [one.way.value for one in problems],
        "shown": [masking.mask_text(one.email)[:_LONGEST_SHOWN] for one in problems],
        "problems": [one.problem for one in problems],
    }
    sql.changed(_NOTE, params)


# Of two processes with the same page, one finds the cursor moved, and takes nothing.
_ADVANCE: LiteralString = """
UPDATE contacts_supabasesync SET
    cursor = %(last)s, trouble = NULL, troubled_at = NULL,
    read_count = read_count + %(read)s, created_count = created_count + %(created)s,
    renamed_count = renamed_count + %(renamed)s, ended_count = ended_count + %(ended)s,
    written_count = written_count + %(written)s, returned_count = returned_count + %(returned)s
WHERE workspace_id = %(workspace)s AND cursor = %(after)s
"""


def _advance(workspace_id: int, page: Page, counts: dict[str, int]) -> None:
    places = {"workspace": workspace_id, "after": page.after, "last": page.last}
    if not sql.changed(_ADVANCE, {**places, **counts}):
        raise refusals.overtaken()
