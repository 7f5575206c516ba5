"""Passes bytes on to a server, and cuts a connection in which a mark appears."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import cast, override

_RECEIVE_BUFFER = 16 * 1024


@dataclass
class CuttingRelay:
    """What comes with the mark or behind it does not reach the server."""

    server_port: int
    mark: bytes
    port: int = 0
    sides: set["_Side"] = field(default_factory=set)

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @asynccontextmanager
    async def running(self) -> AsyncIterator["CuttingRelay"]:
        sock = socket.create_server(("127.0.0.1", 0))
        # Small, so that a large request is still being written when the mark is seen.
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVE_BUFFER)
        self.port = sock.getsockname()[1]
        listener = await asyncio.get_running_loop().create_server(lambda: _Side(self), sock=sock)
        try:
            yield self
        finally:
            listener.close()
            for side in list(self.sides):
                side.cut()
            while self.sides:  # noqa: ASYNC110  the transports tell nobody else
                await asyncio.sleep(0.001)


class _Side(asyncio.Protocol):
    """The relay's end of a connection: with the client, or with the server if it has a partner."""

    def __init__(self, relay: CuttingRelay, partner: "_Side | None" = None) -> None:
        self._relay = relay
        self._partner = partner
        self._is_client = partner is None
        self._seen = b""
        self._connecting: asyncio.Task[None] | None = None
        self.transport: asyncio.Transport | None = None

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        self._relay.sides.add(self)
        if self._is_client:
            self.transport.pause_reading()
            self._connecting = asyncio.get_running_loop().create_task(self._connect())

    async def _connect(self) -> None:
        partner = self._partner = _Side(self._relay, self)
        loop = asyncio.get_running_loop()
        try:
            await loop.create_connection(lambda: partner, "127.0.0.1", self._relay.server_port)
        except OSError:
            self.cut()
        else:
            if self.transport is not None and not self.transport.is_closing():
                self.transport.resume_reading()

    @override
    def data_received(self, data: bytes) -> None:
        self._seen = (self._seen + data)[-len(data) - len(self._relay.mark) :]
        if self._is_client and self._relay.mark in self._seen:
            self.cut()
        elif self._partner is not None and self._partner.transport is not None:
            self._partner.transport.write(data)

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        self._relay.sides.discard(self)
        if self._connecting is not None:
            self._connecting.cancel()
        if self._partner is not None and self._partner.transport is not None:
            self._partner.transport.close()

    def cut(self) -> None:
        if self.transport is not None:
            self.transport.abort()
