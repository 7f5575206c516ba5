"""At every moment of an HTTP call it is known whether the service may have the mail."""

import asyncio
import os
import socket
import ssl
import threading
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import override

import pytest
import uvloop

from postledger.lib.clock import Deadline, boottime
from postledger.providers import windows
from postledger.providers.base import (
    Accepted,
    Failure,
    InDoubt,
    NotSent,
    Outcome,
    OutgoingMessage,
    Refused,
    TryLater,
)
from postledger.providers.http import messages
from postledger.providers.http.connection import Connection
from postledger.providers.http.exchange import Break, Exchange, Stage, StaleError
from postledger.providers.http.messages import Answer, Request
from postledger.providers.http.outcomes import CommonRows
from postledger.providers.http.pool import Origin, Pool
from postledger.providers.http.settings import Timeouts
from postledger.providers.http.window_sender import Vendor, WindowSender
from postledger.providers.windows import WindowQueue
from tests.providers.conftest import Authority
from tests.providers.messages import LARGE, a_message
from tests.providers.raw_server import Part, Peer, RawServer
from tests.providers.stands import SettableClock

LOOPS: dict[str, Callable[[], asyncio.AbstractEventLoop]] = {
    "asyncio": asyncio.SelectorEventLoop,
    "uvloop": uvloop.new_event_loop,
}
TAKEN = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\ntaken"
REFUSED = b"HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno"
SMALL = b'{"mail": "small"}'


class PlainVendor:
    """Content is the body; a 200 is an acceptance, and anything else a refusal."""

    async def write_request(self, message: OutgoingMessage) -> Request | Failure:
        assert isinstance(message.content, bytes)
        return a_request(message.content)

    def judge_answer(self, answer: Answer, message: OutgoingMessage) -> Outcome:
        if answer.status == 200 and not answer.is_early:
            return Accepted(answer.body.decode())
        return Refused(str(answer.status), "early" if answer.is_early else "in turn")

    def judge_break(self, broken: Break) -> Failure:
        return CommonRows("PLAIN").judge_break(broken)


def a_request(body: bytes = SMALL) -> Request:
    return Request("POST", "/send", (("Host", "service.example"),), body)


@dataclass(frozen=True, slots=True)
class Where:
    """The event loop, and the contexts of both sides; who has none does not speak TLS."""

    loop: str = "asyncio"
    server: ssl.SSLContext | None = None
    client: ssl.SSLContext | None = None


OPEN = Where()


@dataclass
class Client:
    """Sends mails as a provider does, to one raw server."""

    server: RawServer
    pool: Pool
    clock: SettableClock
    vendor: Vendor = field(default_factory=PlainVendor)
    outcomes: dict[int, Outcome] = field(default_factory=dict)  # of the last window

    async def send(self, *bodies: bytes, within: float = 60.0) -> list[Outcome]:
        window = [a_message(position=n, content=body) for n, body in enumerate(bodies)]
        sender = WindowSender(self.vendor, self.pool, window, self.clock() + within, self.clock)
        queue = WindowQueue(len(window))
        self.outcomes = {}
        async with aclosing(windows.run_workers(queue, sender.run_worker, 1)) as reports:
            async for index, outcome in reports:
                assert index not in self.outcomes
                self.outcomes[index] = outcome
        return [self.outcomes[index] for index in range(len(window))]

    async def send_one(self, body: bytes = SMALL, within: float = 60.0) -> Outcome:
        [outcome] = await self.send(body, within=within)
        return outcome


def play(
    story: Callable[[Client], Awaitable[None]],
    *script: Part,
    where: Where = OPEN,
    call: float = 10.0,
    request: float = 5.0,
    idle_limit: float = 30.0,
) -> None:
    async def run() -> None:
        async with RawServer(script, where.server).running() as server:
            clock = SettableClock()
            pool = Pool(
                Origin("127.0.0.1", server.port, where.client),
                size=1,
                idle_limit=idle_limit,
                timeouts=Timeouts(connect=request, request=request, call=call),
                clock=clock,
            )
            try:
                await story(Client(server, pool, clock))
            finally:
                pool.close()

    with asyncio.Runner(loop_factory=LOOPS[where.loop]) as runner:
        runner.run(run())


