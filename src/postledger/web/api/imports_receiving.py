"""Takes an uploaded file from a request: onto the disk as it comes, and no more than is allowed."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO, ClassVar

from django.http import HttpRequest

from postledger.contacts.importing.refusals import FileRefusedError
from postledger.lib.errors import RefusedError

LARGEST = 50 * 1024 * 1024  # bytes
TYPES = (
    "text/csv",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "application/octet-stream",
)

_BLOCK = 1 << 18


class FileTooLargeError(RefusedError):
    code: ClassVar[str] = "import_too_large"


class FileTypeError(RefusedError):
    code: ClassVar[str] = "unsupported_media_type"


@contextmanager
def received(request: HttpRequest) -> Iterator[Path]:
    """The body of a request as a file, while this lasts."""
    if request.content_type not in TYPES:
        raise FileTypeError(
            f"The body is {(request.content_type or 'of no type')[:100]}."
            f" Send the file itself, as one of: {', '.join(TYPES)}."
        )
    promised = _promised(request)
    with TemporaryDirectory(prefix="postledger-") as folder:
        path = Path(folder) / "upload"
        with path.open("wb") as file:
            size = _copied(request, file)
        if size < promised:
            raise FileRefusedError(
                f"The upload broke off after {size:,} of {promised:,} bytes. Send it again."
            )
        yield path


def _promised(request: HttpRequest) -> int:
    length = str(request.META.get("CONTENT_LENGTH") or "0")
    promised = int(length) if length.isdecimal() else 0
    _refuse_large(promised)
    return promised


def _copied(request: HttpRequest, file: BinaryIO) -> int:
    size = 0
    while block := request.read(_BLOCK):
        size += len(block)
        _refuse_large(size)
        file.write(block)
    return size


def _refuse_large(size: int) -> None:
    if size > LARGEST:
        raise FileTooLargeError(
            f"The file is larger than {LARGEST // 1024**2} MiB. Divide it, or let an operator"
            " import it with postledger contacts import, which takes files of any size."
        )
