"""Rows of a file that are not imported as they stand, for people who repair the file."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, replace
from operator import attrgetter
from typing import Any, Self

from postledger.contacts.csv_columns import csv_line
from postledger.lib import sentences
from postledger.lib.sentences import Sentence
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
    def quoting(
        cls, row: int, column: str, value: str, problem: Sentence, remedy: Sentence
    ) -> Self:
        """Quotes the value as the file has it, for a dry run, which is deleted with the file."""
        return cls(row, column, value[:_LONGEST_VALUE], _mask_values(problem), remedy)

    def write_document(self) -> dict[str, object]:
        """For JSON; `read_document` reads it again."""
        said = {"problem": self.problem, "remedy": self.remedy}
        return asdict(self) | {name: sentences.write_document(text) for name, text in said.items()}

    def mask(self) -> Self:
        """Masks addresses: problems outlive the file, are passed around, and may quote a person
        who is erased; the row number is enough to find the row.
        """
        return replace(self, value=mask_value(self.value))


@dataclass(frozen=True, slots=True)
class ChunkProblems:
    """The problems of a chunk's rows."""

    refused: Sequence[RowProblem]
    repairs: Sequence[RowProblem]  # of rows that are imported in part, or by an earlier row
    remarks: Sequence[RowProblem]  # of rows that need no repair

    def in_order(self) -> list[RowProblem]:
        return sorted((*self.refused, *self.repairs, *self.remarks), key=attrgetter("row"))


def _mask_values(problem: Sentence) -> Sentence:
    """The problem without the addresses that it quotes."""
    values = {
        name: masking.mask_text(value) if type(value) is str else value
        for name, value in problem.values.items()
    }
    return Sentence(problem.form, values)


def read_document(document: Mapping[str, Any]) -> RowProblem:
    """A problem that was kept as JSON, which knows how it is said in other languages."""
    said = {name: sentences.read_document(document[name]) for name in ("problem", "remedy")}
    return RowProblem(**{**document, **said})


def mask_value(value: str) -> str:
    """A value as the problems of an import have it in the database."""
    return masking.mask_text(value[:_LONGEST_VALUE])[:_LONGEST_STORED]


def csv_lines(problems: Iterable[RowProblem], *, with_header: bool = True) -> Iterator[str]:
    """The lines of a CSV file that no spreadsheet executes."""
    if with_header:
        yield csv_line(_HEADER)
    for problem in problems:
        yield csv_line(astuple(problem))
