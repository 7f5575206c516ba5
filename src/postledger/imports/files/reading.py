"""Reads the rows of a CSV file in chunks, each with the byte at which it ends."""

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from postledger.imports import forms, old_states
from postledger.imports.files import encodings
from postledger.imports.forms import FormColumn
from postledger.imports.refusals import FileRefusedError
from postledger.lib.sentences import say
from postledger.providers import addresses

CHUNK = 10_000
LARGEST_CHUNK = 2_000_000  # bytes; as cells of a few letters they take twenty times that
LONGEST_LINE = 1_000_000
MOST_COLUMNS = 200
# Blank ones cost as much as others: an upload has ten times as many line ends as addresses.
MOST_ROWS = 5_000_000
_SAMPLE = 1_000  # rows whose values tell what a column may be

_DELIMITERS = (",", ";", "\t", "|")
_MEGABYTE = 1 << 20


@dataclass(frozen=True, slots=True)
class Dialect:
    """How the bytes of a file are read."""

    encoding: str
    delimiter: str


@dataclass(frozen=True, slots=True)
class FileSurvey:
    """A file that was read to its end without an error."""

    dialect: Dialect
    header: tuple[str, ...]
    first_byte: int  # the byte at which the row after the header begins
    row_count: int  # without the header
    size: int
    sha256: str
    state_like: tuple[str, ...] = ()  # columns that look as if they said who gets mail
    # Columns of dates that are not ISO, and of numbers with a comma.
    forms: Mapping[str, FormColumn] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FileChunk:
    """Consecutive rows, and the bytes from `start` to before `end` that hold them."""

    first_row: int  # as spreadsheets count: the header is row 1
    records: list[list[str]]
    start: int
    end: int


def survey_file(path: Path) -> FileSurvey:
    """Reads all of a file: one that cannot be read to its end is refused before it is imported.

    Twice, for its bytes and for its rows; together a small part of what an import takes.
    """
    file_bytes = encodings.inspect_bytes(path)
    start, encoding = file_bytes.start, file_bytes.encoding
    with path.open("rb", buffering=_MEGABYTE) as file:
        file.seek(start)
        dialect = Dialect(encoding, _find_delimiter(_Lines(file, encoding, start)))
        first = next(read_chunks(file, dialect, offset=start, row=1, size=1), None)
        if first is None:
            raise FileRefusedError(say("The file has no rows. Export it again, with column names."))
        header, body = _read_header(first), first.end
        first = next(read_chunks(file, dialect, offset=body, row=2, size=_SAMPLE), None)
        sample = first.records if first else []
        chunks = read_chunks(file, dialect, offset=body, row=2)
        row_count, counted = _count_rows(chunks, forms.find_columns(header, sample))
    state_like = old_states.find_state_columns(header, sample)
    size, sha256 = file_bytes.size, file_bytes.sha256
    return FileSurvey(dialect, header, body, row_count, size, sha256, state_like, counted)


def survey_new_file(path: Path) -> FileSurvey:
    """The same for a file that is to become an import: it has contacts below names of columns."""
    survey = survey_file(path)
    if any(addresses.is_valid(name) for name in survey.header):
        raise FileRefusedError(
            say(
                "The first row looks like a contact: it has to have the names of the columns."
                " Insert a row with names such as email and name above it."
            )
        )
    if not survey.row_count:
        raise FileRefusedError(
            say(
                "The file has the names of the columns and no row below them. Export it again,"
                " with the contacts."
            )
        )
    return survey


def _count_rows(
    chunks: Iterator[FileChunk], columns: Mapping[str, tuple[int, type[FormColumn]]]
) -> tuple[int, dict[str, FormColumn]]:
    count, counted = 0, {name: kind() for name, (_, kind) in columns.items()}
    for chunk in chunks:
        count += len(chunk.records)
        if count > MOST_ROWS:
            raise FileRefusedError(
                say(
                    "The file has more than %(most)s rows, blank ones included. Divide it into"
                    " smaller ones.",
                    most=MOST_ROWS,
                )
            )
        for name, (index, _) in columns.items():
            counted[name].add_rows(chunk.records, index)
    return count, counted


