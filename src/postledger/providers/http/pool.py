"""Keeps connections open between requests, and no more of them than it may have."""

import asyncio
import ssl
from dataclasses import dataclass

from postledger.lib import crashpoints
from postledger.lib.clock import Clock, boottime
from postledger.lib.crashpoints import Point
from postledger.lib.sentences import say
from postledger.providers.connection import (
    ConnectionBrokenError,
    explain_os_error,
    timeout_at,
)
from postledger.providers.http.connection import Connection
from postledger.providers.http.exchange import Break, Stage
from postledger.providers.http.messages import MAX_BODY
from postledger.providers.http.settings import Timeouts


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a service is; without a TLS context it is talked to in the open."""

    host: str
    port: int
    context: ssl.SSLContext | None = None
    address: str = ""  # where the host is, if somebody has looked already; its name stays in TLS


def trust_authorities() -> ssl.SSLContext:
    """To be called in a thread: the trusted authorities take long to load."""
    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    return context


class NoConnectionError(Exception):
    def __init__(self, broken: Break) -> None:
        super().__init__(broken)
        self.broken = broken


class Pool:
    """Each `acquire` takes one of the permits to use a connection, until its `release`.

    A connection that was idle for `idle_limit` seconds is closed: services close idle ones, too,
    and a request that meets such an end is in doubt. The clock goes on while the machine sleeps.
    """

    def __init__(  # noqa: PLR0913  each of them with a default
        self,
        origin: Origin,
        *,
        size: int,
        idle_limit: float = 1.0,
        timeouts: Timeouts | None = None,
        clock: Clock = boottime,
        most_bytes: int = MAX_BODY,
        reads_body: bool = True,
    ) -> None:
        self.timeouts = timeouts or Timeouts()
        self._origin = origin
        self._idle_limit = idle_limit
        self._clock = clock
        self._most_bytes = most_bytes  # of an answer
        self._reads_body = reads_body
        self._loop = asyncio.get_running_loop()
        self._permits = asyncio.Semaphore(size)
        self._idle: list[Connection] = []
        self._reaper: asyncio.TimerHandle | None = None

    async def acquire(self, until: float) -> bool:
        """Takes a permit; False if none became free in time. It opens no connection."""
        if not self._permits.locked():
            return await self._permits.acquire()
        try:
            async with asyncio.timeout_at(until):
                return await self._permits.acquire()
        except TimeoutError:
            return False

    def release(self) -> None:
        self._permits.release()

    def keep(self, connection: Connection) -> None:
        """Keeps it for a later request if one may follow, else closes it."""
        if not connection.can_follow:
            connection.abort()
            return
        connection.idle_since = self._clock()
        self._idle.append(connection)
        if self._reaper is None:
            self._reaper = self._loop.call_later(self._idle_limit, self._reap)

    def take_idle(self) -> Connection | None:
        """The connection that was idle for the shortest time, unless that is too long."""
        while self._idle:
            connection = self._idle.pop()
            if connection.can_follow and not self._is_old(connection):
                return connection
            connection.close()
        return None

    async def connect(self, until: float) -> Connection:
        """A new connection; raises NoConnectionError."""
        crashpoints.reached(Point.BEFORE_CONNECT)
        connection = Connection(self._loop, self._most_bytes, reads_body=self._reads_body)
        try:
            async with timeout_at(min(until, self._loop.time() + self.timeouts.connect)):
                await self._open(connection)
        except ConnectionBrokenError as error:
            raise self._failed(connection, error.code, error.detail) from None
        except TimeoutError:
            code = ConnectionBrokenError.TIMEOUT
            raise self._failed(connection, code, say("no connection in time")) from None
        except OSError as error:
            code = "tls" if isinstance(error, ssl.SSLError) else "connect"
            raise self._failed(connection, code, explain_os_error(error)) from None
        except asyncio.CancelledError:
            connection.abort()
            raise
        crashpoints.reached(Point.AFTER_CONNECT)
        return connection

    def close(self) -> None:
        if self._reaper is not None:
            self._reaper.cancel()
            self._reaper = None
        while self._idle:
            self._idle.pop().close()

    async def _open(self, connection: Connection) -> None:
        origin = self._origin
        await self._loop.create_connection(
            lambda: connection, origin.address or origin.host, origin.port
        )
        connection.limit_unacknowledged(self.timeouts.call)
        connection.measure_buffer()
        if origin.context is not None:
            await connection.encrypt(origin.context, origin.host)

    def _failed(self, connection: Connection, code: str, detail: str) -> NoConnectionError:
        connection.abort()
        return NoConnectionError(Break(Stage.CONNECT, code, detail))

    def _is_old(self, connection: Connection) -> bool:
        return self._clock() - connection.idle_since >= self._idle_limit

    def _reap(self) -> None:
        """Closes connections that were idle too long; the oldest are in front."""
        self._reaper = None
        while self._idle and self._is_old(self._idle[0]):
            self._idle.pop(0).close()
        if self._idle:
            left = self._idle[0].idle_since + self._idle_limit - self._clock()
            self._reaper = self._loop.call_later(left, self._reap)
