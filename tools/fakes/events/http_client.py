"""Posts over kept connections to one server, as vendors post to endpoints and queues.

Written without h11, which would take as long as all else about an event.
"""

import asyncio
import contextlib
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import SplitResult, urlsplit

TIMEOUT = 15.0  # that SNS gives an endpoint


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    status: int
    body: bytes = b""  # empty, too, if the answer does not tell its length


class BrokenCallError(Exception):
    """No complete answer came; what the server did is not known."""


class _StaleError(Exception):
    """The connection ended before the first byte of an answer."""


@dataclass(slots=True)
class HttpClient:
    url: str
    _parts: SplitResult = field(init=False)
    _idle: list["_Connection"] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._parts = urlsplit(self.url)

    async def post(self, headers: Mapping[str, str], body: bytes) -> HttpAnswer:
        """One attempt; a kept connection that ended meanwhile is replaced."""
        request = self._write_head(headers, len(body)) + body
        try:
            async with asyncio.timeout(TIMEOUT):
                while self._idle:
                    with contextlib.suppress(_StaleError):
                        return await self._exchange(self._idle.pop(), request)
                return await self._exchange(await self._connect(), request)
        except (OSError, ValueError, EOFError, asyncio.LimitOverrunError, _StaleError) as error:
            raise BrokenCallError(str(error) or type(error).__name__) from error

    def close(self) -> None:
        while self._idle:
            self._idle.pop().writer.close()

    def _write_head(self, headers: Mapping[str, str], length: int) -> bytes:
        parts = self._parts
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        named = {"Host": parts.netloc.rpartition("@")[2], "Content-Length": str(length), **headers}
        lines = "".join(f"{name}: {value}\r\n" for name, value in named.items())
        return f"POST {target} HTTP/1.1\r\n{lines}\r\n".encode("ascii")

    async def _connect(self) -> "_Connection":
        is_secure = self._parts.scheme == "https"
        reader, writer = await asyncio.open_connection(
            self._parts.hostname,
            self._parts.port or (443 if is_secure else 80),
            ssl=ssl.create_default_context() if is_secure else None,
        )
        return _Connection(reader, writer)

    async def _exchange(self, connection: "_Connection", request: bytes) -> HttpAnswer:
        try:
            answer = await connection.exchange(request)
        except BaseException:
            connection.writer.close()
            raise
        if connection.is_reusable:
            self._idle.append(connection)
        else:
            connection.writer.close()
        return answer


@dataclass(slots=True)
class _Connection:
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    is_reusable: bool = True

    async def exchange(self, request: bytes) -> HttpAnswer:
        try:
            self.writer.write(request)
            await self.writer.drain()
            head = await self.reader.readuntil(b"\r\n\r\n")
        except (ConnectionError, asyncio.IncompleteReadError) as error:
            if getattr(error, "partial", b""):
                raise
            raise _StaleError("the connection was closed") from error
        return await self._read_answer(head.decode("latin-1"))

    async def _read_answer(self, head: str) -> HttpAnswer:
        first, *lines = head.split("\r\n")
        version, status = first.split(" ", 2)[:2]
        pairs = (line.partition(":") for line in lines)
        headers = {name.lower(): value.strip() for name, _, value in pairs}
        length = headers.get("content-length")
        is_last = version != "HTTP/1.1" or headers.get("connection", "").lower() == "close"
        self.is_reusable = length is not None and not is_last
        body = await self.reader.readexactly(int(length)) if length else b""
        return HttpAnswer(int(status), body)
