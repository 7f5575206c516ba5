"""Every phase of SMTP, every way it can go wrong, and the one outcome each has."""

import asyncio
import socket
from typing import Any

import pytest

from postledger.providers.base import (
    Accepted,
    InDoubt,
    Outcome,
    OutgoingMessage,
    Refused,
    SenderBlocked,
    TryLater,
)
from postledger.providers.smtp.provider import Smtp
from tests.providers.conftest import Authority
from tests.providers.fake_smtp import FEATURES, FakeSmtp, Fault, Phase, serving
from tests.providers.messages import a_message, a_window, send
from tests.providers.stands import opened, smtp_settings

CLOSE, RESET, STALL = Fault.CLOSE, Fault.RESET, Fault.STALL
LARGE = b"Subject: large\r\n\r\n" + b"x" * 70 + b"\r\n" + (b"y" * 70 + b"\r\n") * 120_000

# phase, fault, outcome, code (one of, where the kernel decides which it sees)
TABLE: list[tuple[Phase, str, type[Outcome], str]] = [
    (Phase.GREETING, CLOSE, TryLater, "closed"),
    (Phase.GREETING, RESET, TryLater, "reset"),
    (Phase.GREETING, STALL, TryLater, "timeout"),
    (Phase.GREETING, "421 4.3.2 not now", TryLater, "421 4.3.2"),
    (Phase.GREETING, "554 5.7.1 not you", SenderBlocked, "554 5.7.1"),
    (Phase.GREETING, "hello?", TryLater, "garbled"),
    (Phase.EHLO, CLOSE, TryLater, "closed"),
    (Phase.EHLO, RESET, TryLater, "reset"),
    (Phase.EHLO, STALL, TryLater, "timeout"),
    (Phase.EHLO, "451 later", TryLater, "451"),
    (Phase.EHLO, "550 who are you", SenderBlocked, "550"),
    (Phase.STARTTLS, CLOSE, TryLater, "closed"),
    (Phase.STARTTLS, RESET, TryLater, "reset"),
    (Phase.STARTTLS, STALL, TryLater, "timeout"),
    (Phase.STARTTLS, "454 4.7.0 TLS not available", TryLater, "454 4.7.0"),
    (Phase.STARTTLS, "501 5.5.4 no", SenderBlocked, "501 5.5.4"),
    (Phase.STARTTLS, "220 go\r\n250 injected", SenderBlocked, "tls_injection"),
    (Phase.STARTTLS, "220 go\r\n25", SenderBlocked, "tls_injection"),
    (Phase.HANDSHAKE, CLOSE, TryLater, "connect"),
    (Phase.HANDSHAKE, RESET, TryLater, "connect"),
    (Phase.HANDSHAKE, STALL, TryLater, "timeout"),
    (Phase.HANDSHAKE, "250 not TLS at all", TryLater, "tls"),
    (Phase.EHLO_AGAIN, CLOSE, TryLater, "closed"),
    (Phase.EHLO_AGAIN, RESET, TryLater, "reset"),
    (Phase.EHLO_AGAIN, STALL, TryLater, "timeout"),
    (Phase.EHLO_AGAIN, "421 bye", TryLater, "421"),
    (Phase.EHLO_AGAIN, "550 no", SenderBlocked, "550"),
    (Phase.AUTH, CLOSE, TryLater, "closed"),
    (Phase.AUTH, RESET, TryLater, "reset"),
    (Phase.AUTH, STALL, TryLater, "timeout"),
    (Phase.AUTH, "454 4.7.0 Temporary authentication failure", TryLater, "454 4.7.0"),
    (Phase.AUTH, "535 5.7.8 Authentication failed", SenderBlocked, "535 5.7.8"),
    (Phase.MAIL, CLOSE, TryLater, "closed"),
    (Phase.MAIL, RESET, TryLater, "reset"),
    (Phase.MAIL, STALL, TryLater, "timeout"),
    (Phase.MAIL, "451 4.3.0 not now", TryLater, "451 4.3.0"),
    (Phase.MAIL, "553 5.7.60 not your address", SenderBlocked, "553 5.7.60"),
    (Phase.MAIL, "421 4.3.2 closing", TryLater, "421 4.3.2"),
    (Phase.RCPT, CLOSE, TryLater, "closed"),
    (Phase.RCPT, RESET, TryLater, "reset"),
    (Phase.RCPT, STALL, TryLater, "timeout"),
    (Phase.RCPT, "450 4.2.1 greylisted", TryLater, "450 4.2.1"),
    (Phase.RCPT, "550 5.1.1 no such user", Refused, "550 5.1.1"),
    (Phase.RCPT, "421 4.3.2 closing", TryLater, "421 4.3.2"),
    (Phase.DATA, CLOSE, TryLater, "closed"),
    (Phase.DATA, RESET, TryLater, "reset"),
    (Phase.DATA, STALL, TryLater, "timeout"),
    (Phase.DATA, "452 4.3.1 no space", TryLater, "452 4.3.1"),
    (Phase.DATA, "554 5.6.0 no", Refused, "554 5.6.0"),
    (Phase.DATA, "250 what?", TryLater, "garbled"),
    (Phase.BODY, CLOSE, TryLater, "closed|reset"),
    (Phase.BODY, RESET, TryLater, "closed|reset"),
    (Phase.BODY, STALL, TryLater, "timeout"),
    (Phase.BODY, "452 4.3.1 no space left", TryLater, "452 4.3.1"),
    (Phase.BODY, "552 5.3.4 too big", Refused, "552 5.3.4"),
    (Phase.BODY, "250 2.0.0 queued already", TryLater, "garbled"),
    (Phase.DOT, CLOSE, InDoubt, "closed"),
    (Phase.DOT, RESET, InDoubt, "reset"),
    (Phase.DOT, STALL, InDoubt, "timeout"),
    (Phase.DOT, "451 4.3.0 not now", TryLater, "451 4.3.0"),
    (Phase.DOT, "421 4.3.2 closing", TryLater, "421 4.3.2"),
    (Phase.DOT, "554 5.7.1 spam", Refused, "554 5.7.1"),
    (Phase.DOT, "550 5.7.26 unauthenticated", SenderBlocked, "550 5.7.26"),
    (Phase.TAKEN, CLOSE, InDoubt, "closed"),
    (Phase.TAKEN, RESET, InDoubt, "reset"),
    (Phase.TAKEN, STALL, InDoubt, "timeout"),
    (Phase.TAKEN, "354 go ahead", InDoubt, "garbled"),
    (Phase.TAKEN, "hello?", InDoubt, "garbled"),
    (Phase.TAKEN, "250-2.0.0 half an answer", InDoubt, "timeout"),  # and then silence
    (Phase.TAKEN, "250 2.0.0 queued\r\nhello?", Accepted, ""),
    (Phase.QUIT, CLOSE, Accepted, ""),
    (Phase.QUIT, RESET, Accepted, ""),
    (Phase.QUIT, STALL, Accepted, ""),
    (Phase.QUIT, "421 4.3.2 closing", Accepted, ""),
    (Phase.QUIT, "554 5.0.0 stay", Accepted, ""),
]
ENCRYPTED = {Phase.STARTTLS, Phase.HANDSHAKE, Phase.EHLO_AGAIN, Phase.AUTH}
SILENT = {STALL, "250-2.0.0 half an answer"}


