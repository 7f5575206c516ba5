"""No code but the ledger's writes its tables: they have no models, so SQL is the only way."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "src" / "postledger"
WRITE = re.compile(
    r"\b(?:UPDATE|INSERT\s+INTO|DELETE\s+FROM|MERGE\s+INTO|TRUNCATE)\s+(?:ONLY\s+)?\W?deliveries_",
    re.IGNORECASE,
)


def writes(source: str) -> Iterator[int]:
    """The lines with a text that writes a table of the ledger, also one in several pieces."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Constant(value=str(text)) if WRITE.search(text):
                yield node.lineno


def may_write(path: Path) -> bool:
    return path.parts[:1] == ("deliveries",) and path.parts[1] in {"ledger", "migrations"}


@pytest.mark.slow
def test_no_table_of_the_ledger_is_written_outside_it() -> None:
    modules = {path.relative_to(PACKAGE): path for path in PACKAGE.rglob("*.py")}
    violations = [
        f"{name}:{line}"
        for name, path in modules.items()
        if not may_write(name)
        for line in writes(path.read_text())
    ]

    assert violations == []


def test_a_write_is_seen_and_a_read_is_left_alone() -> None:
    for source in (
        "cursor.execute('UPDATE deliveries_delivery SET state = 1')",
        'cursor.execute("""\n    update only "deliveries_batch"\n    set lo = 1""")',
        "sql = f'WITH done AS (UPDATE deliveries_delivery SET x = {y} RETURNING 1) SELECT 1'",
        "cursor.execute('DELETE FROM deliveries_lane')",
        "cursor.execute('INSERT INTO'\n    ' deliveries_lane VALUES (1)')",
    ):
        assert list(writes(source)), source
    for source in (
        "cursor.execute('SELECT state FROM deliveries_delivery')",
        "sql = 'UPDATE campaigns_run SET stream_id = (SELECT max(id) FROM deliveries_stream)'",
    ):
        assert not list(writes(source)), source


def test_no_statement_reads_the_exclusion_index() -> None:
    """Restarted scans of it were seen to miss live entries (docs/decisions, 0011)."""
    ranges = re.compile(r"@>|<@|&&|int8range")
    texts = {path: path.read_text() for path in PACKAGE.rglob("*.py")}
    of_batches = [
        path
        for path, text in texts.items()
        if "deliveries_batch" in text and "migrations" not in path.parts
    ]

    assert of_batches
    assert [path.name for path in of_batches if ranges.search(texts[path])] == []
