"""Connections: how they are secured, kept, counted and given up."""

import asyncio
import socket
import ssl
from collections import Counter
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import pytest

from postledger.lib.clock import Deadline, boottime
from postledger.providers.base import (
    Accepted,
    InDoubt,
    NotSent,
    Outcome,
    OutgoingMessage,
    Refused,
    SenderBlocked,
    TryLater,
)
from postledger.providers.smtp import framing
from postledger.providers.smtp.framing import Frame
from postledger.providers.smtp.outcomes import Stage
from postledger.providers.smtp.pool import Pool
from postledger.providers.smtp.provider import Smtp
from postledger.providers.smtp.session import Session
from postledger.providers.smtp.transaction import Transaction
from tests.providers.conftest import Authority
from tests.providers.fake_smtp import FEATURES, FakeSmtp, Fault, Phase, serving
from tests.providers.messages import a_message, a_window, send
from tests.providers.stands import opened, smtp_settings

WITH_AUTH = (*FEATURES, "AUTH PLAIN LOGIN")


def at(server: FakeSmtp, story: Callable[[Smtp], Awaitable[None]], **settings: Any) -> None:
    async def play() -> None:
        async with serving(server), opened(Smtp(smtp_settings(server, **settings))) as provider:
            await story(provider)

    asyncio.run(play())


def outcomes_of(server: FakeSmtp, window: list[OutgoingMessage], **settings: Any) -> list[Outcome]:
    outcomes: list[Outcome] = []

    async def story(provider: Smtp) -> None:
        outcomes.extend(await send(provider, window))

    at(server, story, **settings)
    return outcomes


def name_addresses(
    monkeypatch: pytest.MonkeyPatch, names: dict[str, list[str]], *, times: int = 99
) -> None:
    """Resolves some names, each so often; afterwards to this machine."""
    resolve = socket.getaddrinfo
    asked = Counter[str]()

    def answer(host: str, port: int, *rest: Any, **options: Any) -> list[Any]:
        asked[host] += 1
        addresses = names[host] if asked[host] <= times else ["127.0.0.1"]
        return [found for each in addresses for found in resolve(each, port, *rest, **options)]

    monkeypatch.setattr(
        socket,
        "getaddrinfo",
        lambda host, *rest, **options: (answer if host in names else resolve)(
            host, *rest, **options
        ),
    )


def stand_for_public_servers(monkeypatch: pytest.MonkeyPatch, *, alive: str) -> list[str]:
    """Has this machine answer for one public address, and nobody for others."""
    connect = asyncio.BaseEventLoop.create_connection
    asked: list[str] = []

    async def redirect(loop: Any, factory: Any, host: str, port: int, **options: Any) -> Any:
        asked.append(host)
        if host != alive:
            raise ConnectionRefusedError
        return await connect(loop, factory, "127.0.0.1", port, **options)

    monkeypatch.setattr(asyncio.BaseEventLoop, "create_connection", redirect)
    return asked


def types(outcomes: list[Outcome]) -> list[type[Outcome]]:
    return [type(outcome) for outcome in outcomes]


def test_a_message_is_said_in_few_words() -> None:
    server = FakeSmtp()

    assert outcomes_of(server, a_window("alice@example.com")) == [Accepted("Q1")]
    assert server.said == [
        "EHLO client.example",
        "MAIL FROM:<news@acme.example> SIZE=58",
        "RCPT TO:<alice@example.com>",
        "DATA",
        "QUIT",
    ]
    plain = FakeSmtp(features=())
    assert types(outcomes_of(plain, a_window("alice@example.com"))) == [Accepted]
    assert plain.said[1] == "MAIL FROM:<news@acme.example>"

    bounce = FakeSmtp()  # which may have no sender
    assert types(outcomes_of(bounce, [a_message(sender="")])) == [Accepted]
    assert bounce.said[1].startswith("MAIL FROM:<> ")


