"""Turns a sheet of an Excel workbook into the CSV file that an import reads.

A child process reads the workbook, because a file of a kilobyte can ask the reader for half a
terabyte, and no code in the same process survives that.
"""

import json
import subprocess
import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import IO

import structlog

from postledger.imports.files import sheet_to_csv
from postledger.imports.refusals import FileRefusedError
from postledger.lib import unnamed_files
from postledger.lib.sentences import Sentence, say

_log = structlog.get_logger(__name__)

_ZIP_SIGNATURE = b"PK\x03\x04"
_PATIENCE = 300.0  # seconds by the clock; the child limits its processor time itself


@contextmanager
def open_as_csv(path: Path, *, sheet: str | None = None) -> Iterator[Path]:
    """Yields the file itself, or for a workbook a CSV file of the first or the named sheet.

    The same sheet always becomes the same bytes, so an import of it can be resumed.
    """
    if not _is_workbook(path):
        yield path
        return
    with path.open("rb") as workbook, TemporaryFile(prefix="postledger-") as target:
        _convert(workbook, target, sheet)
        yield unnamed_files.find_path(target)


def _is_workbook(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(_ZIP_SIGNATURE)) == _ZIP_SIGNATURE
    except OSError:
        return False  # the CSV reader reports why it cannot be read


def _convert(workbook: IO[bytes], target: IO[bytes], sheet: str | None) -> None:
    with TemporaryDirectory(prefix="postledger-") as folder:
        link = Path(folder) / "workbook.xlsx"  # the reader goes by the extension
        link.symlink_to(unnamed_files.find_path(workbook))
        arguments = [str(link), str(unnamed_files.find_path(target))]
        given = (workbook.fileno(), target.fileno())
        _run_reader([*arguments, *([] if sheet is None else [sheet])], given, sheet)


def _run_reader(arguments: list[str], given: Collection[int], sheet: str | None) -> None:
    """Runs it with these open files, by whose paths its arguments name them."""
    try:
        child = subprocess.run(  # noqa: S603  our own program; a sheet's name is only looked up
            [sys.executable, "-I", sheet_to_csv.__file__, *arguments],
            env={},
            pass_fds=given,
            capture_output=True,
            text=True,
            timeout=_PATIENCE,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise _unreadable() from None
    if child.returncode == sheet_to_csv.REFUSED:
        raise FileRefusedError(_explain(sheet=sheet or "", **json.loads(child.stdout)))
    if child.returncode:
        _log.warning("workbook reader died", status=child.returncode, error=child.stderr[-500:])
        raise _unreadable()


def _explain(*, reason: str, detail: str, sheet: str) -> Sentence:
    match reason:
        case sheet_to_csv.NO_SHEET:
            return say(
                "The workbook has no sheet '%(sheet)s': it has %(names)s.",
                sheet=sheet[:64],
                names=detail,
            )
        case sheet_to_csv.TOO_LARGE:
            return say(
                "As CSV, the sheet has more than %(size)s MB. Divide it.",
                size=sheet_to_csv.LARGEST_CSV // 1_000_000,
            )
        case sheet_to_csv.TOO_LARGE_UNZIPPED:
            return say(
                "Unzipped, the workbook has more than %(size)s MB. Save the sheet with the contacts"
                " as CSV (UTF-8).",
                size=sheet_to_csv.LARGEST_WORKBOOK // 1_000_000,
            )
        case sheet_to_csv.LOCKED:
            return say("The workbook has a password. Save it without one.")
        case _:
            return say(
                "The file is not an Excel workbook (.xlsx), or is damaged: %(detail)s."
                " Open it, and save it again as .xlsx or CSV.",
                detail=detail[:200],
            )


def _unreadable() -> FileRefusedError:
    return FileRefusedError(
        say(
            "The workbook is too large to be read, or damaged. Save the sheet with the"
            " contacts as CSV (UTF-8)."
        )
    )
