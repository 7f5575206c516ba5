"""Files of the tests, and imports of them."""

from collections.abc import Mapping
from pathlib import Path

from postledger.contacts.importing import preview, running
from postledger.contacts.importing.preview import Preview
from postledger.contacts.importing.problems import Problem
from postledger.contacts.importing.running import Progress

NOTHING: Mapping[str, str] = {}


def made(folder: Path, content: str | bytes, name: str = "people.csv") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def imported(
    workspace_id: int,
    path: Path,
    *,
    list_key: str | None = None,
    mapping: Mapping[str, str] = NOTHING,
) -> Progress:
    import_id = running.start(workspace_id, path, mapping=mapping, list_key=list_key, actor="alice")
    return running.run(workspace_id, path, import_id=import_id, tell=lambda _: None)


def problems(workspace_id: int, done: Progress) -> list[tuple[int, str]]:
    """The rows that have a problem, and in which column."""
    return [(one.row, one.column) for one in running.problems(workspace_id, done.import_id)]


def previewed(
    workspace_id: int,
    path: Path,
    *,
    list_key: str | None = None,
    mapping: Mapping[str, str] = NOTHING,
) -> tuple[Preview, list[Problem]]:
    kept: list[Problem] = []
    found = preview.preview(
        workspace_id,
        path,
        mapping=mapping,
        list_key=list_key,
        tell=lambda _: None,
        keep=kept.extend,
    )
    return found, kept
