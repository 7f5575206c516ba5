"""The final dot of a large mail: it never waits in our process, so none leaves too late."""

import asyncio
import socket
import ssl
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, override

import pytest
import uvloop

from postledger.lib.clock import Deadline, boottime
from postledger.providers.base import Accepted, NotSent, Outcome, TryLater
from postledger.providers.smtp import framing
from postledger.providers.smtp.framing import Frame
from postledger.providers.smtp.provider import Smtp
from postledger.providers.smtp.session import Session
from postledger.providers.smtp.transaction import Transaction
from tests.providers.conftest import Authority
from tests.providers.fake_smtp import FakeSmtp
from tests.providers.messages import a_message, send
from tests.providers.stands import SettableClock, opened, smtp_settings

PIECE = 64 * 1024
LINE = b"y" * 76 + b"\r\n"
LARGE = b"Subject: large\r\n\r\n" + LINE * ((2 * PIECE - 5000) // len(LINE))  # its last piece too
UNREAD = 40_000  # more than both kernels' buffers hold here
PATIENCE = 60.0


class NarrowAsyncioLoop(asyncio.SelectorEventLoop):
    """Connects as over a slow path, on which the kernel keeps little."""

    @override
    async def create_connection(self, *args: Any, **kwargs: Any) -> Any:
        return _narrowed(await super().create_connection(*args, **kwargs))


class NarrowUvloop(uvloop.Loop):
    @override
    async def create_connection(self, *args: Any, **kwargs: Any) -> Any:
        return _narrowed(await super().create_connection(*args, **kwargs))


def _narrowed(connection: Any) -> Any:
    sock = connection[0].get_extra_info("socket")
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    return connection


type Loop = Callable[[], asyncio.AbstractEventLoop]

LOOPS: list[Loop] = [NarrowAsyncioLoop, NarrowUvloop]


@dataclass
class SluggishServer:
    """Stops reading before the end of a mail until it is told to go on; runs in a thread."""

    context: ssl.SSLContext | None
    stands_still: threading.Event = field(default_factory=threading.Event)
    goes_on: threading.Event = field(default_factory=threading.Event)
    received: bytes = b""

    def __post_init__(self) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.port = self.listener.getsockname()[1]

    def serve(self) -> None:
        with self.listener, self.listener.accept()[0] as accepted:
            accepted.settimeout(PATIENCE)
            connection = accepted
            if self.context is not None:
                connection = self.context.wrap_socket(accepted, server_side=True)
            connection.sendall(b"220 fake.example\r\n")
            for reply in (b"250 fake.example", b"250 ok", b"250 ok", b"354 go ahead"):
                assert connection.recv(4096).endswith(b"\r\n")
                connection.sendall(reply + b"\r\n")
            self.read_message(connection)
            connection.close()

    def read_message(self, connection: socket.socket) -> None:
        while not self.received.endswith(b"\r\n.\r\n"):
            if len(self.received) > len(LARGE) - UNREAD:
                self.stands_still.set()
                assert self.goes_on.wait(PATIENCE)
            try:
                piece = connection.recv(4096)
            except ConnectionError:
                return
            if not piece:
                return
            self.received += piece
        connection.sendall(b"250 2.0.0 Ok: queued as Q1\r\n")
        connection.recv(4096)  # QUIT


async def hand_over(
    server: SluggishServer, authority: Authority, *, seconds_slept: float
) -> Outcome:
    """The machine sleeps for a while when the last piece of the mail waits in this process."""
    clock = SettableClock()
    settings = smtp_settings(
        FakeSmtp(port=server.port),
        patience=PATIENCE,
        tls="none" if server.context is None else "implicit",
        ca_file=authority.ca_file,
    )
    async with opened(Smtp(settings, clock=clock)) as provider:
        sending = asyncio.ensure_future(send(provider, [a_message(content=LARGE)], within=600))
        assert await asyncio.to_thread(server.stands_still.wait, PATIENCE)
        await asyncio.sleep(0.2)
        clock.sleep(seconds_slept)
        server.goes_on.set()
        [outcome] = await sending
    return outcome


def play(server: SluggishServer, authority: Authority, loop: Loop, seconds_slept: float) -> Outcome:
    thread = threading.Thread(target=server.serve)
    thread.start()
    with asyncio.Runner(loop_factory=loop) as runner:
        outcome = runner.run(hand_over(server, authority, seconds_slept=seconds_slept))
    thread.join()
    return outcome


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("is_encrypted", [False, True])
def test_a_slow_reader_gets_the_whole_mail_but_no_final_dot_of_a_machine_that_slept(
    authority: Authority,
    loop: Loop,
    is_encrypted: bool,  # noqa: FBT001
) -> None:
    context = authority.context if is_encrypted else None

    server = SluggishServer(context)
    assert play(server, authority, loop, seconds_slept=0) == Accepted("Q1")
    assert server.received == LARGE + framing.DOT

    server = SluggishServer(context)
    outcome = play(server, authority, loop, seconds_slept=3600)
    assert type(outcome) is NotSent, outcome
    assert len(server.received) > PIECE
    assert not server.received.endswith(b"\r\n.\r\n")


class StingyTransport(asyncio.Transport):
    """As with a kernel that is short of memory: it takes all but the last byte."""

    def __init__(self) -> None:
        super().__init__()
        self.kept = b""
        self.is_aborted = False

    @override
    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        pass

    @override
    def write(self, data: Any) -> None:
        self.kept = bytes(data)[-1:]

    @override
    def get_write_buffer_size(self) -> int:
        return len(self.kept)

    @override
    def abort(self) -> None:
        self.is_aborted = True


def test_a_dot_that_the_kernel_does_not_take_at_once_is_never_sent() -> None:
    transport = StingyTransport()

    async def play() -> Outcome:
        settings = smtp_settings(FakeSmtp(port=25))
        session = Session(settings, ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT))
        session.connection.connection_made(transport)
        session.connection._sure_size = 1000
        frame = framing.frame(a_message())
        assert isinstance(frame, Frame)
        dot_by = Deadline(boottime() + 60)
        transaction = Transaction(session, frame, "ours", timeouts=settings.timeouts, dot_by=dot_by)
        running = asyncio.ensure_future(transaction.run())
        for reply in (b"250 ok\r\n", b"250 ok\r\n", b"354 go ahead\r\n"):
            await asyncio.sleep(0)
            session.connection.data_received(reply)
        return await running

    outcome = asyncio.run(play())

    assert isinstance(outcome, TryLater)
    assert outcome.code == "stuck"
    assert transport.is_aborted
