"""One small break of the product, and the tests that may notice it."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

SQL = "migrations/ledger.sql"


class Change(NamedTuple):
    """In `file`, below src/postledger, `old` becomes `new`; it must occur exactly once."""

    file: str
    old: str
    new: str


class Break:
    """Something that must hold, and every change that it takes to end it.

    `tests` are files and folders, separated by spaces; where none of them notices, `otherwise` run.
    """

    def __init__(
        self, name: str, *changes: tuple[str, str, str], tests: str, otherwise: str = ""
    ) -> None:
        self.name = name
        self.changes = [Change(*change) for change in changes]
        self.stages = [stage.split() for stage in (tests, otherwise) if stage]

    @property
    def is_backstop(self) -> bool:
        """Whether other rules stand before it: without it alone nothing goes wrong."""
        return self.name.endswith("(backstop)")

    @property
    def has_migration(self) -> bool:
        return any("/migrations/" in change.file for change in self.changes)

    def list_misfits(self, package: Path) -> Iterator[str]:
        """The texts that do not occur exactly once where they are to be replaced."""
        for change in self.changes:
            file = package / change.file
            count = file.read_text().count(change.old) if file.exists() else 0
            if count != 1:
                yield f"{self.name}: {change.file} contains {change.old!r} {count} times"

    def apply(self, package: Path) -> None:
        for change in self.changes:
            file = package / change.file
            file.write_text(file.read_text().replace(change.old, change.new))


_TIGHT = " ".join(
    f"tests/deliveries/test_{name}.py"
    for name in (
        "work",
        "after_work",
        "blocked_senders",
        "probes",
        "cancelling",
        "amending",
        "fence",
    )
)


class Rule(Break):
    """A rule of the ledger; its files are below deliveries/."""

    def __init__(self, name: str, *changes: tuple[str, str, str]) -> None:
        below = ((f"deliveries/{file}", old, new) for file, old, new in changes)
        super().__init__(name, *below, tests=_TIGHT)
        if not self.is_backstop:
            self.stages += [["tests/deliveries/test_machine.py"]]
