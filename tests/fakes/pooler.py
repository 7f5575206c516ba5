"""A pooler that lends a client a connection to PostgreSQL for one transaction, as PgBouncer can."""

import asyncio
import threading
from asyncio import StreamReader, StreamWriter
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

_ENCRYPTION = {80877103, 80877104}  # the codes of requests for TLS and GSSAPI
_ENDS_INPUT = {b"Q", b"S"}  # after these, PostgreSQL answers until it is ready
_GOODBYE = b"X"
_READY, _IDLE = b"Z", b"I"


class _Server:
    def __init__(self, reader: StreamReader, writer: StreamWriter, greeting: bytes) -> None:
        self.reader = reader
        self.writer = writer
        self.greeting = greeting


class TransactionPooler:
    """Listens while the block lasts, and lends up to `most`; the role must need no password."""

    def __init__(self, url: str, *, most: int) -> None:
        self._parts = urlsplit(url)
        self._most = most
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self.url = ""

    def __enter__(self) -> Self:
        self._thread.start()
        port = asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result(10)
        login = f"{self._parts.username}@127.0.0.1:{port}"
        self.url = self._parts._replace(netloc=login).geturl()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _close(self) -> None:
        self._listener.close()
        for server in self._free:
            server.writer.close()
            await server.writer.wait_closed()

    async def _listen(self) -> int:
        self._free: list[_Server] = []
        self._places = asyncio.Semaphore(self._most)
        self._listener = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        port: int = self._listener.sockets[0].getsockname()[1]
        return port

    async def _serve(self, reader: StreamReader, writer: StreamWriter) -> None:
        try:
            startup = await _read_startup(reader, writer)
            server = await self._borrow(startup)
            writer.write(server.greeting)
            self._give_back(server)
            while (message := await _read_message(reader))[:1] != _GOODBYE:
                await self._relay_transaction(startup, message, reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _relay_transaction(
        self, startup: bytes, message: bytes, reader: StreamReader, writer: StreamWriter
    ) -> None:
        server = await self._borrow(startup)
        while True:
            server.writer.write(message)
            if message[:1] in _ENDS_INPUT and await _relay_answer(server, writer) == _IDLE:
                break
            message = await _read_message(reader)
        self._give_back(server)

    async def _borrow(self, startup: bytes) -> _Server:
        await self._places.acquire()
        if self._free:
            return self._free.pop()
        host, port = self._parts.hostname or "127.0.0.1", self._parts.port or 5432
        reader, writer = await asyncio.open_connection(host, port)
        writer.write(startup)
        greeting = message = await _read_message(reader)
        while message[:1] != _READY:
            message = await _read_message(reader)
            greeting += message
        return _Server(reader, writer, greeting)

    def _give_back(self, server: _Server) -> None:
        self._free.append(server)
        self._places.release()


async def _read_startup(reader: StreamReader, writer: StreamWriter) -> bytes:
    while True:
        head = await reader.readexactly(8)
        if int.from_bytes(head[4:]) not in _ENCRYPTION:
            return head + await reader.readexactly(int.from_bytes(head[:4]) - 8)
        writer.write(b"N")


async def _read_message(reader: StreamReader) -> bytes:
    head = await reader.readexactly(5)
    return head + await reader.readexactly(int.from_bytes(head[1:]) - 4)


async def _relay_answer(server: _Server, writer: StreamWriter) -> bytes:
    """Returns in which state PostgreSQL is ready again."""
    while True:
        message = await _read_message(server.reader)
        writer.write(message)
        if message[:1] == _READY:
            return message[5:6]
