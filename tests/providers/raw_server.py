"""A server of bytes: each connection is served by the next part of its script."""

import asyncio
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field


class GoneError(Exception):
    """The server has left this connection."""


@dataclass
class Peer:
    """The server's end of one connection."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    received: bytearray = field(default_factory=bytearray)
    has_ended: bool = False  # the client has closed or reset it

    async def read(self, size: int = 65536) -> bytes:
        try:
            data = await self.reader.read(size)
        except OSError:
            data = b""
        self.has_ended = not data
        self.received += data
        return data

    async def read_head(self) -> int:
        """The length that the head announces for the body; bytes of the body may be read, too."""
        start = len(self.received)
        while b"\r\n\r\n" not in self.received[start:]:
            if not await self.read(1024):
                raise GoneError
        head, _, body = bytes(self.received[start:]).partition(b"\r\n\r\n")
        lines = [line.lower() for line in head.split(b"\r\n")]
        [length] = [line for line in lines if line.startswith(b"content-length:")]
        return int(length.partition(b":")[2]) - len(body)

    async def read_request(self) -> None:
        remaining = await self.read_head()
        while remaining > 0:
            data = await self.read(min(remaining, 65536))
            if not data:
                raise GoneError
            remaining -= len(data)

    async def read_to_the_end(self) -> None:
        while await self.read():
            pass

    def say(self, *parts: bytes) -> None:
        self.writer.write(b"".join(parts))

    async def close(self) -> None:
        await self.writer.drain()
        raise GoneError

    async def reset(self) -> None:
        sock: socket.socket = self.writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()
        raise GoneError


type Part = Callable[[Peer], Awaitable[None]]


@dataclass
class RawServer:
    script: tuple[Part, ...]  # the last part serves all further connections
    context: ssl.SSLContext | None = None
    port: int = 0
    peers: list[Peer] = field(default_factory=list)
    tasks: set[asyncio.Task[None]] = field(default_factory=set)

    @asynccontextmanager
    async def running(self) -> AsyncIterator["RawServer"]:
        sock = socket.create_server(("127.0.0.1", 0))
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16 * 1024)
        self.port = sock.getsockname()[1]
        listener = await asyncio.start_server(self._serve, sock=sock, ssl=self.context)
        try:
            yield self
        finally:
            listener.close()
            for peer in self.peers:
                peer.writer.transport.abort()
            for task in self.tasks:
                task.cancel()
            if self.tasks:
                await asyncio.wait(self.tasks)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        peer = Peer(reader, writer)
        part = self.script[min(len(self.peers), len(self.script) - 1)]
        self.peers.append(peer)
        task = asyncio.current_task()
        assert task is not None
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        with suppress(GoneError, OSError, asyncio.CancelledError):
            await part(peer)
        writer.close()
        with suppress(OSError, asyncio.CancelledError):
            await writer.wait_closed()
