"""Reads a body while it arrives: in time, and into a file unless it is small."""

from asyncio import get_running_loop, timeout_at, to_thread
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from io import BytesIO
from tempfile import TemporaryFile
from typing import Any, BinaryIO

from postledger.web.front.refusals import TooManyError, UnreadableError
from postledger.web.shared.bodies import KIB, MIB

type Message = dict[str, Any]
type Receive = Callable[[], Awaitable[Message]]

# Slower clients would hold connections, files and threads of exports for hours.
_GRACE = 20.0  # seconds
_LOWEST_RATE = 16 * KIB  # bytes per second, on average
_WRITTEN_AT_ONCE = 256 * KIB
_MOST_DISCARDED = 64 * MIB
# Each message of the server has its price, however little is in it.
_MESSAGES_OF_ANY_SIZE = 1_000
_LOWEST_AVERAGE = 64  # bytes in a message, from then on
# Of 2,048 connections that the server has for everybody.
_MOST_OF_ONE_NETWORK = 64


class BrokenOffError(UnreadableError):
    """The client closed the connection before its body was complete, or framed it wrongly."""

    def __init__(self) -> None:
        super().__init__("body_broken_off")


class TooLargeError(Exception):
    """The body has more bytes than it may have."""


def seconds_allowed(size: int) -> float:
    """How long a client may take to send or to receive so many bytes and the next one."""
    return _GRACE + size / _LOWEST_RATE


class Arrival:
    """The body of one request. Raises TimeoutError once the client is too slow."""

    def __init__(self, receive: Receive, *, announced: int | None) -> None:
        self._receive = receive
        self.announced = announced
        self._started = get_running_loop().time()
        self._blocks: list[bytes] = []
        self._message_count = 0
        self.size = 0  # of what has arrived
        self.is_complete = announced == 0

    async def read(self, most: int) -> None:
        """Reads to the end, or until more than `most` bytes have arrived."""
        while not self.is_complete and self.size <= most:
            async with timeout_at(self._started + seconds_allowed(self.size)):
                self._blocks.append(await self._next())

    async def discard(self) -> None:
        """Reads what is left of a body that nobody wants, for the time that a small one has.

        A proxy that cannot pass all of a body on reports a fault of its own in place of the answer.
        """
        with suppress(TimeoutError):
            async with timeout_at(self._started + _GRACE):
                while not self.is_complete and self.size <= _MOST_DISCARDED:
                    await self._next()

    async def _next(self) -> bytes:
        message = await self._receive()
        if message["type"] != "http.request":
            raise BrokenOffError
        block: bytes = message.get("body", b"")
        self.size += len(block)
        self._refuse_crumbs()
        # The message with the last byte does not say so: another one would follow it.
        self.is_complete = not message.get("more_body") or self.size == self.announced
        return block

    def as_stream(self) -> BinaryIO:
        return BytesIO(self._blocks[0] if len(self._blocks) == 1 else b"".join(self._blocks))

    async def read_into_file(self, most: int) -> BinaryIO:
        """Reads to the end; the file is deleted when it is closed."""
        file = TemporaryFile(prefix="postledger-")  # noqa: SIM115  the caller closes it
        try:
            while not self.is_complete:
                await self.read(min(most, self.size + _WRITTEN_AT_ONCE))
                self._refuse_more_than(most)
                blocks, self._blocks = self._blocks, []
                # Not by the event loop: it would wait for a slow disk.
                await to_thread(file.writelines, blocks)
        except BaseException:
            file.close()
            raise
        file.seek(0)
        return file

    def _refuse_crumbs(self) -> None:
        self._message_count += 1
        if (
            self._message_count > _MESSAGES_OF_ANY_SIZE
            and self.size < self._message_count * _LOWEST_AVERAGE
        ):
            raise TimeoutError

    def _refuse_more_than(self, most: int) -> None:
        if self.size > most:
            raise TooLargeError


class Arrivals:
    """The bodies that are on their way, by the network that sends them."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    @contextmanager
    def one_of(self, network: str) -> Iterator[None]:
        """Counts one body, or raises TooManyError."""
        if self._counts[network] >= _MOST_OF_ONE_NETWORK:
            raise TooManyError
        self._counts[network] += 1
        try:
            yield
        finally:
            self._counts[network] -= 1
            if not self._counts[network]:
                del self._counts[network]