def test_a_name_that_leads_inside_is_not_connected_to_where_only_public_servers_are_allowed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for address in ["127.0.0.1", "10.0.0.7", "::1"]:
        server, host = FakeSmtp(), "relay.acme.example"
        name_addresses(monkeypatch, {host: ["1.1.1.1", address]})
        window = a_window("alice@example.com")

        [outcome] = outcomes_of(server, window, host=host, public_only=True)

        assert isinstance(outcome, SenderBlocked), address
        assert (outcome.code, outcome.is_account) == ("host_inside", True), address
        assert server.said == [], address
        monkeypatch.undo()


def test_the_address_that_was_looked_at_is_the_one_that_is_connected_to(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """However often the name is asked for: the resolver gives each answer once."""
    server = FakeSmtp()
    name_addresses(monkeypatch, {"relay.acme.example": ["9.9.9.9", "1.1.1.1"]}, times=1)
    connected = stand_for_public_servers(monkeypatch, alive="1.1.1.1")

    [outcome] = outcomes_of(
        server, a_window("alice@example.com"), host="relay.acme.example", public_only=True
    )

    assert outcome == Accepted("Q1")
    assert connected == ["9.9.9.9", "1.1.1.1"]


def test_the_envelope_is_one_write_where_the_server_takes_it() -> None:
    for features, writes in [(FEATURES, 1), (FEATURES[1:], 3)]:
        server = FakeSmtp(features=features)

        outcomes_of(server, a_window("alice@example.com"))

        words = (b"MAIL", b"RCPT", b"DATA")
        assert len([data for data in server.received if data.startswith(words)]) == writes


def test_a_connection_carries_no_more_messages_than_allowed() -> None:
    for most, connections in [(4, 3), (9, 1)]:
        server = FakeSmtp()
        window = a_window(*["alice@example.com"] * 9)

        outcomes = outcomes_of(server, window, messages_per_connection=most)

        assert types(outcomes) == [Accepted] * 9, most
        assert server.connection_count == server.said.count("QUIT") == connections, most

    server = FakeSmtp()

    async def story(provider: Smtp) -> None:
        for _ in range(2):
            assert types(await send(provider, a_window("alice@example.com"))) == [Accepted]

    at(server, story, messages_per_connection=1)
    assert server.connection_count == 2


def test_no_more_connections_are_open_than_allowed() -> None:
    server = FakeSmtp(max_connections=3)

    async def story(provider: Smtp) -> None:
        windows = [a_window(*[f"slow+{n}@example.com"] * 4) for n in range(3)]
        results = await asyncio.gather(*(send(provider, window) for window in windows))
        assert {type(outcome) for outcomes in results for outcome in outcomes} == {Accepted}

    server.slow = 0.02
    at(server, story, connections=3)
    assert server.connection_count == 3


def test_a_message_does_not_pay_for_a_connection_the_server_refused() -> None:
    server = FakeSmtp(max_connections=2, slow=0.05)

    outcomes = outcomes_of(server, a_window(*["slow@example.com"] * 6), connections=6)

    assert types(outcomes) == [Accepted] * 6
    assert server.connection_count == 6


def test_a_server_that_is_down_is_not_asked_again_for_each_message() -> None:
    server = FakeSmtp(faults={Phase.GREETING: "421 4.3.2 not now"})

    outcomes = outcomes_of(server, a_window(*["alice@example.com"] * 5))

    assert types(outcomes) == [TryLater, NotSent, NotSent, NotSent, NotSent]
    assert server.connection_count == 1
    assert all("not now" in outcome.detail for outcome in outcomes if isinstance(outcome, NotSent))


def test_a_line_the_server_gave_up_costs_no_attempt() -> None:
    """It dies at the next MAIL, before the server can have anything of the message."""

    async def story(provider: Smtp, server: FakeSmtp, farewell: str) -> None:
        await send(provider, a_window("alice@example.com"))
        server.faults[Phase.MAIL] = farewell
        server.faulty_connections = 1

        assert types(await send(provider, a_window("bob@example.com"))) == [Accepted], farewell

    for farewell in (Fault.CLOSE, Fault.RESET, "421 4.4.2 idle too long"):
        server = FakeSmtp()
        at(server, partial(story, server=server, farewell=farewell))
        assert server.recipients == ["alice@example.com", "bob@example.com"], farewell
        assert server.connection_count == 2, farewell


def test_an_idle_line_is_asked_before_it_is_used_and_not_used_when_it_breaks() -> None:
    async def story(provider: Smtp) -> None:
        await send(provider, a_window("alice@example.com"))
        assert types(await send(provider, a_window("bob@example.com"))) == [Accepted]

    for fault in ("", Fault.CLOSE, Fault.RESET, "421 4.4.2 idle too long"):
        server = FakeSmtp(faults={Phase.NOOP: fault} if fault else {})

        at(server, story, idle_check=0)

        assert server.said.count("NOOP") == 1, fault
        assert server.connection_count == (2 if fault else 1), fault


def test_a_line_on_which_the_server_spoke_unasked_is_not_used() -> None:
    server = FakeSmtp()

    async def story(provider: Smtp) -> None:
        await send(provider, a_window("alice@example.com"))
        server.writers[0].write(b"250 2.0.0 Ok: queued as EVIL\r\n")
        await asyncio.sleep(0.05)

        assert await send(provider, a_window("bob@example.com")) == [Accepted("Q2")]

    at(server, story)
    assert server.connection_count == 2


def test_a_window_that_finds_no_free_line_is_not_sent() -> None:
    server = FakeSmtp(slow=0.4)

    async def story(provider: Smtp) -> None:
        busy = asyncio.ensure_future(send(provider, a_window("slow@example.com")))
        await asyncio.sleep(0.05)
        outcomes = await send(provider, a_window("alice@example.com"), provider.call_time + 0.1)

        assert outcomes == [NotSent("no connection became free in time")]
        assert types(await busy) == [Accepted]

    at(server, story)


def test_an_idle_line_is_closed_in_the_end() -> None:
    server = FakeSmtp()

    async def story(provider: Smtp) -> None:
        await send(provider, a_window("alice@example.com"))
        async with asyncio.timeout(5):
            while server.open_count:  # noqa: ASYNC110  the server under test has no event to offer
                await asyncio.sleep(0.01)
        assert server.said[-1] == "QUIT"

    at(server, story, idle_limit=0.05)


def test_a_line_that_comes_back_after_the_end_is_closed_too() -> None:
    server = FakeSmtp()

    async def play() -> None:
        async with serving(server):
            pool = Pool(smtp_settings(server, idle_limit=0.05))
            soon = asyncio.get_running_loop().time() + 5
            early, late = [await pool.open_session(soon) for _ in range(2)]
            for session in (early, late):
                assert await pool.acquire(soon)
                if session is late:
                    await pool.close()
                pool.release(session)
            async with asyncio.timeout(5):
                while server.open_count:  # noqa: ASYNC110  the server has no event to offer
                    await asyncio.sleep(0.01)

    asyncio.run(play())


def test_a_refused_recipient_leaves_nothing_for_the_next_message() -> None:
    window = a_window("refuse@example.com", "alice@example.com", "refuse@example.com")
    for features in (FEATURES, FEATURES[1:]):
        server = FakeSmtp(features=features)

        assert types(outcomes_of(server, window)) == [Refused, Accepted, Refused], features
        assert server.recipients == ["alice@example.com"], features
        assert server.connection_count == 1, features

    # A go-ahead after it is met with an empty message.
    server = FakeSmtp(faults={Phase.DATA: "354 go ahead anyway"})
    assert types(outcomes_of(server, window[:2])) == [Refused, Accepted]
    assert [(taken.recipients, bool(taken.data)) for taken in server.journal] == [
        ((), False),
        (("alice@example.com",), True),
    ]

    # A reset that the server refuses costs a line and no attempt.
    server = FakeSmtp(faults={Phase.RSET: "421 4.3.2 closing"})
    assert types(outcomes_of(server, window[:2])) == [Refused, Accepted]
    assert server.connection_count == 2


def test_extensions_are_used_where_a_message_needs_them_and_it_is_refused_without() -> None:
    server = FakeSmtp()
    message = a_message("jürgen@bücher.example", content="Subject: x\r\n\r\nä".encode())
    assert types(outcomes_of(server, [message])) == [Accepted]
    assert "MAIL FROM:<news@acme.example> SIZE=18 BODY=8BITMIME SMTPUTF8" in server.said
    assert "RCPT TO:<jürgen@xn--bcher-kva.example>" in server.said

    cases: list[tuple[tuple[str, ...], OutgoingMessage, str]] = [
        (("SIZE 40",), a_message(), "too_big"),
        (("SMTPUTF8",), a_message(content="Subject: x\r\n\r\nä".encode()), "8bit_unsupported"),
        (("8BITMIME",), a_message("jürgen@example.com"), "utf8_unsupported"),
        (("8BITMIME",), a_message(content="Subject: ä\r\n\r\nx".encode()), "utf8_unsupported"),
        (FEATURES, a_message("a b@example.com"), "invalid_address"),
        (FEATURES, a_message("a@example.com>\r\nRCPT TO:<b@x.example"), "invalid_address"),
        (FEATURES, a_message(sender="a@x.example> SIZE=1"), "invalid_address"),
    ]
    for features, message, code in cases:
        server = FakeSmtp(features=features)

        [outcome] = outcomes_of(server, [message])

        assert isinstance(outcome, Refused), message
        assert outcome.code == code, message
        assert not any(line.startswith(("MAIL", "RCPT")) for line in server.said), message


def test_only_a_trusted_certificate_is_accepted(authority: Authority) -> None:
    for mode in ("starttls", "implicit"):
        for context, ca_file, is_trusted in [
            (authority.context, authority.ca_file, True),
            (authority.context, None, False),
            (authority.other_context, authority.ca_file, False),
        ]:
            server = FakeSmtp(context=context, is_implicit=mode == "implicit")

            [outcome] = outcomes_of(
                server, a_window("alice@example.com"), tls=mode, ca_file=ca_file
            )

            assert isinstance(outcome, Accepted if is_trusted else SenderBlocked), mode
            assert is_trusted or getattr(outcome, "code", "") == "tls_certificate"
            assert len(server.journal) == is_trusted, mode


def test_a_server_without_starttls_or_a_known_way_to_log_in_gets_no_message(
    authority: Authority,
) -> None:
    without_tls, without_plain = FakeSmtp(), FakeSmtp(features=("AUTH CRAM-MD5",))
    window = a_window("alice@example.com")

    [outcome] = outcomes_of(without_tls, window, tls="starttls", ca_file=authority.ca_file)
    assert isinstance(outcome, SenderBlocked)
    assert outcome.code == "tls_missing"
    assert without_tls.said == ["EHLO client.example"]

    [outcome] = outcomes_of(without_plain, window, username="alice", password="secret")
    assert isinstance(outcome, SenderBlocked)
    assert outcome.code == "auth_missing"


def test_what_the_server_offered_before_tls_is_forgotten(authority: Authority) -> None:
    """The first EHLO came in the open: anybody could have written it."""
    server = FakeSmtp(
        context=authority.context, faults={Phase.EHLO: "250-x\r\n250-STARTTLS\r\n250 SIZE 1"}
    )

    outcomes = outcomes_of(
        server, a_window("alice@example.com"), tls="starttls", ca_file=authority.ca_file
    )

    assert types(outcomes) == [Accepted]


def test_no_call_is_started_that_could_not_be_waited_for() -> None:
    server = FakeSmtp()

    async def story(provider: Smtp) -> None:
        window = a_window("alice@example.com", "bob@example.com")
        assert types(await send(provider, window, provider.call_time - 0.1)) == [NotSent, NotSent]

    at(server, story)
    assert server.connection_count == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("server", "content", "username"),
    [
        (FakeSmtp(pace=1.2), b"x: y\r\n\r\nz", ""),
        (FakeSmtp(pace=1.65, features=WITH_AUTH), b"x: y\r\n\r\nz", "me"),
        (FakeSmtp(faults={Phase.BODY: Fault.STALL}), b"x: y\r\n\r\n" + b"z" * 9_000_000, ""),
    ],
    ids=["each reply is slow", "the greetings are slow", "the body is not read"],
)
def test_a_deadline_before_the_dot_is_not_sent(
    server: FakeSmtp, content: bytes, username: str
) -> None:
    """No phase is late, only the whole: nothing was handed over and no attempt is counted."""
    timeouts = {"connect": 15, "command": 2.1, "body": 15, "answer": 6, "quit": 3}

    async def story(provider: Smtp) -> None:
        outcomes = await send(provider, [a_message(content=content)], provider.call_time + 0.5)
        assert types(outcomes) == [NotSent], outcomes

    at(server, story, timeouts=timeouts, username=username)
    assert server.journal == []
    assert len(server.said) > 1


