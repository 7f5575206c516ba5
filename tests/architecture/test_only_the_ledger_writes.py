"""No code but the ledger's changes the state of a delivery."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "src" / "postledger"
WRITE = re.compile(r"\bUPDATE\s+(?:ONLY\s+)?\W?deliveries_", re.IGNORECASE)


def writes(source: str, *, has_models: bool = True) -> Iterator[int]:
    """The lines on which a state is set by the ORM, or a ledger table by SQL.

    Only a module that can have the ledger's models can set it by the ORM.
    """
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call(func=ast.Attribute(attr="update"), keywords=keywords):
                if has_models and any(keyword.arg == "state" for keyword in keywords):
                    yield node.lineno
            case ast.Constant(value=str(text)) if WRITE.search(text):
                yield node.lineno


def may_write(path: Path) -> bool:
    return path.parts[:1] == ("deliveries",) and path.parts[1] in {"ledger", "migrations"}


def test_no_state_is_written_outside_the_ledger() -> None:
    modules = {path.relative_to(PACKAGE): path for path in PACKAGE.rglob("*.py")}

    violations = [
        f"{name}:{line}"
        for name, path in modules.items()
        if not may_write(name)
        # The contract `tables` keeps the models of deliveries inside that package.
        for line in writes(path.read_text(), has_models=name.parts[0] == "deliveries")
    ]

    assert violations == []


def test_a_write_is_seen_and_a_read_is_left_alone() -> None:
    for source in (
        "Delivery.objects.filter(\n    position=1,\n).update(\n    state='failed',\n)",
        "cursor.execute('UPDATE deliveries_delivery SET state = 1')",
        'cursor.execute("""\n    update only "deliveries_batch"\n    set lo = 1""")',
        "sql = f'WITH done AS (UPDATE deliveries_delivery SET x = {y} RETURNING 1) SELECT 1'",
    ):
        assert list(writes(source)), source
    for source in (
        "Delivery.objects.filter(state='failed').update(address='x')",
        "cursor.execute('SELECT state FROM deliveries_delivery')",
        "counts.update(waiting=1)",
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
