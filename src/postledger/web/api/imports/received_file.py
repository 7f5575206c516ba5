"""Writes the body of an upload to the disk while it arrives, up to the allowed size."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.http import HttpRequest

from postledger.imports.refusals import FileRefusedError
from postledger.lib import unnamed_files
from postledger.lib.errors import TooLargeError
from postledger.web.shared.problems import UnsupportedMediaTypeError

LARGEST = 50 * 1024 * 1024  # bytes
TYPES = (
    "text/csv",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "application/octet-stream",
)

_BLOCK = 1 << 18


class FileTooLargeError(TooLargeError):
    code = "import_too_large"


@contextmanager
def receive_file(request: HttpRequest) -> Iterator[Path]:
    """The body of a request as a file, while the context lasts."""
    if request.content_type not in TYPES:
        raise UnsupportedMediaTypeError(
            f"The body is {(request.content_type or 'of no type')[:100]}."
            f" Send the file itself, as one of: {', '.join(TYPES)}."
        )
    length = str(request.META.get("CONTENT_LENGTH") or "0")
    announced = int(length) if length.isdecimal() else 0
    _refuse_large(announced)
    with unnamed_files.keep_bytes(_read_blocks(request, announced)) as path:
        yield path


def _read_blocks(request: HttpRequest, announced: int) -> Iterator[bytes]:
    size = 0
    while block := request.read(_BLOCK):
        size += len(block)
        _refuse_large(size)
        yield block
    if size < announced:
        raise FileRefusedError(
            f"The upload broke off after {size:,} of {announced:,} bytes. Send it again."
        )


def _refuse_large(size: int) -> None:
    if size > LARGEST:
        raise FileTooLargeError(
            f"The file is larger than {LARGEST // 1024**2} MiB. Divide it, or let an operator"
            " import it with postledger contacts import, which takes files of any size."
        )
