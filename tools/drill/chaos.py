"""A TCP proxy in front of a provider that breaks connections at chosen moments; here, for SMTP."""

import asyncio
import random
import re
import threading
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from enum import StrEnum

from tools.drill.waiting import free_port, until


class Cut(StrEnum):
    BEFORE = "cut before the request"
    AFTER = "cut after the mail, before the answer"
    HALF_CLOSE = "half-closed after the mail"
    DELAY = "answer later than the deadline"
    DRIP = "answer byte by byte"
    BLACK_HOLE = "swallowed from the end of the mail on"


# After these nobody on the client's side can know whether the mail was taken.
AMBIGUOUS = frozenset(Cut) - {Cut.BEFORE, Cut.DRIP}

_RECIPIENT = re.compile(rb"RCPT TO:<([^>]+)>", re.IGNORECASE)
_DOT = b"\r\n.\r\n"
TOO_LATE = 6.0
_BETWEEN_BYTES = 0.02
PATIENCE = 15.0


class Proxy:
    """Runs in a thread of its own; `cut` and `share` may be changed at any time."""

    def __init__(self, target: int) -> None:
        self.port = free_port()
        self.cut: Cut | None = None
        self.share = 0.0  # of the mails that meet the cut
        self.limit = 0  # how many more of them
        self.is_down = False  # hangs up on whoever comes
        self.counts: Counter[Cut] = Counter()
        self.cut_addresses: set[str] = set()  # whose answer the client never heard
        self._target = target
        self._is_ready = threading.Event()
        threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True).start()
        until(self._is_ready.is_set, seconds=10)

    def fate(self) -> Cut | None:
        if self.cut is None or self.limit <= 0 or random.random() >= self.share:
            return None
        self.limit -= 1
        return self.cut

    async def _serve(self) -> None:
        server = await asyncio.start_server(self._accept, "127.0.0.1", self.port)
        self._is_ready.set()
        await server.serve_forever()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.is_down:
            writer.transport.abort()
            return
        with suppress(OSError, asyncio.IncompleteReadError):
            await self.carry((reader, writer))

    async def carry(self, client: "Stream") -> None:
        """Serves one connection of a client."""
        inner = await self.connect()
        await Line(self, client, inner).run()

    async def connect(self) -> "Stream":
        return await asyncio.open_connection("127.0.0.1", self._target)


type Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Line:
    """One connection through the proxy."""

    def __init__(self, proxy: Proxy, client: Stream, server: Stream) -> None:
        self._proxy = proxy
        self._client_reads, self._client = client
        self._server_reads, self._server = server
        self._fate: Cut | None = None
        self._is_after_dot = False
        self._recipient = ""

    async def run(self) -> None:
        ways = [
            asyncio.create_task(self._pump(self._client_reads, self._to_server)),
            asyncio.create_task(self._pump(self._server_reads, self._to_client)),
        ]
        await asyncio.wait(ways, return_when="FIRST_COMPLETED")
        for way in ways:
            way.cancel()
        for writer in (self._client, self._server):
            writer.close()

    async def _pump(
        self, reader: asyncio.StreamReader, forward: Callable[[bytes], Awaitable[bool]]
    ) -> None:
        with suppress(OSError):
            while data := await reader.read(65536):
                if not await forward(data):
                    return

    async def _to_server(self, data: bytes) -> bool:
        if b"MAIL FROM" in data and self._proxy.is_down:
            return False  # between two mails: what is under way is answered
        if b"MAIL FROM" in data:
            self._fate, self._is_after_dot = self._proxy.fate(), False
        recipient = _RECIPIENT.search(data)
        if recipient:
            self._recipient = recipient[1].decode()
        if self._fate is Cut.BEFORE:
            self._count()
            self._client.transport.abort()
            return False
        if data.endswith(_DOT):
            self._is_after_dot = True
            if self._fate is Cut.BLACK_HOLE:
                self._count()
                await asyncio.sleep(PATIENCE)
                return False
        self._server.write(data)
        await self._server.drain()
        return True

    async def _to_client(self, data: bytes) -> bool:
        if not (self._is_after_dot and self._fate):
            self._client.write(data)
            return True
        fate, self._is_after_dot = self._fate, False
        self._count()
        match fate:
            case Cut.AFTER:
                self._client.transport.abort()
                return False
            case Cut.HALF_CLOSE:
                self._client.write_eof()
                await asyncio.sleep(PATIENCE)
                return False
            case Cut.DELAY:
                await asyncio.sleep(TOO_LATE)
                self._client.write(data)
            case _:
                for byte in data:
                    self._client.write(bytes([byte]))
                    await asyncio.sleep(_BETWEEN_BYTES)
        self._fate = None
        return True

    def _count(self) -> None:
        if self._fate is not None:
            self._proxy.counts[self._fate] += 1
        if self._fate in AMBIGUOUS:
            self._proxy.cut_addresses.add(self._recipient)
