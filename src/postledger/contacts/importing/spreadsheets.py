"""Turns a sheet of an Excel workbook into the CSV file that an import reads."""

import csv
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TextIO, override

from postledger.contacts.importing import cells, workbooks
from postledger.contacts.importing.reading import MOST_COLUMNS
from postledger.contacts.importing.refusals import FileRefusedError
from postledger.contacts.importing.workbook_parts import (
    LONGEST_TEXT,
    Moments,
    Outline,
    Texts,
    number,
)
from postledger.contacts.importing.workbooks import Attributes, Events

MOST_ROWS = 1_048_576  # as many as a sheet can have
LARGEST = 100_000_000  # characters of CSV

_SIGN = b"PK\x03\x04"
_LETTERS = re.compile(r"[A-Z]{1,3}")
_DIGITS = "0123456789"
# Signs that a reader might take for what stands between the columns, and ends of lines.
_DELIMITERS = re.compile(r"[;|\t\r\n]+")


@contextmanager
def as_csv(path: Path, *, sheet: str | None = None) -> Iterator[Path]:
    """The file itself; of a workbook, its first sheet or the named one as CSV while this lasts.

    The same sheet always becomes the same bytes, so that an import of it can be resumed.
    """
    if not _is_workbook(path):
        yield path
        return
    with TemporaryDirectory(prefix="postledger-") as folder:
        made = Path(folder) / "sheet.csv"
        with made.open("w", encoding="utf-8", newline="") as file:
            convert(path, file, sheet=sheet)
        yield made


def _is_workbook(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(_SIGN)) == _SIGN
    except OSError:
        return False  # whoever reads it next says why it cannot


def convert(path: Path, file: TextIO, *, sheet: str | None = None) -> None:
    with workbooks.opened(path) as book:
        outline = Outline(book)
        part = outline.part(sheet)
        rows = _Rows(file, Texts(book), Moments(book), is_1904=outline.is_1904)
        if not workbooks.read(book, part, rows):
            raise workbooks.damaged("the sheet is not in it")


class _Rows(Events):
    """Writes each row as it ends. Rows stay where they are: one that is left out is a blank one."""

    def __init__(self, file: TextIO, texts: Texts, moments: Moments, *, is_1904: bool) -> None:
        self._file = file
        self._writer = csv.writer(file)
        self._texts = texts
        self._moments = moments.styles
        self._is_1904 = is_1904
        self._written = 0  # rows
        self._size = 0  # characters
        self._row = 0
        self._column = 0
        self._cells: list[str] = []
        self._kind = self._style = ""
        self._value: list[str] = []
        self._length = 0
        self._is_value = self._is_phonetic = False

    @override
    def start(self, name: str, attributes: Attributes) -> None:
        if name == "c":
            self._begin_cell(attributes)
        elif name == "v" or (name == "t" and not self._is_phonetic):
            self._is_value = True
        elif name == "rPh":
            self._is_phonetic = True
        elif name == "row":
            self._begin_row(attributes.get("r"))

    def _begin_row(self, place: str | None) -> None:
        row = self._row + 1 if place is None else number(place)
        if row <= self._row:
            raise workbooks.damaged("its rows are in disorder")
        if row > MOST_ROWS:
            raise FileRefusedError(f"The sheet has more than {MOST_ROWS:,} rows. Divide it.")
        self._row, self._column, self._cells = row, 0, []

    def _begin_cell(self, attributes: Attributes) -> None:
        place = attributes.get("r")
        self._column = _column(place.rstrip(_DIGITS)) if place else self._column + 1
        self._kind, self._style = attributes.get("t", "n"), attributes.get("s", "")
        self._value, self._length = [], 0

    @override
    def text(self, text: str) -> None:
        if self._is_value:
            self._length += len(text)
            if self._length > LONGEST_TEXT:
                raise FileRefusedError(
                    f"A cell in row {self._row} is longer than {LONGEST_TEXT:,} characters."
                    " Shorten it."
                )
            self._value.append(text)

    @override
    def end(self, name: str) -> None:
        if name == "c":
            self._end_cell("".join(self._value))
        elif name in {"v", "t"}:
            self._is_value = False
        elif name == "rPh":
            self._is_phonetic = False
        elif name == "row":
            self._end_row()

    def _end_cell(self, value: str) -> None:
        text = self._read(value) if value else ""
        if not text:
            return
        if self._column > MOST_COLUMNS:
            raise FileRefusedError(
                f"The sheet has more than {MOST_COLUMNS} columns, in row {self._row}."
                " Leave out those that are not needed."
            )
        self._cells += [""] * (self._column - len(self._cells))
        self._cells[self._column - 1] = text

    def _read(self, value: str) -> str:
        match self._kind:
            case "s":
                return self._texts.at(value)
            case "b":
                return cells.truth(value)
            case "n" if self._style in self._moments:
                return cells.moment(value, is_1904=self._is_1904)
            case "n":
                return cells.number(value)
            case _:
                return value

    def _end_row(self) -> None:
        if not self._cells:
            return
        self._file.write("\r\n" * (self._row - self._written - 1))
        self._written = self._row
        if self._row == 1:
            self._cells = [_DELIMITERS.sub(" ", cell) for cell in self._cells]
        self._size += self._writer.writerow(self._cells)
        if self._size > LARGEST:
            raise FileRefusedError(
                f"As CSV, the sheet has more than {LARGEST // 1_000_000} MB. Divide it."
            )


@lru_cache(maxsize=MOST_COLUMNS * 2)
def _column(letters: str) -> int:
    """The number of a column, as in A, Z, AA."""
    if not _LETTERS.fullmatch(letters):
        raise workbooks.damaged("the place of a cell is wrong")
    column = 0
    for letter in letters:
        column = column * 26 + ord(letter) - 64
    return column