@pytest.fixture(params=[f"{loop}, {kind}" for loop in LOOPS for kind in ("open", "TLS")])
def where(request: pytest.FixtureRequest, authority: Authority) -> Where:
    loop, _, kind = request.param.partition(", ")
    if kind == "open":
        return Where(loop)
    return Where(loop, authority.context, ssl.create_default_context(cafile=authority.ca_file))


async def take(peer: Peer, answer: bytes = TAKEN) -> None:
    while True:
        await peer.read_request()
        peer.say(answer)


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not condition():  # noqa: ASYNC110  sockets have no event to offer
            await asyncio.sleep(0.002)


async def an_exchange(client: Client, body: bytes = SMALL) -> tuple[Connection, Exchange]:
    """On a new connection; it has a minute, by the client's clock."""
    until_then = asyncio.get_running_loop().time() + 60
    connection = await client.pool.connect(until_then)
    end_by = Deadline(client.clock() + 60, client.clock)
    exchange = Exchange(connection, a_request(body), end_by=end_by, answer_until=until_then)
    return connection, exchange


# What is an answer.


def test_a_complete_answer_is_read_in_pieces_of_any_size() -> None:
    async def trickle(peer: Peer, answer: bytes, size: int) -> None:
        await peer.read_request()
        for at in range(0, len(answer), size):
            peer.say(answer[at : at + size])
            await asyncio.sleep(0)
        await peer.read_to_the_end()

    async def story(client: Client) -> None:
        assert await client.send_one() == Accepted("taken")

    chunks = b"Transfer-Encoding: chunked\r\n\r\n2\r\nta\r\n3\r\nken\r\n0\r\n\r\n"
    interim = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n"
    for answer in (TAKEN, b"HTTP/1.1 200 OK\r\n" + chunks, interim + TAKEN):
        for size in (1, 7, 10_000):
            play(story, partial(trickle, answer=answer, size=size))


def test_the_end_of_the_connection_ends_an_answer_without_a_length(where: Where) -> None:
    async def answer(peer: Peer) -> None:
        await peer.read_request()
        peer.say(b"HTTP/1.0 200 OK\r\n\r\ntak")
        await asyncio.sleep(0.01)
        peer.say(b"en")
        await peer.close()

    async def story(client: Client) -> None:
        assert await client.send_one() == Accepted("taken")
        assert client.pool.take_idle() is None

    play(story, answer, where=where)


def test_bytes_that_are_no_answer_leave_a_doubt() -> None:
    async def story(client: Client, case: str) -> None:
        outcome = await client.send_one()

        assert isinstance(outcome, InDoubt), case
        assert outcome.code == "NETWORK_ERROR", case
        assert "garbled" in outcome.detail, case
        assert client.pool.take_idle() is None, case

    ok = b"HTTP/1.1 200 OK\r\n"
    for case, answer in {
        "garbage": b"\x00\x15\xff SSH-2.0-nothing like HTTP\n\n",
        "two lengths": ok + b"Content-Length: 5\r\nContent-Length: 7\r\n\r\ntaken",
        "bad chunk": ok + b"Transfer-Encoding: chunked\r\n\r\nzz\r\ntaken",
        "upgrade": b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: smtp\r\n\r\n250 taken",
        "endless head": ok + b"X: " + b"x" * (messages.MAX_HEAD + 1024),
        "endless body": ok + b"Content-Length: 999999999\r\n\r\n" + b"x" * (messages.MAX_BODY + 1),
        "interim": b"HTTP/1.1 100 Continue\r\n\r\n" * (messages.MAX_INTERIM + 1) + TAKEN,
    }.items():
        play(partial(story, case=case), partial(take, answer=answer))


def test_an_answer_that_never_ends_is_given_up_in_time() -> None:
    async def trickle(peer: Peer) -> None:
        await peer.read_request()
        peer.say(b"HTTP/1.1 200 OK\r\n")
        while True:
            peer.say(b"X: x\r\n")
            await asyncio.sleep(0.05)

    async def story(client: Client) -> None:
        outcome = await client.send_one()

        assert isinstance(outcome, InDoubt)
        assert (outcome.code, outcome.category) == ("PLAIN_TIMEOUT", "TIMEOUT_ERROR")
        assert outcome.duration is not None
        assert 0.6 <= outcome.duration.total_seconds() < 30

    play(story, trickle, call=0.6, request=0.5)


