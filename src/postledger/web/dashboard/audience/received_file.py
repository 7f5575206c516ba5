"""A file that a form uploads, on this machine while it is read."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from django.core.files.uploadedfile import UploadedFile


@contextmanager
def keep_file(uploaded: UploadedFile) -> Iterator[Path]:
    """A copy that can be read by its path, while the context lasts."""
    with TemporaryDirectory(prefix="postledger-") as folder:
        path = Path(folder) / "upload"
        with path.open("wb") as file:
            file.writelines(uploaded.chunks())
        yield path