def test_a_cancellation_is_not_sent_before_the_dot_and_in_doubt_after_it() -> None:
    async def story(provider: Smtp, phase: Phase) -> None:
        content = b"x: y\r\n\r\n" + b"z" * 9_000_000 if phase is Phase.BODY else b"x: y\r\n\r\nz"
        outcomes: list[Outcome] = []

        async def collect() -> None:
            async for _, outcome in provider.send([a_message(content=content)], boottime() + 60):
                outcomes.append(outcome)

        task = asyncio.ensure_future(collect())
        async with asyncio.timeout(60):
            await servers[phase].stalled.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        expected = InDoubt if phase in {Phase.DOT, Phase.TAKEN} else NotSent
        assert types(outcomes) == [expected], phase

    phases = (
        *(Phase.GREETING, Phase.EHLO, Phase.MAIL, Phase.RCPT, Phase.DATA, Phase.BODY, Phase.DOT),
        Phase.TAKEN,
    )
    servers = {phase: FakeSmtp(faults={phase: Fault.STALL}) for phase in phases}
    for phase, server in servers.items():
        at(server, partial(story, phase=phase))


def test_an_answer_that_comes_together_with_the_cancellation_counts() -> None:
    async def play(stage: Stage, received: bytes) -> Outcome:
        settings = smtp_settings(FakeSmtp(port=25))
        session = Session(settings, ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT))
        frame = framing.frame(a_message())
        assert isinstance(frame, Frame)
        transaction = Transaction(
            session, frame, "ours", timeouts=settings.timeouts, dot_by=Deadline(1.0)
        )
        session.stage = stage
        session.connection.data_received(received)
        return transaction.interrupted()

    for stage, received, expected in [
        (Stage.DATA, b"", NotSent),
        (Stage.BODY, b"", NotSent),
        (Stage.ANSWER, b"", InDoubt),
        (Stage.ANSWER, b"250 half an answ", InDoubt),
        (Stage.ANSWER, b"250 2.0.0 Ok: queued as Q1\r\n", Accepted),
        (Stage.ANSWER, b"554 5.7.1 spam\r\n", Refused),
    ]:
        assert type(asyncio.run(play(stage, received))) is expected, (stage, received)


def test_the_kernel_gives_up_unacknowledged_bytes_no_later_than_we_do() -> None:
    server = FakeSmtp()
    limits: list[int] = []

    async def story(provider: Smtp) -> None:
        await send(provider, a_window("alice@example.com"))
        assert provider._pool is not None
        [session] = provider._pool._idle
        assert session.connection.transport is not None
        sock = session.connection.transport.get_extra_info("socket")
        limits.append(sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT))

    at(server, story)
    assert limits == [5000]
