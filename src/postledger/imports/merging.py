"""Makes contacts and subscriptions of a chunk's rows, in one transaction with the import's cursor.

Committed rows are before the cursor, and no others: whenever a process or a server dies, the next
run begins with the row after the last one that counts.
"""

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass, field, fields
from typing import LiteralString

import psycopg
from django.db import IntegrityError, connection, transaction

from postledger.contacts import sql
from postledger.contacts.actions import apply_feedback
from postledger.contacts.consent import Origin
from postledger.imports import old_states, remarks, staging
from postledger.imports.columns import Columns
from postledger.imports.models import Import, ImportState
from postledger.imports.problems import MOST_PROBLEMS, ChunkProblems, RowProblem
from postledger.imports.refusals import ImportMovedError
from postledger.imports.rows import PreparedChunk
from postledger.lib.sentences import say

_TRIES = 5
_MANY = 1_000
# The last one by the new list of a dry run.
_TAKEN_MEANWHILE = {
    "contacts_contact_external_once",
    "contacts_contact_pkey",
    "contacts_list_once",
}


@dataclass(frozen=True, slots=True)
class Target:
    """Where the rows of a file go, and the words of the proof of consent."""

    workspace_id: int
    list_id: int | None
    columns: Columns
    source: str
    actor: str


@dataclass(kw_only=True, slots=True)
class RowCounts:
    """What became of rows; each row is counted once from `created` to `blank`."""

    created: int = 0
    updated: int = 0
    unchanged: int = 0
    duplicates: int = 0
    refused: int = 0
    blank: int = 0
    subscribed: int = 0
    kept_back: Counter[str] = field(default_factory=Counter)  # by reason
    reasons: Counter[str] = field(default_factory=Counter)  # of the refused rows

    @property
    def done(self) -> int:
        rows = (self.created, self.updated, self.unchanged)
        return sum(rows) + self.duplicates + self.refused + self.blank

    def add(self, other: "RowCounts") -> None:
        for counter in fields(RowCounts):
            total = getattr(self, counter.name) + getattr(other, counter.name)
            setattr(self, counter.name, total)


class _OvertakenError(Exception):
    """Somebody created, deleted or renamed a contact after it was looked up."""


def import_chunk(import_id: int, target: Target, chunk: PreparedChunk) -> None:
    """Imports one chunk, or nothing of it."""
    retry_overtaken(lambda: _import_chunk(import_id, target, chunk))
    _analyze(chunk)


def retry_overtaken[T](merge: Callable[[], T]) -> T:
    """Merges again when somebody was faster: the next try sees what they changed."""
    for _ in range(_TRIES - 1):
        try:
            return merge()
        except _OvertakenError:
            pass
        except IntegrityError as error:
            cause = error.__cause__
            if not isinstance(cause, psycopg.Error):
                raise
            if cause.diag.constraint_name not in _TAKEN_MEANWHILE:
                raise
    return merge()


@transaction.atomic
def _import_chunk(import_id: int, target: Target, chunk: PreparedChunk) -> None:
    lock_consents(target)
    earlier_problems, earlier_reasons = _claim(import_id, chunk)
    duplicates = staging.stage_rows(target.columns, chunk.lines)
    counts, of_chunk = merge_staged(target, chunk, duplicates)
    problems = of_chunk.in_order()
    save_problems(import_id, problems[: max(0, MOST_PROBLEMS - earlier_problems)])
    _advance(import_id, chunk, counts, len(problems), earlier_reasons + counts.kept_back)


def lock_consents(target: Target) -> None:
    """Takes the lock of the transaction that merges: alone, if the file can end consents."""
    if target.columns.old_states:
        sql.take_consent_lock(target.workspace_id)
    else:
        sql.share_consent_lock(target.workspace_id)


def merge_staged(
    target: Target, chunk: PreparedChunk, duplicates: list[RowProblem]
) -> tuple[RowCounts, ChunkProblems]:
    """Writes the contacts and subscriptions of the staged rows; returns the problems of rows.

    The caller's transaction has called `lock_consents`.
    """
    _end_consents(target, chunk)
    columns = target.columns
    params = {
        "workspace": target.workspace_id,
        "list": target.list_id,
        "source": target.source,
        "actor": target.actor,
    }
    refused = [
        *chunk.problems,
        *staging.remove_taken_ids(columns, target.workspace_id),
        *staging.match_contacts(columns, params),
    ]
    of_matched = [
        *remarks.find_lost_numbers(columns),
        *remarks.find_left_parts(columns),
        *remarks.find_without_ending(columns, target.workspace_id),
    ]
    created, updated, unchanged = _write_contacts(params)
    if columns.old_states:
        sql.execute(_RECORD_UNCONFIRMED, params)
    counts = RowCounts(
        created=created,
        updated=updated,
        unchanged=unchanged,
        duplicates=len(duplicates),
        refused=len(refused),
        blank=chunk.blank_count,
        reasons=Counter(problem.problem for problem in refused),
    )
    lost_rows = {problem.row for problem in (*refused, *duplicates)}
    of_cells = [remark for remark in chunk.remarks if remark.row not in lost_rows]
    kept_back: list[RowProblem] = []
    if target.list_id is not None:
        counts.subscribed = sql.rows(_SUBSCRIBE, params)[0][0]
    if target.list_id is not None or columns.old_states:
        counts.kept_back, kept_back = remarks.find_kept_back(
            columns, old_states.find_reported(chunk.ended)
        )
    return counts, ChunkProblems(refused, [*duplicates, *of_matched, *of_cells], kept_back)


