"""A file that a form uploads, on this machine while it is read."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.core.files.uploadedfile import UploadedFile

from postledger.lib import unnamed_files


@contextmanager
def keep_file(uploaded: UploadedFile) -> Iterator[Path]:
    """A copy that can be read by its path, while the context lasts."""
    with unnamed_files.keep_bytes(uploaded.chunks()) as path:
        yield path
