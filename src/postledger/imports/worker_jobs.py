"""A worker's jobs with uploaded files: dry runs and imports, each by one worker at a time."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, field, fields
from datetime import timedelta
from operator import attrgetter
from pathlib import Path
from typing import LiteralString

import structlog
from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now

from postledger.contacts import sql
from postledger.imports import merging, preview, queries, running, uploads
from postledger.imports.columns import exact_mapping
from postledger.imports.merging import RowCounts
from postledger.imports.models import Import, ImportState
from postledger.imports.preview import ImportPreview
from postledger.imports.problems import MOST_PROBLEMS, ChunkProblems, RowProblem
from postledger.imports.refusals import ImportAbandonedError
from postledger.lib import database_outage, sentences, work_leases
from postledger.lib.errors import RefusedError
from postledger.lib.sentences import say
from postledger.lib.work_leases import Work

_log = structlog.get_logger(__name__)

# The delay before a failed import is tried again.
PATIENCE = timedelta(minutes=1)

_SERVER_FAILED = say("The server failed; its log says why.")
_SHOWN_PROBLEMS = 20
_SHOWN_REASONS = 10

type IsStopping = Callable[[], bool]


class _StoppedError(Exception):
    """The worker, or this job, is to end."""


# People wait for a dry run, so it comes first. Imports of the command line have no upload.
_DUE: LiteralString = """
SELECT workspace_id, id FROM imports_import
WHERE state IN ('previewing', 'running') AND due_at <= statement_timestamp() AND upload IS NOT NULL
ORDER BY state, due_at LIMIT 100
"""


def do_next_job(is_stopping: IsStopping) -> bool:
    """Does one due job that nobody works on; returns whether there was any."""
    for workspace_id, import_id in sql.rows(_DUE, {}):
        with work_leases.alone(Work.IMPORT, import_id) as is_alone:
            if is_alone:
                _do_job(queries.find_import(workspace_id, import_id), is_stopping)
                return True
    return False


def _do_job(record: Import, is_stopping: IsStopping) -> None:
    """A lost database connection is the caller's matter; every other error is kept for people.

    That includes errors of the database itself: a full disk, a deadlock, a cancelled statement.
    Tried again at once, such a job would block all others.
    """

    def check(_: object) -> None:
        if is_stopping() or not _list_unchanged(record).exists():
            raise _StoppedError

    try:
        with uploads.open_upload(record.pk) as path:
            if record.state == ImportState.RUNNING:
                running.run_import(record.workspace_id, path, import_id=record.pk, report=check)
            elif record.state == ImportState.PREVIEWING:
                _preview(record, path, check)
    except (_StoppedError, ImportAbandonedError):
        _log.info("import stopped", import_id=record.pk)
    except Exception as error:  # the job's edge: one file must not stop the others
        if database_outage.is_away(error):
            raise
        _log.exception("import failed", import_id=record.pk)
        _postpone(record)
        _tell(record, error)


def _list_unchanged(record: Import) -> QuerySet[Import]:
    """The import, unless something else is wanted of it by now.

    A process that stood still may come back when its dry run has ended, and one of other columns
    was asked for: the state alone does not tell.
    """
    imports = Import.objects.filter(pk=record.pk, state=record.state)
    if record.state == ImportState.PREVIEWING:
        return imports.filter(changed_at=record.changed_at)
    return imports


def _preview(record: Import, path: Path, check: Callable[[object], None]) -> None:
    kept = _KeptProblems()
    dry_run = preview.preview_import(
        record.workspace_id,
        path,
        mapping=exact_mapping(uploads.read_header(record), record.mapping),
        list_key=record.list.key if record.list else None,
        new_list=record.upload.get("new_list", "") if record.upload else "",
        report=check,
        keep=kept.add,
    )
    with transaction.atomic():
        if _list_unchanged(record).update(
            state=ImportState.UPLOADED.value,
            preview=_document(dry_run, kept),
            trouble=None,
            changed_at=Now(),
        ):
            merging.save_problems(record.pk, kept.list_first(MOST_PROBLEMS))


@dataclass(slots=True)
class _KeptProblems:
    """The first problems of a file by what they ask of people, and how many there are."""

    refused: list[RowProblem] = field(default_factory=list)
    repairs: list[RowProblem] = field(default_factory=list)
    remarks: list[RowProblem] = field(default_factory=list)
    count: int = 0

    def list_first(self, limit: int) -> list[RowProblem]:
        return [*self.refused, *self.repairs, *self.remarks][:limit]

    def add(self, of_chunk: ChunkProblems) -> None:
        for kind in fields(ChunkProblems):
            kept, new = getattr(self, kind.name), getattr(of_chunk, kind.name)
            kept.extend(sorted(new, key=attrgetter("row"))[: MOST_PROBLEMS - len(kept)])
            self.count += len(new)


def _document(dry_run: ImportPreview, kept: _KeptProblems) -> dict[str, object]:
    """A dry run as it is kept with the import."""
    counts = {counter.name: getattr(dry_run, counter.name) for counter in fields(RowCounts)}
    return {
        **counts,
        "row_count": dry_run.row_count,
        "reasons": dict(dry_run.reasons.most_common(_SHOWN_REASONS)),
        "samples": dry_run.samples,
        "own_choices": dry_run.own_choices,
        "choosers": dry_run.choosers,
        "changes": [asdict(change) for change in dry_run.changes],
        "problems": [problem.write_document() for problem in kept.list_first(_SHOWN_PROBLEMS)],
        "problem_count": kept.count,
        "notes": [sentences.write_document(note) for note in dry_run.notes],
    }


def _postpone(record: Import) -> None:
    """Lets the other jobs pass, whatever becomes of the words on this one."""
    _list_unchanged(record).update(due_at=Now() + PATIENCE)


def _tell(record: Import, error: Exception) -> None:
    """Keeps why a job failed; if its own words cannot be stored, that it did."""
    said = error.sentence if isinstance(error, RefusedError) else _SERVER_FAILED
    try:
        _save_trouble(record, said)
    except Exception as failure:
        if database_outage.is_away(failure):
            raise
        _log.exception("the reason of a failed import was not stored", import_id=record.pk)
        _save_trouble(record, _SERVER_FAILED)


@transaction.atomic  # whoever calls it may go on after a text that cannot be stored
def _save_trouble(record: Import, said: str) -> None:
    changes: dict[str, object] = {"trouble": sentences.write_document(said)}
    if record.state == ImportState.PREVIEWING:
        # A dry run is not tried again: its settings may have been a mistake.
        changes |= {"state": ImportState.UPLOADED.value, "changed_at": Now()}
    _list_unchanged(record).update(**changes)
