"""Posts over kept connections to one server, as SNS posts to endpoints and queues."""

import asyncio
import contextlib
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import h11

TIMEOUT = 15.0  # SNS gives an endpoint this long
_CHUNK = 65536


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    status: int
    body: bytes


class BrokenCallError(Exception):
    """No complete answer came; what the server did is not known."""


@dataclass(slots=True)
class HttpClient:
    url: str
    _idle: list["_Connection"] = field(default_factory=list)

    async def post(self, headers: Mapping[str, str], body: bytes) -> HttpAnswer:
        """One attempt; a kept connection that ended meanwhile is replaced."""
        try:
            async with asyncio.timeout(TIMEOUT):
                while self._idle:
                    with contextlib.suppress(_StaleError):
                        return await self._exchange(self._idle.pop(), headers, body)
                return await self._exchange(await _connect(self.url), headers, body)
        except (OSError, ValueError, h11.ProtocolError, _StaleError) as error:
            raise BrokenCallError(str(error) or type(error).__name__) from error

    def close(self) -> None:
        while self._idle:
            self._idle.pop().writer.close()

    async def _exchange(
        self, connection: "_Connection", headers: Mapping[str, str], body: bytes
    ) -> HttpAnswer:
        is_reusable = False
        try:
            answer = await connection.exchange(self.url, headers, body)
            is_reusable = connection.is_reusable()
        finally:
            if is_reusable:
                self._idle.append(connection)
            else:
                connection.writer.close()
        return answer


class _StaleError(Exception):
    """The connection ended before the first byte of an answer."""


@dataclass(slots=True)
class _Connection:
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    parser: h11.Connection = field(default_factory=lambda: h11.Connection(h11.CLIENT))

    async def exchange(self, url: str, headers: Mapping[str, str], body: bytes) -> HttpAnswer:
        parts = urlsplit(url)
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        host = parts.netloc.rpartition("@")[2]
        named = {"Host": host, "Content-Length": str(len(body)), **headers}
        request = h11.Request(method="POST", target=target, headers=list(named.items()))
        data = [self.parser.send(event) for event in (request, h11.Data(body), h11.EndOfMessage())]
        try:
            self.writer.write(b"".join(part for part in data if part))
            await self.writer.drain()
            first = await self.reader.read(_CHUNK)
        except ConnectionError as error:
            raise _StaleError from error
        if not first:
            raise _StaleError
        return await self._read_answer(first)

    async def _read_answer(self, first: bytes) -> HttpAnswer:
        self.parser.receive_data(first)
        status, body = 0, bytearray()
        while True:
            match self.parser.next_event():
                case h11.NEED_DATA:
                    self.parser.receive_data(await self.reader.read(_CHUNK))
                case h11.Response(status_code=status_code):
                    status = status_code
                case h11.Data(data=data):
                    body += data
                case h11.EndOfMessage() | h11.ConnectionClosed() | h11.PAUSED:
                    return HttpAnswer(status, bytes(body))
                case _:
                    pass  # 1xx

    def is_reusable(self) -> bool:
        """Prepares the connection for another request, if there may be one."""
        if self.parser.our_state is not h11.DONE or self.parser.their_state is not h11.DONE:
            return False
        self.parser.start_next_cycle()
        return True


async def _connect(url: str) -> _Connection:
    parts = urlsplit(url)
    is_secure = parts.scheme == "https"
    reader, writer = await asyncio.open_connection(
        parts.hostname,
        parts.port or (443 if is_secure else 80),
        ssl=ssl.create_default_context() if is_secure else None,
    )
    return _Connection(reader, writer)
