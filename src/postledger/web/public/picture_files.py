"""Copies of uploaded pictures as files: the server sends a file without holding it in memory."""

import atexit
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from shutil import rmtree
from tempfile import NamedTemporaryFile, mkdtemp
from threading import Lock
from typing import BinaryIO

_MOST_BYTES = 64 << 20  # of all copies of a process


class PictureFiles:
    """The pictures that were asked for last; a slow reader keeps no more than an open file."""

    def __init__(self, most_bytes: int = _MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._lock = Lock()
        self._sizes: dict[str, int] = {}  # by name, the one that was asked for last at the end

    def open(self, name: str, read: Callable[[], bytes | None]) -> BinaryIO | None:
        """The file of a picture, which is read only if there is no copy; None if there is none."""
        file = self._open_copy(name)
        if file is None and (content := read()) is not None:
            self._add(name, content)
            file = self._open_copy(name)
        return file

    @cached_property
    def _folder(self) -> Path:
        """Made with the first picture, and removed with the process."""
        folder = mkdtemp(prefix="postledger-pictures-")
        atexit.register(rmtree, folder, ignore_errors=True)
        return Path(folder)

    def _open_copy(self, name: str) -> BinaryIO | None:
        with self._lock:
            if name not in self._sizes:
                return None
            self._sizes[name] = self._sizes.pop(name)
            return (self._folder / name).open("rb")

    def _add(self, name: str, content: bytes) -> None:
        """Gives up the copies that nobody asked for longest; the new one stays, however large."""
        with self._lock:
            with NamedTemporaryFile(dir=self._folder, delete=False) as file:
                file.write(content)
            Path(file.name).replace(self._folder / name)
            self._sizes[name] = len(content)
            total = sum(self._sizes.values())
            for oldest in list(self._sizes)[:-1]:
                if total <= self._most_bytes:
                    break
                total -= self._sizes.pop(oldest)
                (self._folder / oldest).unlink()
