"""What a server's answer means, line by line."""

from datetime import timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postledger.providers.base import (
    Accepted,
    Category,
    InDoubt,
    Outcome,
    Refused,
    SenderBlocked,
    Throttled,
    TryLater,
)
from postledger.providers.smtp import outcomes
from postledger.providers.smtp.outcomes import Stage
from postledger.providers.smtp.replies import Features, GarbledError, Reply, ReplyParser

RCPT, MAIL, DATA, ANSWER, AUTH, GREETING = (
    Stage.RCPT,
    Stage.MAIL,
    Stage.DATA,
    Stage.ANSWER,
    Stage.AUTH,
    Stage.GREETING,
)

# stage, what the server says, the outcome
MEANINGS: list[tuple[Stage, str, type[Outcome]]] = [
    # Never for this message, and only for this one.
    (RCPT, "550 5.1.1 <x@y> User unknown", Refused),
    (RCPT, "550 5.1.2 Host unknown", Refused),
    (RCPT, "550 5.1.10 Recipient not found", Refused),
    (RCPT, "550 5.2.1 Mailbox disabled", Refused),
    (RCPT, "552 5.2.2 Mailbox full, quota exceeded", Refused),
    (RCPT, "550 5.4.1 Recipient address rejected: Access denied", Refused),
    (RCPT, "550 No such user here", Refused),
    (RCPT, "550 5.7.1 Recipient does not accept mail from lists", Refused),
    (RCPT, "550 5.1.1 Relaying denied to nobody", Refused),
    (ANSWER, "554 5.7.1 Message rejected as spam", Refused),
    (ANSWER, "552 5.3.4 Message too big", Refused),
    (MAIL, "552 5.3.4 Message size exceeds fixed limit", Refused),
    (MAIL, "552 Message too big", Refused),
    (ANSWER, "550 5.6.0 Invalid header found", Refused),
    # Not now.
    (RCPT, "450 4.1.8 Sender domain not found", TryLater),
    (RCPT, "450 4.7.1 Greylisted, see you later", TryLater),
    (RCPT, "451 4.7.1 Try again later", TryLater),
    (RCPT, "452 4.2.2 The account is over its sending quota", TryLater),
    (RCPT, "452 4.5.3 Too many recipients", TryLater),
    (DATA, "452 4.3.1 Insufficient system storage", TryLater),
    (ANSWER, "451 4.3.0 Temporary service failure", TryLater),
    (ANSWER, "421 4.4.2 Timeout waiting for data from client", TryLater),
    (AUTH, "454 4.7.0 Temporary authentication failure", TryLater),
    (GREETING, "421 4.3.2 Service not available", TryLater),
    # Too fast, or too much.
    (ANSWER, "454 Throttling failure: Maximum sending rate exceeded.", Throttled),
    (ANSWER, "454 Throttling failure: Daily message quota exceeded.", Throttled),
    (GREETING, "421 Too many concurrent SMTP connections", Throttled),
    (MAIL, "421 4.7.0 Too many messages, slow down", Throttled),
    (ANSWER, "421 4.7.28 Gmail has detected an unusual rate of mail", Throttled),
    (ANSWER, "550 5.4.5 Daily user sending limit exceeded.", Throttled),
    (MAIL, "432 4.3.2 STOREDRV.ClientSubmit; concurrent sessions", Throttled),
    # The sender, not the message.
    (AUTH, "535 Authentication Credentials Invalid", SenderBlocked),
    (AUTH, "535 5.7.8 Username and Password not accepted", SenderBlocked),
    (AUTH, "534 5.7.9 Application-specific password required", SenderBlocked),
    (MAIL, "530 5.7.0 Must issue a STARTTLS command first", SenderBlocked),
    (MAIL, "530 Authentication required", SenderBlocked),
    (MAIL, "553 5.7.1 Sender address rejected: not owned by user", SenderBlocked),
    (MAIL, "550 5.1.8 Sender domain does not exist", SenderBlocked),
    (RCPT, "554 5.7.1 <x@y>: Relay access denied", SenderBlocked),
    (RCPT, "550 5.7.54 Unable to relay recipient in non-accepted domain", SenderBlocked),
    (RCPT, "550 5.1.7 The sender's address is wrong", SenderBlocked),
    (ANSWER, "554 Message rejected: Email address is not verified.", SenderBlocked),
    (ANSWER, "554 Access denied: User `x' is not authorized", SenderBlocked),
    (ANSWER, "554 Sending paused for this account", SenderBlocked),
    (ANSWER, "550 5.7.26 Unauthenticated email is not accepted", SenderBlocked),
    (ANSWER, "550 5.7.515 Access denied, sending domain does not pass", SenderBlocked),
    (ANSWER, "550 5.7.708 Access denied, traffic not accepted from this IP", SenderBlocked),
    (GREETING, "554 5.7.1 Your address is on a list", SenderBlocked),
]


