"""A program of its own that writes a sheet of an Excel workbook as CSV, within system limits.

`python -I sheet_to_csv.py WORKBOOK CSV [SHEET]` exits with 0, or with 3 and, as JSON on its
standard output, the reason why it refuses the workbook. With any other status the workbook broke
the reader, or the reader ran into a limit. It imports nothing of Postledger, so it starts quickly.
"""

import csv
import errno
import json
import re
import resource
import sys
from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from pathlib import Path
from zipfile import BadZipFile, ZipFile

from python_calamine import CalamineError, CalamineSheet, CalamineWorkbook

REFUSED = 3
NO_SHEET, LOCKED, DAMAGED = "no_sheet", "locked", "damaged"
TOO_LARGE, TOO_LARGE_UNZIPPED = "too_large", "too_large_unzipped"
LARGEST_CSV = 100_000_000  # bytes
LARGEST_WORKBOOK = 600_000_000  # bytes, unzipped: what the reader has to parse

_MEMORY = 1 << 30  # bytes of address space
_PROCESSOR = 30  # seconds
_LONGEST_DETAIL = 2_000
_EXACT = 1e15  # spreadsheets keep fifteen digits
# Signs that the CSV reader might take for the delimiter of the header, and line ends.
_DELIMITERS = re.compile(r"[;|\t\r\n]+")
type _Cell = float | str | bool | time | date | datetime | timedelta


class _NoSheetError(Exception):
    def __init__(self, names: list[str]) -> None:
        super().__init__(", ".join(repr(name[:64]) for name in names[:20]))


class _TooLargeUnzippedError(Exception):
    pass


_REFUSED_ERRORS = (_NoSheetError, _TooLargeUnzippedError, CalamineError, BadZipFile, OSError)


def main(workbook: str, target: str, sheet: str | None = None) -> int:
    for limit, most in (
        (resource.RLIMIT_AS, _MEMORY),
        (resource.RLIMIT_CPU, _PROCESSOR),
        (resource.RLIMIT_FSIZE, LARGEST_CSV),
        (resource.RLIMIT_CORE, 0),
    ):
        _, hard = resource.getrlimit(limit)
        lower = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(limit, (lower, lower))
    try:
        _check_size(workbook)
        rows = _text_rows(_open_sheet(workbook, sheet))
        with Path(target).open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows(rows)
    except _REFUSED_ERRORS as error:
        reason = _find_reason(error)
        if reason is None:
            raise
        sys.stdout.write(json.dumps({"reason": reason, "detail": str(error)[:_LONGEST_DETAIL]}))
        return REFUSED
    return 0


def _check_size(workbook: str) -> None:
    with ZipFile(workbook) as file:
        if sum(part.file_size for part in file.infolist()) > LARGEST_WORKBOOK:
            raise _TooLargeUnzippedError


def _open_sheet(workbook: str, sheet: str | None) -> CalamineSheet:
    book = CalamineWorkbook.from_path(workbook)
    if sheet is None:
        return book.get_sheet_by_index(0)
    if sheet not in book.sheet_names:
        raise _NoSheetError(book.sheet_names)
    return book.get_sheet_by_name(sheet)


def _text_rows(sheet: CalamineSheet) -> Iterator[list[str]]:
    """The rows at their own places: a row that is left out is a blank one, except at the end."""
    margin = [""] * (sheet.start[1] if sheet.start else 0)
    blank = 0
    for number, cells in enumerate(sheet.iter_rows()):
        texts = [*margin, *map(_text, cells)]
        while texts and not texts[-1]:
            texts.pop()
        if not texts:
            blank += 1
            continue
        yield from ([] for _ in range(blank))
        blank = 0
        yield texts if number else [_DELIMITERS.sub(" ", text) for text in texts]


def _text(cell: _Cell) -> str:
    """Dates and times in ISO 8601; numbers as they were typed, so 12.0 is 12."""
    match cell:
        case str():
            return cell
        case bool():
            return "TRUE" if cell else "FALSE"
        case float():
            is_whole = abs(cell) < _EXACT and cell.is_integer()
            return str(int(cell)) if is_whole else format(cell, ".15g")
        case datetime() | time():
            return cell.isoformat(timespec="seconds")
        case timedelta():
            minutes, seconds = divmod(int(cell.total_seconds()), 60)
            return f"{minutes // 60:02}:{minutes % 60:02}:{seconds:02}"
        case _:
            return str(cell)


def _find_reason(error: Exception) -> str | None:
    """Why the workbook is refused; None for an error that is not the workbook's fault."""
    match error:
        case _NoSheetError():
            return NO_SHEET
        case _TooLargeUnzippedError():
            return TOO_LARGE_UNZIPPED
        case OSError():
            return TOO_LARGE if error.errno == errno.EFBIG else None
        case _:
            return LOCKED if "password" in str(error).lower() else DAMAGED


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
