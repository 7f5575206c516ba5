"""Lets a workspace do one thing of a kind at a time in this process.

A check takes seconds, and a process has few threads: one workspace may not take them all.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

_WAIT_SECONDS = 0.1


class TurnTakenError(Exception):
    """The workspace does it already: it can be tried again in a moment."""


class Turns:
    """Of one kind of work; safe for threads."""

    def __init__(self) -> None:
        self._locks: dict[int, Lock] = {}

    @contextmanager
    def take(self, workspace_id: int) -> Iterator[None]:
        """Raises TurnTakenError, and does not hold its thread until the other work has ended."""
        lock = self._locks.setdefault(workspace_id, Lock())
        if not lock.acquire(timeout=_WAIT_SECONDS):
            raise TurnTakenError
        try:
            yield
        finally:
            lock.release()