# Where it breaks.


@pytest.mark.parametrize("end", ["close", "reset"])
@pytest.mark.parametrize("answer", [b"", TAKEN[:20], TAKEN[:-1]], ids=["none", "head", "body"])
def test_a_break_after_the_last_byte_leaves_a_doubt(where: Where, answer: bytes, end: str) -> None:
    async def cut(peer: Peer) -> None:
        await peer.read_request()
        peer.say(answer)
        await (peer.close() if end == "close" else peer.reset())

    async def story(client: Client) -> None:
        outcome = await client.send_one()

        assert isinstance(outcome, InDoubt)
        assert (outcome.code, outcome.category) == ("NETWORK_ERROR", "TRANSIENT_ERROR")
        assert outcome.original_code == "NetworkingError"

    play(story, cut, where=where)


@pytest.mark.parametrize("end", ["close", "reset"])
@pytest.mark.parametrize("size", [0, 100_000])
def test_a_break_before_the_last_byte_is_tried_again(where: Where, size: int, end: str) -> None:
    async def cut(peer: Peer) -> None:
        await peer.read_head()
        while len(peer.received) < size:
            await peer.read()
        await (peer.close() if end == "close" else peer.reset())

    async def story(client: Client) -> None:
        outcome = await client.send_one(LARGE)

        assert isinstance(outcome, TryLater)
        assert (outcome.code, outcome.is_outage) == ("NETWORK_ERROR", False)

    play(story, cut, where=where)


class DamagedVendor(PlainVendor):
    """Writes a request whose head would end too early."""

    @override
    async def write_request(self, message: OutgoingMessage) -> Request | Failure:
        headers = (("Host", "service.example"), ("X-Amz-Security-Token", "hush\r\n"))
        return Request("POST", "/send", headers, SMALL)


def test_an_error_before_the_first_byte_leaves_no_doubt_and_shows_no_header() -> None:
    async def story(client: Client) -> None:
        client.vendor = DamagedVendor()

        with pytest.raises(ValueError, match="'X-Amz-Security-Token'") as raised:
            await client.send(SMALL, SMALL)

        assert [type(outcome) for outcome in client.outcomes.values()] == [NotSent, NotSent]
        assert "hush" not in str(raised.value)
        await until(lambda: client.server.peers[0].has_ended)
        assert not client.server.peers[0].received

    play(story, take)


class BrokenVendor(PlainVendor):
    """Writes no request at all."""

    @override
    async def write_request(self, message: OutgoingMessage) -> Request | Failure:
        raise LookupError


def test_a_request_that_cannot_be_written_leaves_no_doubt() -> None:
    async def story(client: Client) -> None:
        client.vendor = BrokenVendor()

        with pytest.raises(LookupError):
            await client.send(SMALL, SMALL)

        assert [type(outcome) for outcome in client.outcomes.values()] == [NotSent, NotSent]
        assert not any(peer.received for peer in client.server.peers)

    play(story, take)


def test_a_service_that_nobody_can_reach_is_an_outage() -> None:
    async def story(client: Client) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        for origin in (Origin("127.0.0.1", port), Origin("nobody.invalid", 443)):
            pool = Pool(origin, size=1)
            [outcome, other] = await Client(client.server, pool, client.clock).send(SMALL, SMALL)

            assert isinstance(outcome, TryLater), origin
            assert (outcome.code, outcome.is_outage) == ("NETWORK_ERROR", True), origin
            assert outcome.duration is not None, origin
            assert isinstance(other, NotSent), origin

    play(story, take)


@pytest.mark.parametrize("fault", ["other name", "unknown authority", "no TLS", "silence"])
def test_a_service_that_cannot_prove_its_name_gets_nothing(
    authority: Authority, fault: str
) -> None:
    async def story(client: Client) -> None:
        outcome = await client.send_one()

        assert isinstance(outcome, TryLater)
        assert (outcome.code, outcome.is_outage) == ("NETWORK_ERROR", True)
        assert not any(b"POST" in peer.received for peer in client.server.peers)

    contexts = {"other name": authority.other_context, "unknown authority": authority.context}
    ours = ssl.create_default_context(
        cafile=None if fault == "unknown authority" else authority.ca_file
    )
    part = Peer.read_to_the_end if fault == "silence" else partial(say, data=b"HTTP/1.1 400 \r\n")
    play(story, part, where=Where("asyncio", contexts.get(fault), ours), request=0.5)


