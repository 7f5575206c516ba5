"""Rows of a file that are not imported as they stand, for people who repair the file."""

from collections.abc import Iterable, Iterator
from dataclasses import astuple, dataclass
from typing import Self

from postledger.contacts.csv_columns import csv_line
from postledger.observability import masking

# A file can have a problem in every row; so many are kept of one import, and the others counted.
MOST_PROBLEMS = 10_000
_LONGEST_VALUE = 100
_HEADER = ("row", "column", "value", "problem", "remedy")


@dataclass(frozen=True, slots=True)
class RowProblem:
    row: int
    column: str
    value: str
    problem: str
    remedy: str

    @classmethod
    def masked(cls, row: int, column: str, value: str, problem: str, remedy: str) -> Self:
        """Masks addresses: such a file is passed around, and the row number is enough."""
        mask = masking.mask_text
        shown = mask(value[: _LONGEST_VALUE * 3])[:_LONGEST_VALUE]
        return cls(row, column, shown, mask(problem), remedy)


def csv_lines(problems: Iterable[RowProblem], *, with_header: bool = True) -> Iterator[str]:
    """The lines of a CSV file that no spreadsheet executes."""
    if with_header:
        yield csv_line(_HEADER)
    for problem in problems:
        yield csv_line(astuple(problem))