def parse_reply(line: str) -> Reply:
    [reply] = ReplyParser().feed(f"{line}\r\n".encode())
    return reply


def test_an_answer_means_its_outcome() -> None:
    for stage, line, expected in MEANINGS:
        assert type(outcomes.refusal(stage, parse_reply(line))) is expected, line


def test_only_what_is_said_before_a_recipient_is_named_is_surely_the_servers_own() -> None:
    for stage, line, _ in MEANINGS:
        outcome = outcomes.refusal(stage, parse_reply(line))

        if isinstance(outcome, SenderBlocked | Throttled):
            assert outcome.may_be_quoted == (stage in {RCPT, DATA, ANSWER}), line


@given(
    st.sampled_from(Stage),
    st.integers(400, 599),
    st.text(st.characters(min_codepoint=32, max_codepoint=126)),
)
def test_no_complete_refusal_is_ever_in_doubt(stage: Stage, code: int, text: str) -> None:
    outcome = outcomes.refusal(stage, Reply(code, (text.encode(),)))

    assert not isinstance(outcome, Accepted | InDoubt)
    if code < 500:
        assert isinstance(outcome, TryLater | Throttled)


def test_only_a_break_after_the_dot_is_in_doubt_and_each_has_a_code_and_a_category() -> None:
    for stage in Stage:
        for code, category in [
            ("closed", Category.TRANSIENT),
            ("reset", Category.TRANSIENT),
            ("timeout", Category.TIMEOUT),
        ]:
            outcome = outcomes.broken(stage, code, "it broke")

            assert isinstance(outcome, InDoubt) == (stage is Stage.ANSWER), stage
            assert (outcome.code, outcome.category) == (code, category), stage


def test_a_refusal_tells_code_and_words() -> None:
    outcome = outcomes.refusal(RCPT, parse_reply("550 5.1.1 User\tunknown\x07"))

    assert outcome == Refused("550 5.1.1", "RCPT: 550 5.1.1 User unknown", bounce_code="5.1.1")


def test_a_wait_the_server_asks_for_is_kept() -> None:
    cases: list[tuple[str, timedelta | None]] = [
        ("451 4.7.1 Greylisted, try again in 300 seconds", timedelta(minutes=5)),
        ("450 4.7.1 try again after 2 minutes", timedelta(minutes=2)),
        ("454 4.7.0 Throttling failure, wait for 1 hour", timedelta(hours=1)),
        ("451 4.7.1 try again later", None),
        ("451 rejected in 3 of 4 lists", None),
    ]
    for line, wait in cases:
        outcome = outcomes.refusal(ANSWER, parse_reply(line))

        assert isinstance(outcome, TryLater | Throttled), line
        assert outcome.retry_after == wait, line


def test_the_servers_own_id_is_kept() -> None:
    for line, provider_id in [
        ("250 2.0.0 Ok: queued as 4ZxY1k2Qz9z3", "4ZxY1k2Qz9z3"),
        ("250 OK id=1tABCD-000000001Ab-2XyZ", "1tABCD-000000001Ab-2XyZ"),
        (
            "250 Ok 010001934c2f1a2b-1c2d3e4f-0000-4a5b-8c9d-0123456789ab-000000",
            "010001934c2f1a2b-1c2d3e4f-0000-4a5b-8c9d-0123456789ab-000000",
        ),
        ("250 2.0.0 Message accepted for delivery", "ours"),
        ("250 thanks", "ours"),
    ]:
        assert outcomes.answer(parse_reply(line), "ours") == Accepted(provider_id), line


