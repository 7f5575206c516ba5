"""Reads the rows of a CSV file, and knows at which byte each of them ends."""

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from postledger.contacts.importing import encodings
from postledger.contacts.importing.refusals import FileRefusedError

CHUNK = 10_000
LARGEST_CHUNK = 2_000_000  # bytes; as cells of a few letters they take twenty times that
LONGEST_LINE = 1_000_000
MOST_COLUMNS = 200

_DELIMITERS = (",", ";", "\t", "|")
_MEGABYTE = 1 << 20


@dataclass(frozen=True, slots=True)
class Shape:
    """How the bytes of a file are to be read."""

    encoding: str
    delimiter: str


@dataclass(frozen=True, slots=True)
class Survey:
    """A file that was read to its end without anything wrong with its form."""

    shape: Shape
    header: tuple[str, ...]
    body: int  # the byte at which the row after the header begins
    row_count: int  # without the header
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Chunk:
    """Neighbouring rows, and where the next ones begin."""

    first_row: int  # as spreadsheets count: the header is row 1
    records: list[list[str]]
    end: int


def survey(path: Path) -> Survey:
    """Reads all of a file: what cannot be read to its end is refused before anything is imported.

    Twice, once for its bytes and once for its rows; together a small part of what an import takes.
    """
    seen = encodings.look(path)
    with path.open("rb", buffering=_MEGABYTE) as file:
        file.seek(seen.start)
        shape = Shape(seen.encoding, _delimiter(_Lines(file, seen.encoding, seen.start)))
        first = next(chunks(file, shape, offset=seen.start, row=1, size=1), None)
        if first is None:
            raise FileRefusedError("The file has no rows. Export it again, with column names.")
        header, body = _header(first), first.end
        row_count = sum(
            len(chunk.records) for chunk in chunks(file, shape, offset=body, row=2, size=CHUNK)
        )
    return Survey(shape, header, body, row_count, seen.size, seen.sha256)


def chunks(
    file: BinaryIO, shape: Shape, *, offset: int, row: int, size: int = CHUNK
) -> Iterator[Chunk]:
    """The rows from a byte on, which is the beginning of row `row`; at most `size` at a time.

    A chunk also ends with the row that makes it large. Where it ends depends on the file and on
    where it begins alone, so whoever resumes gets the same ones.
    """
    file.seek(offset)
    lines = _Lines(file, shape.encoding, offset)
    reader = csv.reader(lines.read(), delimiter=shape.delimiter, strict=True)
    while True:
        records: list[list[str]] = []
        try:
            # What was read before an error stays in the list, which says where it happened.
            records.extend(_some(reader, lines, size))
        except csv.Error as error:
            raise _unreadable(row + len(records), str(error)) from None
        except UnicodeError:
            raise FileRefusedError(
                f"Row {row + len(records)} has characters that are not {shape.encoding}."
                " Export the file again as UTF-8."
            ) from None
        if not records:
            return
        yield Chunk(row, records, lines.position)
        row += len(records)


def _some(reader: Iterator[list[str]], lines: "_Lines", size: int) -> Iterator[list[str]]:
    end = lines.position + LARGEST_CHUNK
    for record in islice(reader, size):
        lines.row_start = lines.position
        yield record
        if lines.position >= end:
            return


class _Lines:
    """The lines of a file as text; `position` is the byte after the last one.

    Whoever reads rows says where one begins, since cells between quotes may have many lines.
    """

    def __init__(self, file: BinaryIO, encoding: str, position: int) -> None:
        self.position = self.row_start = position
        self._file = file
        self._encoding = encoding

    def read(self) -> Iterator[str]:
        lines = self._wide() if self._encoding.startswith("utf-16") else self._narrow()
        for line in lines:
            if "\0" in line:
                raise FileRefusedError(
                    f"The file has a zero byte before byte {self.position}, so it is not text,"
                    " or it is damaged. Save it as CSV (UTF-8)."
                )
            if self.position - self.row_start > LONGEST_LINE:
                raise _too_long(self.row_start)
            yield line

    def _narrow(self) -> Iterator[str]:
        """Encodings in which a line ends with the byte of a line feed, and no other byte is one."""
        readline, encoding = self._file.readline, self._encoding
        while line := readline(LONGEST_LINE + 1):
            if len(line) > LONGEST_LINE:
                raise _too_long(self.position)
            self.position += len(line)
            yield line.decode(encoding)

    def _wide(self) -> Iterator[str]:
        """UTF-16: the byte of a line feed may be half of another character."""
        file, end, line = self._file, "\n".encode(self._encoding), b""
        while part := file.readline(LONGEST_LINE + 1):
            line += part
            if len(line) % 2:
                line += file.read(1)
            if len(line) > LONGEST_LINE:
                raise _too_long(self.position)
            if line.endswith(end):
                self.position += len(line)
                yield line.decode(self._encoding)
                line = b""
        if line:
            self.position += len(line)
            yield line.decode(self._encoding)


def _delimiter(lines: _Lines) -> str:
    """The one that makes most columns of the first line."""
    try:
        first = next(lines.read(), "")
    except UnicodeError:
        raise FileRefusedError(
            "The first row has characters that cannot be read. Export the file again as UTF-8."
        ) from None
    return max(_DELIMITERS, key=first.count)


def _header(chunk: Chunk) -> tuple[str, ...]:
    [names] = chunk.records
    if len(names) > MOST_COLUMNS:
        raise FileRefusedError(
            f"The file has {len(names)} columns, and {MOST_COLUMNS} can be imported."
            " Leave out those that are not needed."
        )
    return tuple(name.strip() for name in names)


def _unreadable(row: int, reason: str) -> FileRefusedError:
    if "unexpected end of data" in reason:
        told = "a quote is opened and never closed. Close it, or double it if it is part of a text."
    elif "field larger" in reason:
        told = "a cell is longer than 131,072 characters; a quote may be missing. Shorten it."
    elif "new-line" in reason:
        told = "its line ends are those of old Macs. Save the file again as CSV (UTF-8)."
    else:
        told = "there is text after a closing quote. Double each quote that is part of a text."
    return FileRefusedError(f"Row {row} cannot be read: {told}")


def _too_long(position: int) -> FileRefusedError:
    return FileRefusedError(
        f"The row that begins at byte {position} is longer than {LONGEST_LINE:,} bytes."
        " This is no table of contacts, or line ends or quotes are missing. Export it again as CSV."
    )
