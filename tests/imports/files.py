"""Files of the tests, and imports of them."""

from collections.abc import Mapping
from pathlib import Path

from postledger.imports import preview, queries, running
from postledger.imports.preview import ImportPreview
from postledger.imports.problems import RowProblem
from postledger.imports.queries import ImportProgress

NOTHING: Mapping[str, str] = {}


def write_file(folder: Path, content: str | bytes, name: str = "people.csv") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def import_file(
    workspace_id: int,
    path: Path,
    *,
    list_key: str | None = None,
    mapping: Mapping[str, str] = NOTHING,
) -> ImportProgress:
    started = running.start_import(
        workspace_id, path, mapping=mapping, list_key=list_key, actor="alice"
    )
    return running.run_import(workspace_id, path, import_id=started.id, report=lambda _: None)


def problems(workspace_id: int, done: ImportProgress) -> list[tuple[int, str]]:
    """The rows that have a problem, and in which column."""
    return [
        (problem.row, problem.column) for problem in queries.read_problems(workspace_id, done.id)
    ]


def preview_file(
    workspace_id: int,
    path: Path,
    *,
    list_key: str | None = None,
    mapping: Mapping[str, str] = NOTHING,
) -> tuple[ImportPreview, list[RowProblem]]:
    kept: list[RowProblem] = []
    summary = preview.preview_import(
        workspace_id,
        path,
        mapping=mapping,
        list_key=list_key,
        report=lambda _: None,
        keep=lambda found: kept.extend(found.in_order()),
    )
    return summary, kept