def _end_consents(target: Target, chunk: PreparedChunk) -> None:
    """Suppresses those who left the old tool, also by a row that repeats an address."""
    if chunk.ended:
        origin = Origin(target.source, target.actor)
        apply_feedback.apply_reports(target.workspace_id, chunk.ended, origin=origin)


def _claim(import_id: int, chunk: PreparedChunk) -> tuple[int, Counter[str]]:
    """Locks the import, so that of two processes with the same chunk one finds it moved.

    Returns how many problems the rows before the chunk had, and why people were kept back.
    """
    unmoved = Import.objects.select_for_update(no_key=True).filter(
        pk=import_id,
        state=ImportState.RUNNING.value,
        cursor_byte=chunk.first_byte,
        cursor_row=chunk.first_row,
    )
    for problem_count, reasons in unmoved.values_list("problem_count", "kept_back_reasons"):
        return problem_count, Counter(reasons)
    raise ImportMovedError(
        say("Another process is already doing this. Let it finish; nothing was imported twice.")
    )


# An empty cell changes nothing. Every import locks rows in the order of their addresses; so a
# contact that is about to be subscribed is confirmed here, which does not count as a change.
_WRITE_CONTACTS: LiteralString = """
WITH line AS (
    INSERT INTO contacts_contact AS c (
        id, workspace_id, address, external_id, name, from_name, locale, time_zone, attributes,
        ocd_ids, state, is_unconfirmed
    )
    SELECT id, %(workspace)s, address, external_id, name, from_name, locale, time_zone, attributes,
           CASE WHEN places = '' THEN '{}' ELSE string_to_array(places, ' ') END, state,
           is_unconfirmed OR NOT is_new AND NOT is_confirmed
    FROM contacts_matched WHERE is_new OR differs OR is_confirmed
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
           - (SELECT count(*) FROM contacts_matched WHERE is_confirmed AND NOT differs),
       (SELECT count(*) FROM contacts_matched WHERE is_new),
       (SELECT count(*) FROM contacts_matched)
FROM line
"""


def _write_contacts(params: Mapping[str, object]) -> tuple[int, int, int]:
    """Inserts and updates contacts; returns how many are new, changed and unchanged."""
    [(created, updated, expected, matched)] = sql.rows(_WRITE_CONTACTS, params)
    if created != expected:
        raise _OvertakenError
    return created, updated, matched - created - updated


# Without it nobody could tell them from those whom a form made, which are erased after a while.
_RECORD_UNCONFIRMED: LiteralString = """
INSERT INTO contacts_consentevent (workspace_id, contact_id, action, after, source, actor)
SELECT %(workspace)s, id, 'imported', 'unconfirmed', %(source)s, %(actor)s
FROM contacts_matched WHERE is_unconfirmed
"""
# Contacts that are kept back, and those with a subscription of any state, are left alone.
_SUBSCRIBE: LiteralString = """
WITH line AS (
    INSERT INTO contacts_subscription (contact_id, list_id, state)
    SELECT id, %(list)s, 'active' FROM contacts_matched
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
SELECT count(*) FROM line
"""
_SAVE_PROBLEMS: LiteralString = (
    "COPY imports_importproblem"
    " (of_import_id, row_number, column_name, value, problem, remedy) FROM STDIN"
)


def save_problems(import_id: int, problems: Sequence[RowProblem]) -> None:
    if not problems:
        return
    with connection.cursor() as cursor, cursor.copy(_SAVE_PROBLEMS) as copy:
        for problem in problems:
            copy.write_row((import_id, *astuple(problem.mask())))


_ADVANCE: LiteralString = """
UPDATE imports_import SET
    cursor_byte = %(next_byte)s, cursor_row = %(next_row)s, changed_at = statement_timestamp(),
    created_count = created_count + %(created)s, updated_count = updated_count + %(updated)s,
    unchanged_count = unchanged_count + %(unchanged)s,
    duplicate_count = duplicate_count + %(duplicates)s,
    refused_count = refused_count + %(refused)s, blank_count = blank_count + %(blank)s,
    subscribed_count = subscribed_count + %(subscribed)s,
    kept_back_count = kept_back_count + %(kept_back)s, kept_back_reasons = %(reasons)s::jsonb,
    problem_count = problem_count + %(problems)s
WHERE id = %(import)s
"""


def _advance(
    import_id: int,
    chunk: PreparedChunk,
    counts: RowCounts,
    problem_count: int,
    reasons: Mapping[str, int],
) -> None:
    cursor = {"next_byte": chunk.next_byte, "next_row": chunk.next_row, "import": import_id}
    values = {counter.name: getattr(counts, counter.name) for counter in fields(counts)}
    totals = {"kept_back": counts.kept_back.total(), "problems": problem_count}
    sql.execute(_ADVANCE, {**values, **cursor, **totals, "reasons": json.dumps(reasons)})


# Waits for nothing: building an index or a vacuum may lock a table for hours.
_ANALYZE: LiteralString = """
ANALYZE (SKIP_LOCKED) contacts_contact (workspace_id), contacts_subscription (list_id)
"""


def _analyze(chunk: PreparedChunk) -> None:
    """Updates the planner's statistics each time the number of rows so far has doubled.

    Of a workspace that was empty at the last statistics the planner expects no rows, and would
    look up an address by reading all contacts. After the transaction: it takes a while, and people
    who unsubscribe must not wait for it.
    """
    before, after = ((row - 2) // _MANY for row in (chunk.first_row, chunk.next_row))
    if after.bit_length() > before.bit_length():
        sql.execute(_ANALYZE, {})