async def say(peer: Peer, data: bytes) -> None:
    peer.say(data)
    await peer.read_to_the_end()


# The last byte.


def test_the_end_of_a_large_mail_stays_here_until_all_else_has_left(where: Where) -> None:
    """Its time ends while it waits for the service to read the beginning."""
    may_read = asyncio.Event()

    async def read_late(peer: Peer) -> None:
        await peer.read_head()
        await may_read.wait()
        await peer.read_to_the_end()

    async def story(client: Client) -> None:
        sending = asyncio.ensure_future(client.send_one(LARGE))
        await until(lambda: bool(client.server.peers and client.server.peers[0].received))
        client.clock.sleep(3600)
        may_read.set()

        assert isinstance(await sending, NotSent)
        [peer] = client.server.peers
        await until(lambda: peer.has_ended)
        # The reset may overtake what a slow reader had not read yet.
        assert LARGE[:-2].startswith(body_of(peer))

    play(story, read_late, request=20, call=30, where=where)


def body_of(peer: Peer) -> bytes:
    return bytes(peer.received).partition(b"\r\n\r\n")[2]


@pytest.mark.parametrize("body", [SMALL, LARGE], ids=["small", "large"])
def test_a_mail_whose_time_is_over_is_not_handed_over(where: Where, body: bytes) -> None:
    """The machine slept before the exchange began: no timer ran, only the clock tells."""

    async def story(client: Client) -> None:
        _, exchange = await an_exchange(client, body)
        client.clock.sleep(3600)

        result = await exchange.run()

        assert isinstance(result, Break)
        assert (result.stage, result.code) == (Stage.REQUEST, "timeout")
        peers = client.server.peers  # none, if the end came before it accepted
        await until(lambda: all(peer.has_ended for peer in peers))
        # The reset may overtake what a slow reader had not read yet.
        assert all(LARGE[:-2].startswith(body_of(peer)) for peer in peers)

    play(story, Peer.read_to_the_end, where=where)


@pytest.mark.parametrize("body", [SMALL, LARGE], ids=["small", "large"])
def test_the_service_gets_every_byte_once_over_one_connection(where: Where, body: bytes) -> None:
    async def story(client: Client) -> None:
        assert await client.send(body, body) == [Accepted("taken")] * 2
        assert await client.send_one(body) == Accepted("taken")

        [peer] = client.server.peers
        head, _, rest = bytes(peer.received).partition(b"\r\n\r\n")
        assert head.startswith(b"POST /send HTTP/1.1\r\n")
        assert rest == body + 2 * (head + b"\r\n\r\n" + body)

    play(story, take, where=where)


def test_a_service_that_stops_reading_has_not_got_the_mail(where: Where) -> None:
    async def stall(peer: Peer) -> None:
        await peer.read_head()
        await asyncio.Event().wait()

    async def story(client: Client) -> None:
        outcome = await client.send_one(LARGE)

        assert isinstance(outcome, TryLater)
        assert (outcome.code, outcome.category) == ("PLAIN_TIMEOUT", "TIMEOUT_ERROR")
        assert (outcome.original_code, outcome.is_outage) == ("RequestTimeout", False)

    play(story, stall, request=0.5, where=where)


@pytest.mark.parametrize("code", ["stuck", "reset"])
def test_an_end_that_the_kernel_does_not_take_goes_nowhere(where: Where, code: str) -> None:
    async def stay(_: Peer) -> None:
        await asyncio.Event().wait()

    async def story(client: Client) -> None:
        connection, exchange = await an_exchange(client)
        assert connection.transport is not None
        number = connection.transport.get_extra_info("socket").fileno()
        with socket.socket(fileno=os.dup(number)) as ours:
            if code == "reset":
                ours.shutdown(socket.SHUT_WR)
            else:
                fill(ours)

        result = await exchange.run()

        assert isinstance(result, Break)
        assert (result.stage, result.code) == (Stage.REQUEST, code)
        assert not connection.is_open

    play(story, stay, where=where)


