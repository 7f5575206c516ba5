"""Takes a file into a workspace's contacts, chunk by chunk, and goes on where it was left."""

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from django.db import transaction
from django.db.models.functions import Now

from postledger.accounts import trail
from postledger.contacts import lists, sql
from postledger.contacts.importing import columns as headers
from postledger.contacts.importing import merging, reading, rows
from postledger.contacts.importing.columns import Columns
from postledger.contacts.importing.merging import Span, Work
from postledger.contacts.importing.models import Import, ImportProblem, ImportState
from postledger.contacts.importing.problems import Problem
from postledger.contacts.importing.reading import Survey
from postledger.contacts.importing.refusals import FileChangedError, ImportUnknownError
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


def start(
    workspace_id: int,
    path: Path,
    *,
    mapping: Mapping[str, str],
    list_key: str | None = None,
    actor: str,
) -> int:
    """Makes an import of a file that can be read to its end; `run` does the work."""
    list_id = None if list_key is None else lists.named(workspace_id, list_key)
    survey = reading.survey(path)
    columns = headers.read(survey.header, mapping)
    with transaction.atomic():
        made = Import.objects.create(
            workspace_id=workspace_id,
            list_id=list_id,
            file_name=path.name,
            sha256=survey.sha256,
            byte_count=survey.size,
            row_count=survey.row_count,
            mapping=columns.targets(),
            cursor_byte=survey.body,
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
    found = _import(workspace_id, import_id)
    survey = reading.survey(path)
    if survey.sha256 != found.sha256:
        raise FileChangedError(
            f"This is not the file that import {import_id} was started with, or it was changed"
            " since. Resume with that file, or import this one by itself."
        )
    columns = headers.read(survey.header, found.mapping | _left_out(survey, found.mapping))
    work = Work(
        workspace_id,
        import_id,
        found.list_id,
        columns,
        source=f"import {import_id} of {found.file_name}",
        actor=found.actor,
    )
    if found.state != ImportState.FINISHED:
        for span, sifted in prepared(
            path, survey, columns, byte=found.cursor_byte, row=found.cursor_row
        ):
            merging.merge(work, span, sifted)
            tell(progress(workspace_id, import_id))
        _finish(work)
    return progress(workspace_id, import_id)


def _left_out(survey: Survey, mapping: Mapping[str, str]) -> dict[str, str]:
    return {name: headers.IGNORED for name in survey.header if name and name not in mapping}


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
    """The addresses of the file were kept to find those that it has twice; now they go."""
    with transaction.atomic():
        there = Import.objects.filter(pk=work.import_id, state=ImportState.RUNNING.value)
        if not there.update(state=ImportState.FINISHED.value, finished_at=Now(), changed_at=Now()):
            return
        sql.changed(
            "DELETE FROM contacts_importedrow WHERE import_id = %(import)s",
            {"import": work.import_id},
        )
        found = progress(work.workspace_id, work.import_id)
        trail.note(
            work.workspace_id,
            actor=work.actor,
            action="import.finished",
            subject=f"import {work.import_id}",
            data={"created": found.created, "updated": found.updated, "refused": found.refused},
        )


def progress(workspace_id: int, import_id: int) -> Progress:
    found = _import(workspace_id, import_id)
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
    """What is wrong with rows of the file, in their order; read from the database as it goes."""
    _import(workspace_id, import_id)
    there = ImportProblem.objects.filter(of_import_id=import_id).order_by("row_number", "pk")
    names = ("row_number", "column_name", "value", "problem", "remedy")
    for row in there.values_list(*names).iterator(chunk_size=2_000):
        yield Problem(*row)


def _import(workspace_id: int, import_id: int) -> Import:
    there = Import.objects.filter(workspace_id=workspace_id, pk=import_id)
    found = there.first() if 0 < import_id < 2**63 else None
    if found is None:
        raise ImportUnknownError(
            f"This workspace has no import {import_id}: an import says its number when it begins."
        )
    return found
