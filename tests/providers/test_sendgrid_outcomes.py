"""Every answer of SendGrid, and every way to get none, is its row of the table."""

import json
from datetime import UTC, datetime, timedelta

from postledger.providers.base import (
    Accepted,
    Category,
    Failure,
    InDoubt,
    NotSent,
    Outcome,
    Refused,
    SenderBlocked,
    Throttled,
    TryLater,
)
from postledger.providers.http.exchange import Break, Stage
from postledger.providers.http.messages import Answer
from postledger.providers.http.reading import Obstacle
from postledger.providers.sendgrid import outcomes

NOW = datetime(2026, 11, 18, 12, tzinfo=UTC)
P, C, Q, T, X = (
    Category.PERMANENT,
    Category.CONFIGURATION,
    Category.QUOTA,
    Category.TRANSIENT,
    Category.TIMEOUT,
)
CREDITS = "Maximum credits exceeded"
GRANT = "The provided authorization grant is invalid, expired, or revoked"
IDENTITY = "The from address does not match a verified Sender Identity. Mail cannot be sent."
PAGE = b"<html><body>502 Bad Gateway</body></html>"


def an_answer(status: int, *messages: str, body: bytes | None = None, **headers: str) -> Answer:
    errors = [{"message": message, "field": None, "help": None} for message in messages]
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(status, named, json.dumps({"errors": errors}).encode() if body is None else body)


def judge(answer: Answer) -> Outcome:
    return outcomes.judge_answer(answer, now=NOW)


def fail(answer: Answer) -> Failure:
    outcome = judge(answer)
    assert not isinstance(outcome, Accepted)
    return outcome


EXPLAINED = [
    (400, "invalid request", Refused, "SENDGRID_BAD_REQUEST", P),
    (400, IDENTITY, SenderBlocked, "SENDGRID_SENDER_NOT_VERIFIED", C),
    (401, CREDITS, Throttled, "SENDGRID_CREDITS_EXCEEDED", Q),
    (401, GRANT, SenderBlocked, "SENDGRID_CREDENTIALS", C),
    (401, "authorization required", SenderBlocked, "SENDGRID_CREDENTIALS", C),
    (403, "access forbidden", SenderBlocked, "SENDGRID_FORBIDDEN", C),
    (403, IDENTITY, SenderBlocked, "SENDGRID_SENDER_NOT_VERIFIED", C),
    (404, "not found", SenderBlocked, "SENDGRID_ENDPOINT", C),
    (405, "method not allowed", SenderBlocked, "SENDGRID_ENDPOINT", C),
    (408, "request timeout", TryLater, "SENDGRID_TIMEOUT", X),
    (413, "content too large", Refused, "SENDGRID_TOO_BIG", P),
    (415, "unsupported media type", Refused, "SENDGRID_BAD_REQUEST", P),
    (429, "too many requests", Throttled, "SENDGRID_THROTTLING", Q),
    (500, "internal server error", TryLater, "SENDGRID_SERVICE_UNAVAILABLE", T),
    (502, "bad gateway", TryLater, "SENDGRID_SERVICE_UNAVAILABLE", T),
    (503, "service unavailable", TryLater, "SENDGRID_SERVICE_UNAVAILABLE", T),
    (504, "gateway timeout", TryLater, "SENDGRID_SERVICE_UNAVAILABLE", T),
]
OF_A_GATEWAY = [
    (200, InDoubt, "SENDGRID_GATEWAY", T),
    (202, InDoubt, "SENDGRID_GATEWAY", T),
    (302, InDoubt, "SENDGRID_GATEWAY", T),
    (400, TryLater, "SENDGRID_GATEWAY", T),
    (401, TryLater, "SENDGRID_GATEWAY", T),
    (403, TryLater, "SENDGRID_GATEWAY", T),
    (404, TryLater, "SENDGRID_GATEWAY", T),
    (407, TryLater, "SENDGRID_GATEWAY", T),
    (408, TryLater, "SENDGRID_TIMEOUT", X),
    (413, TryLater, "SENDGRID_GATEWAY", T),
    (429, Throttled, "SENDGRID_THROTTLING", Q),
    (500, InDoubt, "SENDGRID_GATEWAY", T),
    (502, InDoubt, "SENDGRID_GATEWAY", T),
    (503, TryLater, "SENDGRID_SERVICE_UNAVAILABLE", T),
    (504, InDoubt, "SENDGRID_GATEWAY", T),
]