def fill(sock: socket.socket) -> None:
    """Writes until the kernel has no room left."""
    with suppress(BlockingIOError):
        while True:
            sock.send(b"x" * 65536, socket.MSG_DONTWAIT)


# Early answers.


@pytest.mark.parametrize("size", [1, 10_000])
def test_an_answer_before_the_last_byte_is_read_and_the_rest_is_not_sent(
    where: Where, size: int
) -> None:
    async def refuse(peer: Peer) -> None:
        await peer.read_head()
        for at in range(0, len(REFUSED), size):
            peer.say(REFUSED[at : at + size])
            await asyncio.sleep(0.001)
        await peer.read_to_the_end()

    async def story(client: Client) -> None:
        outcome = await client.send_one(LARGE)

        assert outcome == Refused("413", "early")
        assert client.pool.take_idle() is None
        [peer] = client.server.peers
        await until(lambda: peer.has_ended)
        assert len(body_of(peer)) < len(LARGE)

    play(story, refuse, where=where)


def test_an_early_acceptance_is_none() -> None:
    async def accept(peer: Peer, answer: bytes) -> None:
        await peer.read_head()
        peer.say(answer)
        await peer.close()

    async def story(client: Client) -> None:
        outcome = await client.send_one(LARGE)

        assert isinstance(outcome, Refused | TryLater)
        assert outcome.code in {"200", "NETWORK_ERROR"}

    for answer in (TAKEN, TAKEN[:20]):
        play(story, partial(accept, answer=answer))


def test_an_interim_answer_does_not_stop_a_large_mail() -> None:
    async def go_on(peer: Peer) -> None:
        remaining = await peer.read_head()
        peer.say(b"HTTP/1.1 100 Continue\r\n\r\n")
        while remaining:
            remaining -= len(await peer.read(min(remaining, 65536)))
        peer.say(TAKEN)
        await peer.read_to_the_end()

    async def story(client: Client) -> None:
        assert await client.send_one(LARGE) == Accepted("taken")

    play(story, go_on)


def test_an_answer_before_the_request_is_nobodys(where: Where) -> None:
    async def story(client: Client) -> None:
        connection, exchange = await an_exchange(client)
        await until(lambda: not connection.is_open)

        result = await exchange.run()

        assert isinstance(result, Break)
        assert (result.stage, result.code) == (Stage.REQUEST, "garbled")

    play(story, partial(say, data=TAKEN), where=where)


# Kept connections.


def test_a_connection_with_anything_left_on_it_is_not_kept() -> None:
    async def story(client: Client, answer: bytes) -> None:
        assert await client.send(SMALL, SMALL) == [Accepted("taken")] * 2
        assert len(client.server.peers) == 2, answer
        await until(lambda: all(peer.has_ended for peer in client.server.peers))

    for answer in [
        TAKEN.replace(b"OK\r\n", b"OK\r\nConnection: close\r\n"),
        TAKEN.replace(b"HTTP/1.1", b"HTTP/1.0"),
        TAKEN + TAKEN,
        TAKEN + b"\0",
    ]:
        play(partial(story, answer=answer), partial(take, answer=answer))


@pytest.mark.parametrize("more", [TAKEN, b"\0", b""], ids=["answer", "byte", "end"])
def test_a_service_that_speaks_or_leaves_in_between_gets_the_next_mail_on_another_connection(
    where: Where, more: bytes
) -> None:
    async def speak(peer: Peer) -> None:
        await peer.read_request()
        peer.say(TAKEN)
        await asyncio.sleep(0.05)
        peer.say(more)
        if not more:
            await peer.close()
        await peer.read_to_the_end()

    async def story(client: Client) -> None:
        assert await client.send_one() == Accepted("taken")
        await asyncio.sleep(0.3)

        assert await client.send_one() == Accepted("taken")
        assert len(client.server.peers) == 2
        assert client.server.peers[0].received.count(b"POST") == 1

    play(story, speak, take, where=where)