def test_what_is_no_reply_is_noticed() -> None:
    for garbage in [
        b"hello\r\n",
        b"25\r\n",
        b"\r\n",
        b"150 what\r\n",
        b"250-a\r\n251 b\r\n",
        b"2500 x\r\n",
        b"250 x" * 20_000,
        b"250-\r\n" * 100_000,
    ]:
        with pytest.raises(GarbledError):
            list(ReplyParser().feed(garbage))


@given(st.sampled_from([b"250", b"451", b"550"]), st.binary(max_size=100))
def test_whatever_bytes_a_server_says_every_text_can_be_stored(code: bytes, words: bytes) -> None:
    line = code + b" " + words.replace(b"\n", b"") + b"\r\n"

    [reply] = ReplyParser().feed(line)

    outcome = outcomes.answer(reply, "ours")
    assert all(
        text.isascii() and text.isprintable()
        for text in (getattr(outcome, name, "") for name in ("id", "code", "detail"))
    )


@given(st.lists(st.integers(0, 70), max_size=8))
def test_replies_are_read_however_they_are_cut(cuts: list[int]) -> None:
    stream = b"220 hi\r\n250-one\r\n250-two\r\n250 three\r\n354\r\n550 5.1.1 no\n"
    edges = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    parser = ReplyParser()

    read = [reply for start, end in pairwise(edges) for reply in parser.feed(stream[start:end])]

    assert [(reply.code, reply.lines) for reply in read] == [
        (220, ["hi"]),
        (250, ["one", "two", "three"]),
        (354, [""]),
        (550, ["5.1.1 no"]),
    ]
    assert parser.is_between_replies


def offering(*lines: str) -> Reply:
    return Reply(250, tuple(line.encode() for line in lines))


def test_offers_are_read_in_any_spelling() -> None:
    lines = ["me", "pipelining", "SIZE 1000", "8bitmime", "AUTH=LOGIN", "AUTH PLAIN XOAUTH2", ""]

    features = Features.read_from(offering(*lines))

    assert features == Features(
        pipelining=True,
        eight_bit=True,
        size=True,
        max_size=1000,
        mechanisms=frozenset({"LOGIN", "PLAIN", "XOAUTH2"}),
    )
    assert Features.read_from(offering("me", "SIZE", "SMTPUTF8")) == Features(size=True, utf8=True)


DEAD = ["5.1.1", "5.1.2", "5.1.6", "5.1.10", "5.2.1"]
ALIVE = ["5.0.0", "5.1.0", "5.1.3", "5.2.2", "5.2.3", "5.3.0", "5.4.1", "5.4.4", "5.7.1", "5.7.133"]


def test_five_codes_and_no_others_say_that_the_address_does_not_work() -> None:
    for code in DEAD:
        for stage in (RCPT, DATA, ANSWER):
            outcome = outcomes.refusal(stage, parse_reply(f"550 {code} no such user"))

            assert isinstance(outcome, Refused), (code, stage)
            assert outcome.bounce_code == code, (code, stage)
    for line in [*(f"550 {code} no" for code in ALIVE), "550 No such user here"]:
        outcome = outcomes.refusal(RCPT, parse_reply(line))

        assert isinstance(outcome, Refused), line
        assert not outcome.bounce_code, line


@given(st.sampled_from(Stage), st.integers(400, 599), st.sampled_from(DEAD + ALIVE))
def test_an_address_is_dead_only_by_a_final_refusal_after_it_was_named(
    stage: Stage, code: int, enhanced: str
) -> None:
    outcome = outcomes.refusal(stage, Reply(code, (f"{enhanced} no".encode(),)))

    if getattr(outcome, "bounce_code", ""):
        assert (code >= 500, stage >= RCPT, enhanced in DEAD) == (True, True, True)