# Which wait ends when a server stalls there; all other waits are long, so that none ends by chance.
WAITS = {
    Phase.HANDSHAKE: "connect",
    Phase.BODY: "body",
    Phase.DOT: "answer",
    Phase.TAKEN: "answer",
    Phase.QUIT: "quit",
}


async def hand_over(
    server: FakeSmtp, window: list[OutgoingMessage], short: str = "", **settings: Any
) -> list[Outcome]:
    waits = dict.fromkeys(["connect", "command", "body", "answer", "quit"], 5.0)
    timeouts = waits | ({short: 0.2} if short else {})
    made = smtp_settings(server, timeouts=timeouts, **settings)
    async with opened(Smtp(made)) as provider:
        return await send(provider, window)


def code(outcome: Outcome) -> str:
    return getattr(outcome, "code", "")


@pytest.mark.slow
@pytest.mark.parametrize("pipelining", [1, 0], ids=["pipelined", "one by one"])
@pytest.mark.parametrize(("phase", "fault", "expected", "codes"), TABLE)
def test_a_fault_in_a_phase_is_exactly_its_outcome(
    phase: Phase,
    fault: str,
    expected: type[Outcome],
    codes: str,
    pipelining: int,
    authority: Authority,
) -> None:
    more: dict[str, object] = {}
    if phase in ENCRYPTED:
        more = {
            "tls": "starttls",
            "ca_file": authority.ca_file,
            "username": "alice",
            "password": "x",
        }
    offers = (*FEATURES, "AUTH PLAIN LOGIN")
    server = FakeSmtp(
        faults={phase: fault},
        features=offers if pipelining else offers[1:],
        context=authority.context if phase in ENCRYPTED else None,
    )
    message = a_message(content=LARGE if phase is Phase.BODY else b"Subject: hi\r\n\r\nhi\r\n")

    async def play() -> list[Outcome]:
        async with serving(server):
            short = WAITS.get(phase, "command") if fault in SILENT else ""
            return await hand_over(server, [message], short, **more)

    [outcome] = asyncio.run(play())

    assert type(outcome) is expected, outcome
    assert code(outcome) in codes.split("|")
    assert len(server.journal) == (phase in {Phase.TAKEN, Phase.QUIT})


def test_a_server_that_does_not_listen_exist_or_answer_is_tried_later() -> None:
    window = a_window("alice@example.com")
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        for host in ("127.0.0.1", "nowhere.invalid"):
            [outcome] = asyncio.run(hand_over(FakeSmtp(port=port), window, host=host))

            assert isinstance(outcome, TryLater), host
            assert outcome.code == "connect", host
    with socket.socket() as full, socket.socket() as knock, socket.socket() as knock_again:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        for guest in (knock, knock_again):
            guest.settimeout(0)
            guest.connect_ex(full.getsockname())
        server = FakeSmtp(port=full.getsockname()[1])

        [outcome] = asyncio.run(hand_over(server, window, "connect"))

    assert isinstance(outcome, TryLater)
    assert outcome.code == "timeout"