def test_an_error_that_sendgrid_explains_is_its_row() -> None:
    for status, message, outcome, code, category in EXPLAINED:
        failure = fail(an_answer(status, message))

        assert (type(failure), failure.code, failure.category) == (outcome, code, category), message
        assert failure.original_code == f"HTTP {status}", message
        assert failure.detail.startswith(f"HTTP {status}: {message}"), message
        assert not getattr(failure, "is_outage", False), message


def test_an_answer_without_sendgrids_document_is_one_of_a_gateway() -> None:
    for status, outcome, code, category in OF_A_GATEWAY:
        for body in (PAGE, b"", b"[]", b'{"errors": []}', b'{"errors": "no"}'):
            failure = fail(an_answer(status, body=body))

            row = (type(failure), failure.code, failure.category, failure.original_code)
            assert row == (outcome, code, category, f"HTTP {status}"), (status, body)


def test_an_acceptance_has_the_id_of_its_header() -> None:
    assert judge(an_answer(202, body=b"", x_message_id="14c5d75ce93")) == Accepted("14c5d75ce93")


def test_an_acceptance_without_an_id_leaves_a_doubt() -> None:
    for message_id in ["", "two words", "é", "<id>", "x" * 201]:
        assert isinstance(judge(an_answer(202, body=b"", x_message_id=message_id)), InDoubt), (
            message_id
        )


def test_an_answer_before_the_end_of_the_mail_takes_nothing() -> None:
    for status in [202, 500, 502, 504]:
        early = Answer(status, {"x-message-id": "14c5d75ce93"}, b"", is_early=True)

        assert isinstance(judge(early), TryLater), status


def test_a_refused_key_blocks_the_account_and_a_sender_that_nobody_verified_itself() -> None:
    for status, message, is_account in [
        (401, GRANT, True),
        (403, "access forbidden", True),
        (404, "not found", True),
        (405, "method not allowed", True),
        (403, IDENTITY, False),
    ]:
        failure = fail(an_answer(status, message))

        assert isinstance(failure, SenderBlocked), status
        assert failure.is_account == is_account, message


def test_a_bad_request_that_is_about_the_sender_alone_fails_no_recipient() -> None:
    cases: list[tuple[list[str | None], type[Outcome]]] = [
        (["from"], SenderBlocked),
        (["from.email", "from.name"], SenderBlocked),
        (["from", "personalizations.0.to"], Refused),
        (["from", None], Refused),
        (["from_", "content"], Refused),
        (["from", "from", "from", "subject"], Refused),
    ]
    for fields, outcome in cases:
        errors = [{"message": "not valid", "field": field} for field in fields]
        failure = fail(an_answer(400, body=json.dumps({"errors": errors}).encode()))

        assert type(failure) is outcome, fields
        assert not getattr(failure, "is_account", False), fields


def test_used_up_credits_are_a_quota_whose_reset_the_answer_does_not_say() -> None:
    reset = str(int(NOW.timestamp()) + 60)
    failure = fail(an_answer(401, CREDITS, x_ratelimit_reset=reset, retry_after="60"))

    assert isinstance(failure, Throttled)
    assert (failure.is_quota, failure.retry_after) == (True, None)


def test_a_throttle_ends_when_the_limit_of_requests_is_reset() -> None:
    now = int(NOW.timestamp())
    resets = [(37, 37), (600, 600), (601, None), (0, None), (-5, None)]
    cases: list[tuple[str, int | None]] = [
        *((str(now + reset), seconds) for reset, seconds in resets),
        *((no_time, None) for no_time in ("", "soon", "-1", "9" * 13, "1.5")),
    ]
    for reset, seconds in cases:
        failure = fail(an_answer(429, "too many requests", x_ratelimit_reset=reset))

        assert isinstance(failure, Throttled), reset
        assert not failure.is_quota, reset
        expected = None if seconds is None else timedelta(seconds=seconds)
        assert failure.retry_after == expected, reset


