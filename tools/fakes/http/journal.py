"""The journal: one JSON line for each accepted mail, on disk before the mail is answered.

Lines with `event` say what became of an event of a mail; lines with `set_up`, what was set up.
"""

import asyncio
import json
import os
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any


class Journal:
    """Lines that arrive while the disk is busy go to it together: one fsync for all of them."""

    def __init__(self, path: Path) -> None:
        self._file = _open(path)
        # One thread: two groups at once could be written in each other's middle.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="journal")
        self._waiting: list[tuple[bytes, Callable[[], None] | None]] = []
        self._sync: asyncio.Task[None] | None = None
        self._error: OSError | None = None

    async def append(
        self, entry: Mapping[str, object], then: Callable[[], None] | None = None
    ) -> None:
        """Returns when the entry has reached the disk.

        `then` is called at that moment, also if nobody waits for the return any more.
        After an error of the disk every call raises: a later line could follow half a line.
        """
        is_on_disk: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def wake() -> None:
            if then is not None and self._error is None:
                then()
            if not is_on_disk.done():  # the client may have left
                is_on_disk.set_result(None)

        self._queue(entry, wake)
        await is_on_disk
        if self._error is not None:
            raise self._error

    def note(self, entry: Mapping[str, object]) -> None:
        """Writes an entry soon, after all that came before."""
        self._queue(entry, None)

    async def close(self) -> None:
        if self._sync is not None:
            await self._sync
        self._thread.shutdown()
        os.close(self._file)

    def _queue(self, entry: Mapping[str, object], wake: Callable[[], None] | None) -> None:
        line = json.dumps(entry, separators=(",", ":")).encode() + b"\n"
        self._waiting.append((line, wake))
        if self._sync is None or self._sync.done():
            self._sync = asyncio.get_running_loop().create_task(self._write_groups())

    async def _write_groups(self) -> None:
        loop = asyncio.get_running_loop()
        while self._waiting:
            group, self._waiting = self._waiting, []
            lines = b"".join(line for line, _ in group)
            try:
                if self._error is None:
                    await loop.run_in_executor(self._thread, self._write, lines)
            except OSError as error:
                self._error = error
            for _, wake in group:
                if wake is not None:
                    wake()

    def _write(self, lines: bytes) -> None:
        remaining = memoryview(lines)
        while remaining:
            remaining = remaining[os.write(self._file, remaining) :]
        os.fsync(self._file)


def read_mails(path: Path) -> Iterator[dict[str, Any]]:
    """Every accepted mail."""
    return (entry for entry in read(path) if "event" not in entry and "set_up" not in entry)


def read_events(path: Path) -> Iterator[dict[str, Any]]:
    """What became of events, in the order in which it happened."""
    return (entry for entry in read(path) if "event" in entry)


def read(path: Path) -> Iterator[dict[str, Any]]:
    """Every entry; half a line at the end, that nobody was told about, is left out."""
    with path.open("rb") as file:
        for line in file:
            if line.endswith(b"\n"):
                yield json.loads(line)


def _open(path: Path) -> int:
    """Opens the journal at its end; half a line of a killed process is removed."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
    with path.open("rb") as file:
        end = 0
        for line in file:
            end += len(line) if line.endswith(b"\n") else 0
    os.ftruncate(descriptor, end)
    os.fsync(descriptor)
    folder = os.open(path.parent, os.O_RDONLY)
    os.fsync(folder)  # the name of a new file, too
    os.close(folder)
    return descriptor
