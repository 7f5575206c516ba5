"""One connection to a service: bytes out, answers in, every wait with an end.

After SIGSTOP and SIGCONT, a pause of the virtual machine or a long block of the event loop, the
loop runs timers that are due before it reads its sockets. An answer that lies in a socket would be
thrown away for a timeout, and a mail that was taken would be in doubt. How late the timer fires
says nothing: a stop may end directly after the timeout. So a timer that fires ends nothing yet: it
first gives the loop time to read.
"""

import asyncio
import errno
import select
import socket
import ssl
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import NoReturn, cast, override

from postledger.lib.sentences import say

_POLL_SECONDS = 0.01
GRACE = 0.1  # seconds for the loop to read what arrived meanwhile


@asynccontextmanager
async def timeout_at(when: float) -> AsyncGenerator[None]:
    """As asyncio.timeout_at, but the loop reads its sockets once more before the timeout."""
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(None) as timeout:

        def expire() -> None:
            timeout.reschedule(loop.time() + GRACE)

        timer = loop.call_at(when, expire)
        try:
            yield
        finally:
            timer.cancel()


def explain_os_error(error: OSError) -> str:
    """Why no connection could be made; what people meet most often is a sentence."""
    if isinstance(error, socket.gaierror):
        if error.errno == socket.EAI_AGAIN:
            return say("the name of the host cannot be looked up now")
        return say("there is no host of this name")
    if isinstance(error, ConnectionRefusedError):
        return say("nothing takes connections there")
    if error.errno in {errno.ENETUNREACH, errno.EHOSTUNREACH}:
        return say("the host cannot be reached from here")
    if isinstance(error, ssl.SSLError):
        return say("TLS failed: %(reason)s", reason=error.strerror or f"{error}")
    return error.strerror or f"{error}" or type(error).__name__


class ConnectionBrokenError(Exception):
    """The connection can be used no more; `code` is one of these."""

    CLOSED = "closed"  # the server hung up
    RESET = "reset"  # the connection was torn down, or could not be made
    TIMEOUT = "timeout"  # nothing came in time
    GARBLED = "garbled"  # the bytes are no answer to the command
    STUCK = "stuck"  # the kernel did not take the end of a message at once
    CANCELLED = "cancelled"  # this side was told to stop

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail


class Connection(asyncio.Protocol):
    """What clients of every protocol share; a subclass parses what it receives.

    Waits with one lazily moved timer instead of one for each wait: a message needs two.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.transport: asyncio.Transport | None = None
        self._socket_transport: asyncio.Transport | None = None  # below TLS, where there is TLS
        self._sure_size = 0
        self._loop = loop
        self._broken: ConnectionBrokenError | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._is_paused = False
        self._timer: asyncio.TimerHandle | None = None
        self._until = 0.0
        self._expires_at = 0.0  # later than `_until` once the timer has fired

    @property
    def has_input(self) -> bool:
        """Whether the service has said something that nobody has taken yet."""
        raise NotImplementedError

    def write(self, data: bytes | memoryview) -> None:
        if self._broken is not None or self.transport is None:
            raise self._broken or ConnectionBrokenError(
                ConnectionBrokenError.CLOSED, "not connected"
            )
        self.transport.write(data)

    async def drained(self, until: float) -> None:
        """Returns when the transport has passed on all bytes, or an answer came first."""
        while self._is_paused and not self.has_input:
            await self._wait(until)

    async def ready_to_end(self, until: float) -> None:
        """Returns when the kernel has taken every byte and has room for more, or an answer came.

        Asks again and again: TLS tells nobody when the socket below it has taken everything, and
        no event loop tells when a socket to which nothing is to be written has room.
        """
        await self.drained(until)
        while not (self.has_input or (self.has_written_all() and self._has_room())):
            await self._wait_a_little(until)

    def write_at_once(self, data: bytes) -> None:
        """Gives the kernel all of it in one call, or raises and aborts: then its last byte, at
        least, has not left this process and never will.
        """
        self.write(data)
        if not self.has_written_all():
            self._refuse(ConnectionBrokenError.STUCK, "the kernel did not take the end at once")
        if self._socket_transport is None or self._socket_transport.is_closing():
            # The transport forgets bytes that the kernel refused, and tells it a moment later.
            self._refuse(ConnectionBrokenError.RESET, "the connection was gone before the end")

    def _refuse(self, code: str, detail: str) -> NoReturn:
        self.abort()
        raise ConnectionBrokenError(code, detail)

    def has_written_all(self) -> bool:
        """Whether the kernel has taken every byte: none waits in this process, encrypted or not."""
        return not any(
            transport is not None and transport.get_write_buffer_size()
            for transport in (self.transport, self._socket_transport)
        )

    def takes_at_once(self, size: int) -> bool:
        """Whether a kernel that holds nothing of ours is sure to take so many bytes in one go."""
        return size <= self._sure_size

    def abort(self) -> None:
        self._break(ConnectionBrokenError.CLOSED, "given up by this side")
        if self.transport is not None:
            self.transport.abort()

    def close(self) -> None:
        self._break(ConnectionBrokenError.CLOSED, "closed by this side")
        if self.transport is not None:
            self.transport.close()

    def attach(self, transport: asyncio.Transport) -> None:
        self.transport = transport
        # Every byte the kernel has not taken counts: `drained` waits for the last of them.
        transport.set_write_buffer_limits(high=1, low=0)

    def limit_unacknowledged(self, seconds: float) -> None:
        """Lets the kernel give up on sent bytes: none leave long after this process has died."""
        sock = None if self.transport is None else self.transport.get_extra_info("socket")
        if sock is not None and hasattr(socket, "TCP_USER_TIMEOUT"):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(seconds * 1000))

    def measure_buffer(self) -> None:
        """Reads how much the kernel keeps for this connection; it may allow more later, not less.

        A quarter of that is sure to fit: the kernel counts its own overhead, too.
        """
        sock = None if self.transport is None else self.transport.get_extra_info("socket")
        if sock is not None:
            self._sure_size = sock.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) // 4

    def _has_room(self) -> bool:
        # An error of the socket comes beside POLLOUT: the loop is about to read and tell it.
        return self._poll(select.POLLOUT) == select.POLLOUT

    def _has_unread_bytes(self) -> bool:
        """Whether the kernel has bytes, an end or an error that the loop has not read yet."""
        return self._poll(select.POLLIN | select.POLLRDHUP) != 0

    def _poll(self, events: int) -> int:
        transport = self._socket_transport
        if transport is None or transport.is_closing():
            return select.POLLERR
        poll = select.poll()
        poll.register(transport.get_extra_info("socket").fileno(), events)
        return sum(event for _, event in poll.poll(0))

    async def encrypt(self, context: ssl.SSLContext, host: str) -> None:
        """Not left to create_connection, which would hide the socket's own buffer from us."""
        if self.transport is None:
            raise ConnectionBrokenError(ConnectionBrokenError.CLOSED, "not connected")
        encrypted = await self._loop.start_tls(self.transport, self, context, server_hostname=host)
        if encrypted is None:
            raise ConnectionBrokenError(
                ConnectionBrokenError.CLOSED, say("closed during the TLS handshake")
            )
        self.attach(encrypted)

    async def _wait_a_little(self, until: float) -> None:
        """Waits for news, and not long: for what no event loop tells."""
        poll = self._loop.call_later(_POLL_SECONDS, self._wake)
        try:
            await self._wait(until)
        finally:
            poll.cancel()

    async def _wait(self, until: float) -> None:
        if self._broken is not None:
            raise self._broken
        if until != self._until:
            self._until = self._expires_at = until
        if self._timer is None or self._timer.when() > self._expires_at:
            self._set_timer()
        self._waiter = self._loop.create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    def _set_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_at(self._expires_at, self._tick)

    def _tick(self) -> None:
        self._timer = None
        if self._waiter is None:
            return
        now = self._loop.time()
        if self._expires_at == self._until <= now:
            self._expires_at = now + GRACE
        if now < self._expires_at:
            self._set_timer()
        else:
            self._break(ConnectionBrokenError.TIMEOUT, say("no answer in time"))

    def _break(self, code: str, detail: str) -> None:
        if self._broken is None:
            self._broken = ConnectionBrokenError(code, detail)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._socket_transport = cast("asyncio.Transport", transport)
        self.attach(self._socket_transport)

    @override
    def pause_writing(self) -> None:
        self._is_paused = True

    @override
    def resume_writing(self) -> None:
        self._is_paused = False
        self._wake()

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        if exc is None:
            self._break(ConnectionBrokenError.CLOSED, say("the server closed the connection"))
        else:
            self._break(
                ConnectionBrokenError.RESET,
                say("the connection broke: %(reason)s", reason=f"{exc}"),
            )
