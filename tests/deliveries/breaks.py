"""One rule of the ledger, and how it is switched off."""

from typing import NamedTuple

SQL = "migrations/ledger.sql"


class Change(NamedTuple):
    """In `file`, below deliveries/, `old` becomes `new`; it must occur exactly once."""

    file: str
    old: str
    new: str


class Break:
    """One rule switched off, by every change that it takes."""

    def __init__(self, rule: str, *changes: tuple[str, str, str]) -> None:
        self.rule = rule
        self.changes = [Change(*change) for change in changes]

    @property
    def is_backstop(self) -> bool:
        """Whether other rules stand before it: without it alone nothing goes wrong."""
        return self.rule.endswith("(backstop)")
