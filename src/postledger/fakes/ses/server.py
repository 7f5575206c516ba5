"""Listens on a port of this machine; in the running event loop, or in a thread with its own."""

import asyncio
import socket
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field

from postledger.fakes.ses.connection import Connection
from postledger.fakes.ses.faults import End, IdleLimit, Rule, Script
from postledger.fakes.ses.service import Service

# Small, so that a client notices when nobody reads its large request.
_RECEIVE_BUFFER = 64 * 1024


@dataclass(slots=True)
class FakeSes:
    """The fake and its port, which stays the same while connections are refused."""

    service: Service = field(default_factory=Service)
    host: str = "127.0.0.1"
    port: int = 0  # any free one
    connections: set[Connection] = field(default_factory=set)
    _listener: asyncio.Server | None = None

    @property
    def endpoint(self) -> str:
        return f"http://{self.host}:{self.port}"

    def set_faults(self, *rules: Rule) -> None:
        """Replaces the script; may be called from any thread."""
        self.service.script = Script(rules)

    def set_idle_limit(self, limit: IdleLimit | None) -> None:
        """Counts from the next time a connection becomes idle; may be called from any thread."""
        self.service.idle_limit = limit

    async def listen(self) -> None:
        sock = socket.create_server((self.host, self.port), backlog=1024)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVE_BUFFER)
        self.port = sock.getsockname()[1]
        loop = asyncio.get_running_loop()
        self._listener = await loop.create_server(
            lambda: Connection(self.service, self.connections), sock=sock, backlog=1024
        )

    async def refuse_connections(self) -> None:
        """Ends all connections and refuses new ones, until `listen` is called again."""
        if self._listener is not None:
            self._listener.close()
            self._listener = None
        for connection in list(self.connections):
            connection.end(End.CLOSE)
        while self.connections:
            await asyncio.sleep(0.001)

    async def stop(self) -> None:
        await self.refuse_connections()
        if self.service.journal is not None:
            await self.service.journal.close()


@asynccontextmanager
async def serving(service: Service | None = None, *, port: int = 0) -> AsyncIterator[FakeSes]:
    """A fake in the running event loop."""
    fake = FakeSes(service or Service(), port=port)
    await fake.listen()
    try:
        yield fake
    finally:
        await fake.stop()


@contextmanager
def serving_in_thread(service: Service | None = None, *, port: int = 0) -> Iterator[FakeSes]:
    """A fake in a thread with an event loop of its own."""
    started: list[tuple[FakeSes, asyncio.AbstractEventLoop, asyncio.Event]] = []
    is_started = threading.Event()

    async def run() -> None:
        stop = asyncio.Event()
        async with serving(service, port=port) as fake:
            started.append((fake, asyncio.get_running_loop(), stop))
            is_started.set()
            await stop.wait()

    thread = threading.Thread(target=asyncio.run, args=(run(),), daemon=True)
    thread.start()
    is_started.wait(30)
    fake, loop, stop = started[0]
    try:
        yield fake
    finally:
        with suppress(RuntimeError):  # it may have ended by an error, which the thread has printed
            loop.call_soon_threadsafe(stop.set)
        thread.join(30)
