"""Reads numbers with a decimal comma, as spreadsheets of many countries write them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from postledger.contacts.csv_columns import read_cell

# Points or spaces between the thousands, as such spreadsheets have them.
_DECIMAL = re.compile(
    r"(-?(?:0|[1-9]\d{0,2}(?:([. \u00a0\u202f])\d{3}(?:\2\d{3})*+)?+|[1-9]\d{3,}+))(?:,(\d++))?+",
    re.ASCII,
)
_THOUSANDS = re.compile(r"-?[1-9]\d{0,2}(?:,\d{3})++(?:\.\d++)?+", re.ASCII)
_GROUPED = str.maketrans("", "", ". \u00a0\u202f")


class NumberForm(StrEnum):
    """What the comma of 1,234 is; a column of such numbers is mapped to it."""

    DECIMAL_COMMA = "decimal_comma"


@dataclass(slots=True)
class NumberColumn:
    """How many cells of a column are numbers with a comma; empty ones do not count."""

    written: int = 0  # with a comma, before decimals or between thousands
    clear: int = 0  # of these, the comma is before decimals
    others: int = 0  # no numbers with a decimal comma, nor without one

    @property
    def form(self) -> NumberForm | None:
        """A comma is a decimal one if every cell can be read so, and one in no other way."""
        return NumberForm.DECIMAL_COMMA if self.clear and not self.others else None

    def add_rows(self, rows: Sequence[Sequence[str]], index: int) -> None:
        for row in rows:
            if index < len(row) and (cell := read_cell(row[index])):
                self._add(cell)

    def _add(self, cell: str) -> None:
        match = _DECIMAL.fullmatch(cell)
        has_decimals, has_thousands = bool(match and match[3]), bool(_THOUSANDS.fullmatch(cell))
        self.written += has_decimals or has_thousands
        self.clear += has_decimals and not has_thousands
        self.others += not match


def read_number(cell: str) -> str | None:
    """The number as conditions read it, such as 1234.50 for 1.234,50; None if the cell is none."""
    match = _DECIMAL.fullmatch(cell)
    if match is None:
        return None
    whole = match[1].translate(_GROUPED)
    return f"{whole}.{match[3]}" if match[3] else whole
