"""Keeps the composing of suspects apart from everything else that a process does."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager


class ComposeLock:
    """Many rounds compose side by side; a suspect batch is composed with nothing beside it.

    If the process dies then, only the suspect can be the cause. It also waits a moment for the
    mails in flight, so that such a death leaves as few of them in doubt as possible.
    """

    # A slow provider must not keep every suspect, and with it every stream, waiting: after one wait
    # in vain, suspects are composed beside mails in flight for a while.
    WAIT_FOR_ANSWERS = 1.0
    WAIT_AGAIN_AFTER = 10.0

    def __init__(self) -> None:
        self._composing = 0
        self._in_flight = 0
        self._is_alone = False
        self._waits_again_at = 0.0
        self._changed = asyncio.Event()

    @asynccontextmanager
    async def shared(self) -> AsyncIterator[None]:
        """Composes beside others, and waits while a suspect is composed."""
        await self._until(lambda: not self._is_alone)
        self._composing += 1
        try:
            yield
        finally:
            self._composing -= 1
            self._changed.set()

    @asynccontextmanager
    async def alone(self) -> AsyncIterator[None]:
        """Composes alone: nobody else composes before this block ends."""
        await self._until(lambda: not self._is_alone)
        self._is_alone = True
        try:
            await self._until(lambda: not self._composing)
            await self._wait_for_answers()
            yield
        finally:
            self._is_alone = False
            self._changed.set()

    async def _wait_for_answers(self) -> None:
        if time.monotonic() < self._waits_again_at:
            return
        try:
            async with asyncio.timeout(self.WAIT_FOR_ANSWERS):
                await self._until(lambda: not self._in_flight)
        except TimeoutError:
            self._waits_again_at = time.monotonic() + self.WAIT_AGAIN_AFTER

    @contextmanager
    def in_flight(self) -> Iterator[None]:
        """Has mails with the provider."""
        self._in_flight += 1
        try:
            yield
        finally:
            self._in_flight -= 1
            self._changed.set()

    async def _until(self, holds: Callable[[], bool]) -> None:
        while not holds():
            self._changed.clear()
            await self._changed.wait()
