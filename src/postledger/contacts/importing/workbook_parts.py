"""What a sheet needs of the rest of its workbook: where it is, shared texts, formats of cells."""

import posixpath
import re
from array import array
from typing import override
from zipfile import ZipFile

from postledger.contacts.importing import cells, workbooks
from postledger.contacts.importing.refusals import FileRefusedError
from postledger.contacts.importing.workbooks import Attributes, Events

LONGEST_TEXT = 32_767  # characters, as many as a cell can have

_MOST_SHEETS = 1_000
_MOST_FORMATS = 70_000  # spreadsheet programs allow 65,490
_MOST_TEXTS = 5_000_000
_LARGEST_TEXTS = 100_000_000  # bytes
_NUMBER = re.compile(r"[0-9]{1,9}")


class Outline(Events):
    """The sheets of a workbook by name, in their order, and from when it counts its days."""

    def __init__(self, book: ZipFile) -> None:
        self.is_1904 = False
        self._sheets: dict[str, str] = {}
        workbooks.read(book, "xl/workbook.xml", self)
        self._targets = _Targets(book).found

    @override
    def start(self, name: str, attributes: Attributes) -> None:
        if name == "workbookPr":
            self.is_1904 = attributes.get("date1904", "0") in {"1", "true"}
        elif name == "sheet":
            relations = (value for key, value in attributes.items() if key.endswith(":id"))
            self._sheets[attributes.get("name", "")[:255]] = next(relations, "")
            _bound(len(self._sheets), _MOST_SHEETS)

    def part(self, sheet: str | None) -> str:
        """The part that holds a sheet, the first one unless it is named."""
        if sheet is None:
            sheet = next(iter(self._sheets), "")
        if sheet not in self._sheets:
            there = ", ".join(repr(name[:64]) for name in list(self._sheets)[:20])
            raise FileRefusedError(
                f"The workbook has no sheet {sheet[:64]!r}: it has {there or 'none'}."
            )
        return self._targets.get(self._sheets[sheet], "")


class _Targets(Events):
    """Which part goes under which id of a relation."""

    def __init__(self, book: ZipFile) -> None:
        self.found: dict[str, str] = {}
        workbooks.read(book, "xl/_rels/workbook.xml.rels", self)

    @override
    def start(self, name: str, attributes: Attributes) -> None:
        if name == "Relationship":
            target = posixpath.join("/xl", attributes.get("Target", "")[:255])
            self.found[attributes.get("Id", "")[:255]] = posixpath.normpath(target).lstrip("/")
            _bound(len(self.found), _MOST_SHEETS * 10)


class Moments(Events):
    """Which styles of cells show a date or a time."""

    def __init__(self, book: ZipFile) -> None:
        self._formats: dict[int, str] = {}
        self._used: list[int] = []
        self._is_inside = False
        workbooks.read(book, "xl/styles.xml", self)
        self.styles = {
            str(style)
            for style, format_ in enumerate(self._used)
            if cells.shows_moment(format_, self._formats)
        }

    @override
    def start(self, name: str, attributes: Attributes) -> None:
        format_ = number(attributes.get("numFmtId", ""))
        if name == "numFmt":
            self._formats[format_] = attributes.get("formatCode", "")[:255]
        elif name == "cellXfs":
            self._is_inside = True
        elif name == "xf" and self._is_inside:
            self._used.append(format_)
        _bound(len(self._formats) + len(self._used), _MOST_FORMATS)

    @override
    def end(self, name: str) -> None:
        if name == "cellXfs":
            self._is_inside = False


class Texts(Events):
    """The texts that cells share, by number; end to end, since there may be millions."""

    def __init__(self, book: ZipFile) -> None:
        self._bytes = bytearray()
        self._ends = array("L", [0])
        self._is_text = False
        self._is_phonetic = False
        workbooks.read(book, "xl/sharedStrings.xml", self)

    @override
    def start(self, name: str, attributes: Attributes) -> None:
        if name == "t":
            self._is_text = not self._is_phonetic
        elif name == "rPh":
            self._is_phonetic = True

    @override
    def text(self, text: str) -> None:
        if self._is_text:
            self._bytes += text.encode()
            _bound(len(self._bytes), _LARGEST_TEXTS)

    @override
    def end(self, name: str) -> None:
        if name == "t":
            self._is_text = False
        elif name == "rPh":
            self._is_phonetic = False
        elif name == "si":
            _bound(len(self._bytes) - self._ends[-1], LONGEST_TEXT * 4)
            self._ends.append(len(self._bytes))
            _bound(len(self._ends), _MOST_TEXTS)

    def at(self, place: str) -> str:
        here = number(place)
        if not 0 <= here < len(self._ends) - 1:
            raise workbooks.damaged("a cell has a text that is not there")
        return self._bytes[self._ends[here] : self._ends[here + 1]].decode()


def number(text: str) -> int:
    """What a small number of a workbook says; -1 where it is none."""
    return int(text) if _NUMBER.fullmatch(text) else -1


def _bound(count: int, most: int) -> None:
    if count > most:
        raise FileRefusedError(
            "The workbook has more sheets, formats or texts than can be read, or longer ones."
            " Save the sheet with the contacts as CSV (UTF-8)."
        )