@pytest.mark.parametrize("loop", LOOPS)
def test_an_end_that_only_the_kernel_knows_is_seen_before_the_next_mail(loop: str) -> None:
    """The event loop has had no time to read it."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        may_close, is_closed = threading.Event(), threading.Event()

        def serve() -> None:
            peer, _ = listener.accept()
            with peer:
                peer.recv(65536)
                peer.sendall(TAKEN)
                may_close.wait(60)
            is_closed.set()

        async def story() -> None:
            pool = Pool(Origin("127.0.0.1", listener.getsockname()[1]), size=1)
            now = asyncio.get_running_loop().time()
            ask = partial(Exchange, end_by=Deadline(boottime() + 60), answer_until=now + 60)
            connection = await pool.connect(now + 60)
            await ask(connection, a_request()).run()
            assert connection.is_silent()
            may_close.set()
            is_closed.wait(60)

            assert connection.can_follow
            with pytest.raises(StaleError):
                await ask(connection, a_request()).run()
            await asyncio.sleep(0)

        thread = threading.Thread(target=serve)
        thread.start()
        with asyncio.Runner(loop_factory=LOOPS[loop]) as runner:
            runner.run(story())
        thread.join(60)


def test_a_large_mail_on_a_connection_that_ends_under_it_goes_over_another_one() -> None:
    async def leave(peer: Peer) -> None:
        await peer.read_request()
        peer.say(TAKEN)
        await peer.read_head()
        await peer.close()

    async def story(client: Client) -> None:
        assert await client.send(SMALL, LARGE) == [Accepted("taken")] * 2
        assert len(client.server.peers) == 2

    play(story, leave, take)


def test_a_connection_that_was_idle_too_long_is_closed_by_us(where: Where) -> None:
    async def story(client: Client) -> None:
        assert await client.send_one() == Accepted("taken")
        [peer] = client.server.peers

        await until(lambda: peer.has_ended)

    play(story, take, idle_limit=0.05, where=where)


def test_a_connection_that_was_idle_while_the_machine_slept_is_not_used() -> None:
    async def story(client: Client) -> None:
        assert await client.send_one() == Accepted("taken")
        client.clock.sleep(3600)

        assert await client.send_one() == Accepted("taken")
        assert len(client.server.peers) == 2

    play(story, take)


# Deadlines and cancellation.


def test_nothing_is_begun_that_could_not_be_finished() -> None:
    async def story(client: Client) -> None:
        assert isinstance(await client.send_one(within=9.9), NotSent)

        # A mail waits for a free connection only while it has time.
        assert await client.pool.acquire(0)
        outcome = await client.send_one(within=10.1)
        assert outcome == NotSent("no connection became free in time")
        assert client.server.peers == []

    play(story, take, call=10)


def test_a_target_that_could_end_its_line_is_not_written() -> None:
    for target in ["", "/a b", "/a\r\nX: y", "/é", "/\0"]:
        with pytest.raises(ValueError, match="target"):
            Request("GET", target, (), b"").to_bytes()


@pytest.mark.parametrize(
    ("part", "body", "expected"),
    [
        (Peer.read_to_the_end, SMALL, InDoubt),
        (Peer.read_head, LARGE, NotSent),
    ],
    ids=["waiting", "writing"],
)
def test_a_cancelled_call_tells_what_is_known(
    where: Where,
    part: Callable[[Peer], Coroutine[None, None, None]],
    body: bytes,
    expected: type[Outcome],
) -> None:
    async def stay(peer: Peer) -> None:
        await part(peer)
        await asyncio.Event().wait()

    async def story(client: Client) -> None:
        window = [a_message(content=body)]
        sender = WindowSender(PlainVendor(), client.pool, window, boottime() + 60, boottime)
        told: list[Outcome] = []

        async def collect() -> None:
            async for _, outcome in windows.run_workers(WindowQueue(1), sender.run_worker, 1):
                told.append(outcome)

        task = asyncio.ensure_future(collect())
        await until(lambda: bool(client.server.peers and client.server.peers[0].received))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

        assert [type(outcome) for outcome in told] == [expected]

    play(story, stay, where=where)


def test_an_answer_that_came_with_the_cancellation_counts() -> None:
    async def story(client: Client) -> None:
        connection, exchange = await an_exchange(client)
        task = asyncio.ensure_future(exchange.run())
        await until(lambda: connection.take_answer() is not None or task.done())
        task.cancel()

        result = exchange.interrupt()

        assert isinstance(result, Answer)
        assert result.body == b"taken"

    play(story, take)
