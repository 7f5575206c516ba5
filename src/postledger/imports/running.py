"""Imports a file into a workspace's contacts, chunk by chunk, and resumes where it was left."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from django.db import transaction
from django.db.models.functions import Now

from postledger.accounts import trail
from postledger.contacts import lists
from postledger.imports import merging, queries, staging
from postledger.imports.columns import (
    Columns,
    describe_forms,
    exact_mapping,
    find_unread_states,
    map_columns,
)
from postledger.imports.files import reading
from postledger.imports.files.reading import FileSurvey
from postledger.imports.merging import Target
from postledger.imports.models import FilePart, Import, ImportState
from postledger.imports.queries import ImportProgress
from postledger.imports.refusals import (
    FileChangedError,
    ImportAbandonedError,
    ImportMovedError,
    ImportNotReadyError,
)
from postledger.imports.rows import PreparedChunk, prepare_chunk
from postledger.lib import work_leases
from postledger.lib.sentences import say
from postledger.lib.work_leases import Work

type ReportProgress = Callable[[ImportProgress], None]


@dataclass(frozen=True, slots=True)
class StartedImport:
    id: int
    unread_states: Sequence[str]  # columns that look like states of people in another tool
    notes: Sequence[str]  # how the dates and numbers of the file are stored


def start_import(  # noqa: PLR0913  a file, its destination, and the actor
    workspace_id: int,
    path: Path,
    *,
    mapping: Mapping[str, str],
    list_key: str | None = None,
    file_name: str = "",
    actor: str,
) -> StartedImport:
    """Creates an import of a file that can be read to its end; `run_import` does the work.

    `file_name` is that of the original, if the file was made from another one.
    """
    list_id = None if list_key is None else lists.get_active_id(workspace_id, list_key)
    survey = reading.survey_new_file(path)
    columns = map_columns(survey.header, mapping, survey.state_like, survey.forms)
    with transaction.atomic():
        record = Import.objects.create(
            workspace_id=workspace_id,
            list_id=list_id,
            file_name=file_name or path.name,
            sha256=survey.sha256,
            byte_count=survey.size,
            row_count=survey.row_count,
            mapping=columns.targets(),
            cursor_byte=survey.first_byte,
            started_at=Now(),
            actor=actor,
        )
        note_start(record, actor=actor, list_key=list_key)
    unread_states = find_unread_states(columns, survey.state_like)
    return StartedImport(record.pk, unread_states, describe_forms(columns, survey.forms))


def note_start(record: Import, *, actor: str, list_key: str | None) -> None:
    trail.note(
        record.workspace_id,
        actor=actor,
        action="import.started",
        subject=f"import {record.pk}",
        data={"rows": record.row_count, "sha256": record.sha256, "list": list_key},
    )


def run_import(
    workspace_id: int, path: Path, *, import_id: int, report: ReportProgress
) -> ImportProgress:
    """Imports the remaining rows of a file. Killed at any moment, it can be run again.

    The file must be the one that the import was created with, byte by byte.
    """
    record = queries.find_import(workspace_id, import_id)
    if record.state == ImportState.ABANDONED:
        raise _abandoned(import_id)
    if record.state in {ImportState.UPLOADED, ImportState.PREVIEWING}:
        raise ImportNotReadyError(
            say("Import %(number)s is not started yet. Start it first.", number=str(import_id))
        )
    # The lease only shows that somebody works on it; the cursor keeps two processes apart.
    with work_leases.alone(Work.IMPORT, import_id):
        survey = reading.survey_file(path)
        if survey.sha256 != record.sha256:
            raise FileChangedError(
                say(
                    "This is not the file that import %(number)s was started with, or it was"
                    " changed since. Resume with that file, or import this one by itself.",
                    number=str(import_id),
                )
            )
        if record.state != ImportState.FINISHED:
            _import_remaining(record, path, survey, report)
    return queries.find_progress(workspace_id, import_id)


def _import_remaining(
    record: Import, path: Path, survey: FileSurvey, report: ReportProgress
) -> None:
    columns = map_columns(survey.header, exact_mapping(survey.header, record.mapping))
    source = f"import {record.pk} of {record.file_name}"
    target = Target(record.workspace_id, record.list_id, columns, source, record.actor)
    _stage_addresses(path, survey, columns, until=record.cursor_row)
    for chunk in prepared_chunks(
        path, survey, columns, byte=record.cursor_byte, row=record.cursor_row
    ):
        try:
            merging.import_chunk(record.pk, target, chunk)
        except ImportMovedError:
            if queries.read_state(record.pk) is ImportState.ABANDONED:
                raise _abandoned(record.pk) from None
            raise
        report(queries.find_progress(record.workspace_id, record.pk))
    _finish(record)


def _stage_addresses(path: Path, survey: FileSurvey, columns: Columns, *, until: int) -> None:
    """Reads the addresses of the rows before `until` again, so that repeated ones are found."""
    staging.forget_addresses()
    for chunk in prepared_chunks(path, survey, columns, byte=survey.first_byte, row=2):
        if chunk.first_row >= until:
            return
        with transaction.atomic():
            staging.stage_rows(columns, chunk.lines)


def _abandoned(import_id: int) -> ImportAbandonedError:
    return ImportAbandonedError(
        say(
            "Import %(number)s was abandoned. The rows it has imported stay; import the"
            " file again to import the others.",
            number=str(import_id),
        )
    )


def prepared_chunks(
    path: Path, survey: FileSurvey, columns: Columns, *, byte: int, row: int
) -> Iterator[PreparedChunk]:
    """The chunks from a row on; a thread prepares the next one while the caller uses one."""
    with path.open("rb", buffering=1 << 20) as file, ThreadPoolExecutor(max_workers=1) as thread:
        chunks = reading.read_chunks(file, survey.dialect, offset=byte, row=row)
        prepared = (prepare_chunk(columns, chunk) for chunk in chunks)
        upcoming = thread.submit(next, prepared, None)
        while (ready := upcoming.result()) is not None:
            upcoming = thread.submit(next, prepared, None)
            yield ready


def _finish(record: Import) -> None:
    with transaction.atomic():
        running = Import.objects.filter(pk=record.pk, state=ImportState.RUNNING.value)
        if not running.update(
            state=ImportState.FINISHED.value, finished_at=Now(), changed_at=Now()
        ):
            return
        delete_upload(record.pk)
        done = queries.find_progress(record.workspace_id, record.pk)
        trail.note(
            record.workspace_id,
            actor=record.actor,
            action="import.finished",
            subject=f"import {record.pk}",
            data={"created": done.created, "updated": done.updated, "refused": done.refused},
        )


def delete_upload(import_id: int) -> None:
    """Deletes the file and its preview, which hold personal data, once an import has ended."""
    Import.objects.filter(pk=import_id).update(upload=None, preview=None, trouble=None)
    FilePart.objects.filter(of_import_id=import_id).delete()
