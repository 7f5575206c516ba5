"""Rows of a file that are not imported as they stand, for people who repair the file."""

from collections.abc import Iterable, Iterator
from dataclasses import astuple, dataclass, replace
from typing import Self

from postledger.contacts.csv_columns import csv_line
from postledger.observability import masking

# A file can have a problem in every row; so many are kept of one import, and the others counted.
MOST_PROBLEMS = 10_000
_LONGEST_VALUE = 300  # as it is read; an address has at most 254
_LONGEST_STORED = 100
_HEADER = ("row", "column", "value", "problem", "remedy")


@dataclass(frozen=True, slots=True)
class RowProblem:
    row: int
    column: str
    value: str
    problem: str
    remedy: str

    @classmethod
    def quoting(cls, row: int, column: str, value: str, problem: str, remedy: str) -> Self:
        """Quotes the value as the file has it, for a dry run, which is deleted with the file."""
        return cls(row, column, value[:_LONGEST_VALUE], masking.mask_text(problem), remedy)

    def mask(self) -> Self:
        """Masks addresses: problems outlive the file, are passed around, and may quote a person
        who is erased; the row number is enough to find the row.
        """
        return replace(self, value=mask_value(self.value))


def mask_value(value: str) -> str:
    """A value as the problems of an import have it in the database."""
    return masking.mask_text(value[:_LONGEST_VALUE])[:_LONGEST_STORED]


def csv_lines(problems: Iterable[RowProblem], *, with_header: bool = True) -> Iterator[str]:
    """The lines of a CSV file that no spreadsheet executes."""
    if with_header:
        yield csv_line(_HEADER)
    for problem in problems:
        yield csv_line(astuple(problem))
