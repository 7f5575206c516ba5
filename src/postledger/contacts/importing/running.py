"""Takes a file into a workspace's contacts, chunk by chunk, and goes on where it was left."""

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from django.db import transaction
from django.db.models.functions import Now

from postledger.accounts import trail
from postledger.contacts import lists
from postledger.contacts.importing import columns as headers
from postledger.contacts.importing import holding, leftovers, merging, reading, records, rows
from postledger.contacts.importing.columns import Columns
from postledger.contacts.importing.merging import Span, Work
from postledger.contacts.importing.models import Import, ImportProblem, ImportState
from postledger.contacts.importing.problems import Problem
from postledger.contacts.importing.reading import Survey
from postledger.contacts.importing.refusals import (
    FileChangedError,
    ImportAbandonedError,
    ImportMovedError,
    ImportNotReadyError,
)
from postledger.contacts.importing.rows import Sifted


@dataclass(frozen=True, slots=True)
class Progress:
    """How far an import is, and what came of the rows before that."""

    import_id: int
    workspace_id: int
    file_name: str
    state: ImportState
    row_count: int
    done: int
    created: int
    updated: int
    unchanged: int
    duplicates: int
    refused: int
    blank: int
    subscribed: int
    kept_back: int


type Tell = Callable[[Progress], None]


def start(  # noqa: PLR0913  a file, what is to become of it, and who says so
    workspace_id: int,
    path: Path,
    *,
    mapping: Mapping[str, str],
    list_key: str | None = None,
    file_name: str = "",
    actor: str,
) -> int:
    """Makes an import of a file that can be read to its end; `run` does the work.

    It goes by the file's own name, unless it was made of another one.
    """
    list_id = None if list_key is None else lists.named(workspace_id, list_key)
    survey = reading.survey(path)
    columns = headers.read(survey.header, mapping)
    with transaction.atomic():
        made = Import.objects.create(
            workspace_id=workspace_id,
            list_id=list_id,
            file_name=file_name or path.name,
            sha256=survey.sha256,
            byte_count=survey.size,
            row_count=survey.row_count,
            mapping=columns.targets(),
            cursor_byte=survey.body,
            started_at=Now(),
            actor=actor,
        )
        trail.note(
            workspace_id,
            actor=actor,
            action="import.started",
            subject=f"import {made.pk}",
            data={"rows": survey.row_count, "sha256": survey.sha256, "list": list_key},
        )
    return made.pk


def run(workspace_id: int, path: Path, *, import_id: int, tell: Tell) -> Progress:
    """Imports what is left of a file. Killed at any moment, it can be run again.

    The file must be the one that the import was made of, byte by byte.
    """
    found = records.of(workspace_id, import_id)
    _refuse_idle(found)
    with holding.seen(import_id):
        survey = reading.survey(path)
        if survey.sha256 != found.sha256:
            raise FileChangedError(
                f"This is not the file that import {import_id} was started with, or it was changed"
                " since. Resume with that file, or import this one by itself."
            )
        if found.state != ImportState.FINISHED:
            _go_on(found, path, survey, tell)
    return progress(workspace_id, import_id)


def _go_on(found: Import, path: Path, survey: Survey, tell: Tell) -> None:
    columns = headers.read(survey.header, headers.whole(survey.header, found.mapping))
    work = Work(
        found.workspace_id,
        found.pk,
        found.list_id,
        columns,
        source=f"import {found.pk} of {found.file_name}",
        actor=found.actor,
    )
    for span, sifted in prepared(
        path, survey, columns, byte=found.cursor_byte, row=found.cursor_row
    ):
        _merge(work, span, sifted)
        tell(progress(found.workspace_id, found.pk))
    _finish(work)


def _refuse_idle(found: Import) -> None:
    if found.state == ImportState.ABANDONED:
        raise _abandoned(found.pk)
    if found.state in {ImportState.UPLOADED, ImportState.PREVIEWING}:
        raise ImportNotReadyError(
            f"Import {found.pk} is not started yet. Start it, saying what its columns are."
        )


def _merge(work: Work, span: Span, sifted: Sifted) -> None:
    try:
        merging.merge(work, span, sifted)
    except ImportMovedError:
        if records.state(work.import_id) is ImportState.ABANDONED:
            raise _abandoned(work.import_id) from None
        raise


def _abandoned(import_id: int) -> ImportAbandonedError:
    return ImportAbandonedError(
        f"Import {import_id} was abandoned. What it had imported stays; the rest needs an import"
        " of its own."
    )


def prepared(
    path: Path, survey: Survey, columns: Columns, *, byte: int, row: int
) -> Iterator[tuple[Span, Sifted]]:
    """The chunks of a file, ready for the database; the next one is made while one is merged."""
    with ThreadPoolExecutor(max_workers=1) as ahead:
        made = _chunks(path, survey, columns, byte=byte, row=row)
        coming = ahead.submit(next, made, None)
        while (ready := coming.result()) is not None:
            coming = ahead.submit(next, made, None)
            yield ready


def _chunks(
    path: Path, survey: Survey, columns: Columns, *, byte: int, row: int
) -> Iterator[tuple[Span, Sifted]]:
    with path.open("rb", buffering=1 << 20) as file:
        for chunk in reading.chunks(file, survey.shape, offset=byte, row=row):
            sifted = rows.sift(columns, chunk.records, first_row=chunk.first_row)
            yield Span(row, byte, row + len(chunk.records), chunk.end), sifted
            byte, row = chunk.end, row + len(chunk.records)


def _finish(work: Work) -> None:
    with transaction.atomic():
        there = Import.objects.filter(pk=work.import_id, state=ImportState.RUNNING.value)
        if not there.update(state=ImportState.FINISHED.value, finished_at=Now(), changed_at=Now()):
            return
        leftovers.take_away(work.import_id)
        found = progress(work.workspace_id, work.import_id)
        trail.note(
            work.workspace_id,
            actor=work.actor,
            action="import.finished",
            subject=f"import {work.import_id}",
            data={"created": found.created, "updated": found.updated, "refused": found.refused},
        )


def progress(workspace_id: int, import_id: int) -> Progress:
    return of(records.of(workspace_id, import_id))


def of(found: Import) -> Progress:
    return Progress(
        found.pk,
        found.workspace_id,
        found.file_name,
        ImportState(found.state),
        row_count=found.row_count,
        done=found.cursor_row - 2,
        created=found.created_count,
        updated=found.updated_count,
        unchanged=found.unchanged_count,
        duplicates=found.duplicate_count,
        refused=found.refused_count,
        blank=found.blank_count,
        subscribed=found.subscribed_count,
        kept_back=found.kept_back_count,
    )


def problems(workspace_id: int, import_id: int) -> Iterator[Problem]:
    """What is wrong with rows of the file, in their order; read from the database as it goes.

    An import that is not there is refused at once.
    """
    records.of(workspace_id, import_id)
    return _problems(import_id)


def _problems(import_id: int) -> Iterator[Problem]:
    there = ImportProblem.objects.filter(of_import_id=import_id).order_by("row_number", "pk")
    names = ("row_number", "column_name", "value", "problem", "remedy")
    for row in there.values_list(*names).iterator(chunk_size=2_000):
        yield Problem(*row)
