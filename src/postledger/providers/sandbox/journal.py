"""Keeps one line for each mail the sandbox took, so that anybody can count them afterwards."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from postledger.providers.base import OutgoingMessage

type Sink = Callable[[Sequence[OutgoingMessage]], None]


def nowhere(_: Sequence[OutgoingMessage]) -> None:
    """The sink of a sandbox without a journal."""


class FileJournal:
    """Appends `id address` lines; several processes may share the file.

    Mails taken together are one write to a file opened for appending, so lines of two writers do
    not mix.
    """

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)

    def __call__(self, taken: Sequence[OutgoingMessage]) -> None:
        lines = [f"{message.id} {_shown(message.recipient)}\n" for message in taken]
        rest = "".join(lines).encode()
        while rest:
            rest = rest[os.write(self._file, rest) :]

    def close(self) -> None:
        os.close(self._file)


def _shown(address: str) -> str:
    # A line break inside an address would count as a second mail.
    return address if address.isprintable() else ascii(address)