def test_the_wait_of_a_throttle_is_by_the_clock_of_the_answer() -> None:
    for date, seconds in [
        ("Wed, 18 Nov 2026 11:50:00 GMT", 37),
        ("Wed, 18 Nov 2026 11:50:00 -0000", 37),
        ("Wed, 18 Nov 2026 12:01:00 GMT", None),
        ("yesterday", None),
        ("Wed, 18 Nov 2026 12:01:00 +99999999999999999999", None),
        ("", None),
    ]:
        named = str(int(NOW.timestamp()) - 600 + 37)
        failure = fail(an_answer(429, "too many requests", x_ratelimit_reset=named, date=date))

        assert isinstance(failure, Throttled), date
        expected = None if seconds is None else timedelta(seconds=seconds)
        assert failure.retry_after == expected, date


def test_the_reset_of_the_rate_delays_no_other_failure() -> None:
    reset = str(int(NOW.timestamp()) + 60)
    failure = fail(an_answer(503, "service unavailable", x_ratelimit_reset=reset))

    assert isinstance(failure, TryLater)
    assert failure.retry_after is None


def test_the_fields_of_errors_are_named_and_no_address_is_repeated() -> None:
    errors = [
        {"message": "alice@example.com is no address", "field": "personalizations.0.to.0.email"},
        {"message": "too long", "field": "null"},
        {"message": "three", "field": None},
        {"message": "four", "field": None},
    ]
    body = json.dumps({"errors": errors, "id": "x"}).encode()

    detail = fail(an_answer(400, body=body)).detail

    assert detail == (
        "HTTP 400: personalizations.0.to.0.email: a***@example.com is no address; too long; three"
    )


def test_details_are_short_and_printable() -> None:
    failure = fail(an_answer(400, "no \0 such \ud800 user\r\n\x7f " + "x" * 5_000))

    assert failure.detail.isprintable()
    assert len(failure.detail) < 500


def test_after_the_last_byte_a_break_leaves_a_doubt() -> None:
    for stage, code, outcome, named in [
        (Stage.CONNECT, "connect", TryLater, "NETWORK_ERROR"),
        (Stage.CONNECT, "timeout", TryLater, "NETWORK_ERROR"),
        (Stage.REQUEST, "reset", TryLater, "NETWORK_ERROR"),
        (Stage.REQUEST, "timeout", TryLater, "SENDGRID_TIMEOUT"),
        (Stage.ANSWER, "closed", InDoubt, "NETWORK_ERROR"),
        (Stage.ANSWER, "timeout", InDoubt, "SENDGRID_TIMEOUT"),
        (Stage.ANSWER, "cancelled", InDoubt, "no_answer"),
        (Stage.REQUEST, "cancelled", NotSent, "not_sent"),
    ]:
        failure = outcomes.judge_break(Break(stage, code, "gone"))

        assert (type(failure), failure.code) == (outcome, named), (stage, code)
        assert getattr(failure, "is_outage", False) == (stage is Stage.CONNECT), stage


def test_a_question_without_an_answer_says_what_was_in_its_way() -> None:
    cases: list[tuple[Answer | Break, Obstacle]] = [
        (an_answer(401, GRANT), Obstacle.CREDENTIALS),
        (an_answer(403, "access forbidden"), Obstacle.DENIED),
        (an_answer(404, "not found"), Obstacle.ABSENT),
        (an_answer(429, "too many requests"), Obstacle.THROTTLED),
        (an_answer(500, "internal server error"), Obstacle.UNREACHABLE),
        (an_answer(403, body=PAGE), Obstacle.UNREACHABLE),
        (Break(Stage.CONNECT, "connect", "refused"), Obstacle.UNCONNECTED),
        (Break(Stage.ANSWER, "timeout", "no answer"), Obstacle.UNREACHABLE),
    ]
    for answer, obstacle in cases:
        assert outcomes.judge_unread(answer, now=NOW).obstacle is obstacle, answer
