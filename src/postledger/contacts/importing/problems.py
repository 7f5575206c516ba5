"""What kept a row of a file from being imported as it stands, for people who repair the file."""

import csv
import io
from collections.abc import Iterable, Iterator
from dataclasses import astuple, dataclass
from typing import Self, TextIO

from postledger.contacts.importing.formulas import safe
from postledger.observability import masking

_LONGEST_VALUE = 100
HEADER = ("row", "column", "value", "problem", "remedy")


@dataclass(frozen=True, slots=True)
class Problem:
    row: int
    column: str
    value: str
    problem: str
    remedy: str

    @classmethod
    def masked(cls, row: int, column: str, value: str, problem: str, remedy: str) -> Self:
        """Without addresses: such a file is passed around, and the row says whose it was."""
        mask = masking.mask_text
        shown = mask(value[: _LONGEST_VALUE * 3])[:_LONGEST_VALUE]
        return cls(row, column, shown, mask(problem), remedy)


def write(file: TextIO, problems: Iterable[Problem], *, with_header: bool = True) -> None:
    file.writelines(lines(problems, with_header=with_header))


def lines(problems: Iterable[Problem], *, with_header: bool = True) -> Iterator[str]:
    """The lines of a CSV file that no spreadsheet executes."""
    if with_header:
        yield _line(HEADER)
    for problem in problems:
        yield _line(astuple(problem))


def _line(cells: Iterable[object]) -> str:
    line = io.StringIO()
    csv.writer(line).writerow([safe(str(cell)) for cell in cells])
    return line.getvalue()
