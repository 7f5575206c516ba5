"""Listens on a port of this machine; in the running event loop, or in a thread with its own."""

import asyncio
import socket
import threading
from collections.abc import AsyncIterator, Coroutine, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar

import uvloop

from tools.fakes.http.connection import Connection
from tools.fakes.http.control import ControlPath
from tools.fakes.http.faults import End, IdleLimit, Rule
from tools.fakes.http.service import Service

# Small, so that a client notices when nobody reads its large request.
_RECEIVE_BUFFER = 64 * 1024
_BACKLOG = 1024


@dataclass(slots=True)
class FakeServer[S: Service[Any]]:
    """A fake and its port, which stays the same while connections are refused."""

    controls: ClassVar[Mapping[str, ControlPath[Any]]]  # the paths under /_fake
    service: S
    host: str = "127.0.0.1"
    port: int = 0  # any free one
    public_endpoint: str = ""  # where others reach it, if it is behind a proxy
    connections: set[Connection[S]] = field(default_factory=set)
    _loop: asyncio.AbstractEventLoop | None = None
    _listener: asyncio.Server | None = None

    @property
    def endpoint(self) -> str:
        return f"http://{self.host}:{self.port}"

    def set_faults(self, *rules: Rule) -> None:
        """Replaces the script; may be called from any thread."""
        self.service.set_rules(rules)

    def set_idle_limit(self, limit: IdleLimit | None) -> None:
        """Counts from the next time a connection becomes idle; may be called from any thread."""
        self.service.idle_limit = limit

    async def listen(self) -> None:
        sock = socket.create_server((self.host, self.port), backlog=_BACKLOG)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVE_BUFFER)
        self.port = sock.getsockname()[1]
        self._loop = asyncio.get_running_loop()
        self.service.start(self.public_endpoint or self.endpoint)
        self._listener = await self._loop.create_server(self._connect, sock=sock, backlog=_BACKLOG)

    async def refuse_connections(self) -> None:
        """Ends all connections and refuses new ones, until `listen` is called again."""
        if self._listener is not None:
            self._listener.close()
            self._listener = None
        connections = list(self.connections)
        for connection in connections:
            connection.end(End.CLOSE)
        await asyncio.gather(*(connection.is_lost.wait() for connection in connections))

    async def stop(self) -> None:
        await self.refuse_connections()
        await self.service.stop()
        if self.service.journal is not None:
            await self.service.journal.close()

    def run[T](self, coroutine: Coroutine[object, object, T]) -> T:
        """Runs a coroutine in the fake's event loop and waits for it, from another thread."""
        if self._loop is None:
            raise RuntimeError("The fake does not listen yet.")
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    def _connect(self) -> Connection[S]:
        return Connection(self.service, self.controls, self.connections)


@asynccontextmanager
async def serving[F: FakeServer[Any]](fake: F) -> AsyncIterator[F]:
    """A fake in the running event loop."""
    await fake.listen()
    try:
        yield fake
    finally:
        await fake.stop()


@contextmanager
def serving_in_thread[F: FakeServer[Any]](fake: F) -> Iterator[F]:
    """A fake in a thread with an event loop of its own."""
    runner = asyncio.Runner(loop_factory=uvloop.new_event_loop)
    loop = runner.get_loop()
    thread = threading.Thread(target=loop.run_forever, name=type(fake).__name__, daemon=True)
    thread.start()
    try:
        asyncio.run_coroutine_threadsafe(fake.listen(), loop).result()
        yield fake
        fake.run(fake.stop())
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        runner.close()
