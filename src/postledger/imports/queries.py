"""Reads imports: how far each is, and the problems of its rows."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any, Self

from postledger.contacts.csv_columns import ATTRIBUTE, PARTS_OF_NAME
from postledger.imports.columns import split_target
from postledger.imports.models import Import, ImportProblem, ImportState
from postledger.imports.problems import MOST_PROBLEMS, RowProblem
from postledger.imports.refusals import ImportUnknownError
from postledger.lib.sentences import say

_RECENT = 20  # imports whose columns are offered as attributes


@dataclass(frozen=True, kw_only=True, slots=True)
class ImportProgress:
    """How far an import is, and what became of the rows before its cursor."""

    id: int
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
    kept_back_reasons: Mapping[str, int]
    problem_count: int

    @classmethod
    def of(cls, record: Import, **more: Any) -> Self:
        return cls(
            id=record.pk,
            workspace_id=record.workspace_id,
            file_name=record.file_name,
            state=ImportState(record.state),
            row_count=record.row_count,
            done=record.cursor_row - 2,
            created=record.created_count,
            updated=record.updated_count,
            unchanged=record.unchanged_count,
            duplicates=record.duplicate_count,
            refused=record.refused_count,
            blank=record.blank_count,
            subscribed=record.subscribed_count,
            kept_back=record.kept_back_count,
            kept_back_reasons=record.kept_back_reasons,
            problem_count=record.problem_count,
            **more,
        )


def find_import(workspace_id: int, import_id: int) -> Import:
    imports = Import.objects.filter(workspace_id=workspace_id, pk=import_id)
    record = imports.select_related("list", "workspace").first() if 0 < import_id < 2**63 else None
    if record is None:
        raise ImportUnknownError(
            say(
                "This workspace has no import %(number)s. See postledger contacts imports.",
                number=str(import_id),
            )
        )
    return record


def find_progress(workspace_id: int, import_id: int) -> ImportProgress:
    return ImportProgress.of(find_import(workspace_id, import_id))


def list_imported_attributes(workspace_id: int) -> set[str]:
    """The attributes that the columns of the newest imports were mapped to."""
    started = Import.objects.filter(workspace_id=workspace_id, started_at__isnull=False)
    mappings = started.order_by("-pk").values_list("mapping", flat=True)[:_RECENT]
    targets = {target for mapping in mappings for target in mapping.values()}
    parts = {part.value for part in PARTS_OF_NAME if part in targets}
    prefixed = {one for one, _ in map(split_target, targets) if one.startswith(ATTRIBUTE)}
    return parts | {target.removeprefix(ATTRIBUTE) for target in prefixed}


def read_state(import_id: int) -> ImportState:
    return ImportState(Import.objects.values_list("state", flat=True).get(pk=import_id))


def read_problems(workspace_id: int, import_id: int) -> Iterator[RowProblem]:
    """The problems of a file's rows, in their order, read from the database while they are used.

    Before the start they are those of the dry run. The last one says how many more there were. An
    unknown import is refused at once.
    """
    record = find_import(workspace_id, import_id)
    problems = ImportProblem.objects.filter(of_import_id=import_id).order_by("row_number", "pk")
    rows = problems.values_list("row_number", "column_name", "value", "problem", "remedy")
    kept = (RowProblem(*row) for row in rows.iterator(chunk_size=2_000))
    count = record.preview.get("problem_count", 0) if record.preview else record.problem_count
    return chain(kept, _describe_others(count - MOST_PROBLEMS))


def _describe_others(count: int) -> Iterator[RowProblem]:
    if count > 0:
        problem = f"{count:,} more problems are not listed"
        remedy = "Correct the rows above, and import the file again."
        yield RowProblem(0, "", "", problem, remedy)