def read_chunks(
    file: BinaryIO, dialect: Dialect, *, offset: int, row: int, size: int = CHUNK
) -> Iterator[FileChunk]:
    """The rows from a byte on, at which row `row` begins; at most `size` at a time.

    A chunk also ends with the row that makes it large. Its end depends only on the file and on its
    start, so a resumed import gets the same chunks.
    """
    file.seek(offset)
    lines = _Lines(file, dialect.encoding, offset)
    reader = csv.reader(lines.read(), delimiter=dialect.delimiter, strict=True)
    while True:
        records: list[list[str]] = []
        start = lines.position
        try:
            # Rows read before an error stay in the list, which gives the error its row number.
            records.extend(_read_records(reader, lines, size))
        except csv.Error as error:
            raise _unreadable(row + len(records), str(error)) from None
        except UnicodeError:
            raise FileRefusedError(
                say(
                    "Row %(row)s has characters that are not %(encoding)s. Export the file again as"
                    " UTF-8.",
                    row=row + len(records),
                    encoding=dialect.encoding,
                )
            ) from None
        if not records:
            return
        yield FileChunk(row, records, start, lines.position)
        row += len(records)


def _read_records(reader: Iterator[list[str]], lines: "_Lines", size: int) -> Iterator[list[str]]:
    end = lines.position + LARGEST_CHUNK
    for record in islice(reader, size):
        lines.row_start = lines.position
        yield record
        if lines.position >= end:
            return


class _Lines:
    """The lines of a file as text; `position` is the byte after the last one.

    The reader of rows sets `row_start`, since quoted cells may have many lines.
    """

    def __init__(self, file: BinaryIO, encoding: str, position: int) -> None:
        self.position = self.row_start = position
        self._file = file
        self._encoding = encoding

    def read(self) -> Iterator[str]:
        for line in self._read_bytes():
            self.position += len(line)
            text = line.decode(self._encoding)
            if "\0" in text:
                raise FileRefusedError(
                    say(
                        "The file has a zero byte before byte %(position)s, so it is not text, or"
                        " it is damaged. Save it as CSV (UTF-8).",
                        position=self.position,
                    )
                )
            if self.position - self.row_start > LONGEST_LINE:
                raise _too_long(self.row_start)
            yield text

    def _read_bytes(self) -> Iterator[bytes]:
        """In UTF-16 the byte of a line feed may also be half of another character."""
        file, end, line = self._file, "\n".encode(self._encoding), b""
        while part := file.readline(LONGEST_LINE + 1):
            line += part
            if len(line) % len(end):
                line += file.read(1)
            if len(line) > LONGEST_LINE:
                raise _too_long(self.position)
            if line.endswith(end):
                yield line
                line = b""
        if line:
            yield line


def _find_delimiter(lines: _Lines) -> str:
    """The delimiter that makes most columns of the first line."""
    try:
        first = next(lines.read(), "")
    except UnicodeError:
        raise FileRefusedError(
            say("The first row has characters that cannot be read. Export the file again as UTF-8.")
        ) from None
    return max(_DELIMITERS, key=first.count)


def _read_header(chunk: FileChunk) -> tuple[str, ...]:
    [names] = chunk.records
    if not any(names):
        raise FileRefusedError(say("The first row is blank. Write the names of the columns there."))
    if len(names) > MOST_COLUMNS:
        raise FileRefusedError(
            say(
                "The file has %(number)s columns, and %(most)s can be imported. Remove"
                " those that are not needed.",
                number=len(names),
                most=MOST_COLUMNS,
            )
        )
    return tuple(name.strip() for name in names)


# By a part of the message of Python's reader.
_REASONS = {
    "unexpected end of data": say(
        "a quote is opened and never closed. Close it, or double it if it is part of a text."
    ),
    "field larger": say(
        "a cell is longer than 131,072 characters; a quote may be missing. Shorten it."
    ),
    "new-line": say("its line ends are those of old Macs. Save the file again as CSV (UTF-8)."),
    "": say("there is text after a closing quote. Double each quote that is part of a text."),
}


def _unreadable(row: int, message: str) -> FileRefusedError:
    reason = next(reason for part, reason in _REASONS.items() if part in message)
    return FileRefusedError(say("Row %(row)s cannot be read: %(reason)s", row=row, reason=reason))


def _too_long(position: int) -> FileRefusedError:
    return FileRefusedError(
        say(
            "The row that begins at byte %(position)s is longer than %(longest)s"
            " bytes. The file is not a table of contacts, or line ends or quotes are"
            " missing. Export it again as CSV.",
            position=position,
            longest=LONGEST_LINE,
        )
    )
