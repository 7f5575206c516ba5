"""Every answer of SES, and every way to get none, is its row of the table."""

import json
from datetime import timedelta

from postledger.providers.base import (
    Accepted,
    Category,
    Failure,
    InDoubt,
    Outcome,
    Refused,
    SenderBlocked,
    Throttled,
    TryLater,
)
from postledger.providers.http.exchange import Break, Stage
from postledger.providers.http.messages import Answer
from postledger.providers.ses import outcomes
from tests.providers.messages import SENDER

P, C, Q, T, X = (
    Category.PERMANENT,
    Category.CONFIGURATION,
    Category.QUOTA,
    Category.TRANSIENT,
    Category.TIMEOUT,
)
NOT_VERIFIED = (
    "Email address is not verified. The following identities failed the check in region EU-WEST-1: "
)

OF_AWS = {"x-amzn-requestid": "5d6f2f0e-7d5a-4d1c-a0b1-3f6c8f1e2a4b"}


def an_answer(
    status: int, name: str = "", message: str = "", *, body: bytes | None = None, **headers: str
) -> Answer:
    if name:
        headers |= {**OF_AWS, "x-amzn-errortype": name}
    document = json.dumps({"message": message}).encode()
    return Answer(status, headers, document if body is None else body)


def judge(answer: Answer) -> Outcome:
    return outcomes.judge_answer(answer, sender=SENDER)


def fail(answer: Answer) -> Failure:
    outcome = judge(answer)
    assert not isinstance(outcome, Accepted)
    return outcome


MANY, THROTTLING = "TooManyRequestsException", "ThrottlingException"
SIGNATURE = "InvalidSignatureException"
TABLE = [
    (400, "MessageRejected", "Bad content", Refused, "MESSAGE_REJECTED", P),
    (400, "MessageRejected", NOT_VERIFIED + SENDER, SenderBlocked, "IDENTITY_NOT_VERIFIED", C),
    (
        400,
        "MailFromDomainNotVerifiedException",
        "",
        SenderBlocked,
        "MAIL_FROM_DOMAIN_NOT_VERIFIED",
        C,
    ),
    (
        404,
        "NotFoundException",
        "Configuration set <x> does not exist.",
        SenderBlocked,
        "CONFIGURATION_SET_DOES_NOT_EXIST",
        C,
    ),
    (400, "SendingPausedException", "", SenderBlocked, "ACCOUNT_SENDING_PAUSED", P),
    (400, "AccountSuspendedException", "", SenderBlocked, "ACCOUNT_SENDING_PAUSED", P),
    (429, MANY, "", Throttled, "THROTTLING", Q),
    (400, THROTTLING, "Rate exceeded", Throttled, "THROTTLING", Q),
    (429, MANY, "Maximum sending rate exceeded.", Throttled, "MAX_SEND_RATE_EXCEEDED", Q),
    (429, MANY, "Daily message quota exceeded.", Throttled, "DAILY_QUOTA_EXCEEDED", Q),
    (400, THROTTLING, "Daily message quota exceeded", Throttled, "DAILY_QUOTA_EXCEEDED", Q),
    (400, "LimitExceededException", "", Throttled, "DAILY_QUOTA_EXCEEDED", Q),
    (500, "InternalServiceErrorException", "", TryLater, "SERVICE_UNAVAILABLE", T),
    (503, "ServiceUnavailable", "", TryLater, "SERVICE_UNAVAILABLE", T),
    (504, "InternalServiceErrorException", "", TryLater, "SERVICE_UNAVAILABLE", T),
    (503, "", "", TryLater, "SERVICE_UNAVAILABLE", T),
    (500, "", "Internal server error", InDoubt, "GATEWAY", T),
    (502, "", "", InDoubt, "GATEWAY", T),
    (504, "", "", InDoubt, "GATEWAY", T),
    (400, "BadRequestException", "Missing '@domain'", Refused, "BAD_REQUEST", P),
    (403, "ExpiredTokenException", "", SenderBlocked, "CREDENTIALS", C),
    (403, "UnrecognizedClientException", "", SenderBlocked, "CREDENTIALS", C),
    (403, "InvalidClientTokenId", "", SenderBlocked, "CREDENTIALS", C),
    (403, SIGNATURE, "", SenderBlocked, "CREDENTIALS", C),
    (403, "SignatureDoesNotMatch", "", SenderBlocked, "CREDENTIALS", C),
    (403, "AccessDeniedException", "", SenderBlocked, "CREDENTIALS", C),
    # Names that nobody has seen yet fall into the rows of their status.
    (400, "NovelException", "", Refused, "BAD_REQUEST", P),
    (413, "RequestEntityTooLarge", "", Refused, "BAD_REQUEST", P),
    (403, "NovelException", "", SenderBlocked, "CREDENTIALS", C),
    (404, "NovelException", "", SenderBlocked, "CONFIGURATION_SET_DOES_NOT_EXIST", C),
    (408, "NovelException", "", TryLater, "TIMEOUT", X),
    (409, "NovelException", "", TryLater, "SERVICE_UNAVAILABLE", T),
    (429, "NovelException", "", Throttled, "THROTTLING", Q),
    # Of a server's error only the names that SES documents are believed.
    (500, "InternalFailure", "", TryLater, "SERVICE_UNAVAILABLE", T),
    (503, "NovelException", "", TryLater, "SERVICE_UNAVAILABLE", T),
    (500, "NovelException", "", InDoubt, "GATEWAY", T),
    (504, "InternalServerErrorException", "", InDoubt, "GATEWAY", T),
    (500, "RequestTimeout", "", InDoubt, "GATEWAY", T),
    (504, "RequestTimeoutException", "", InDoubt, "GATEWAY", T),
    # Whatever a redirect or an acceptance without an id is called, the mail may have been taken.
    (200, "InternalFailure", "", InDoubt, "GATEWAY", T),
    (202, "Accepted", "", InDoubt, "GATEWAY", T),
    (307, "TemporaryRedirect", "", InDoubt, "GATEWAY", T),
    # A wrong clock passes, and keys stay good.
    (403, "RequestTimeTooSkewed", "", TryLater, "CREDENTIALS", C),
    (
        403,
        SIGNATURE,
        "Signature expired: 20261117T100000Z is now earlier than 20261117T101500Z",
        TryLater,
        "CREDENTIALS",
        C,
    ),
    (
        403,
        SIGNATURE,
        "Signature not yet current: 20261117T103000Z is still later than 20261117T101500Z",
        TryLater,
        "CREDENTIALS",
        C,
    ),
    # Without a name something in front of SES spoke; a refusal says nothing about the mail.
    (400, "", "", TryLater, "GATEWAY", T),
    (401, "", "", TryLater, "GATEWAY", T),
    (403, "", "", TryLater, "GATEWAY", T),
    (404, "", "", TryLater, "GATEWAY", T),
    (408, "", "", TryLater, "TIMEOUT", X),
    (429, "", "Maximum sending rate exceeded.", Throttled, "MAX_SEND_RATE_EXCEEDED", Q),
    (201, "", "", InDoubt, "GATEWAY", T),
    (204, "", "", InDoubt, "GATEWAY", T),
    (303, "", "", InDoubt, "GATEWAY", T),
]


def test_an_answer_is_its_row() -> None:
    for status, name, message, outcome, code, category in TABLE:
        failure = fail(an_answer(status, name, message))

        case = (status, name, message)
        row = (type(failure), failure.code, failure.category)
        assert row == (outcome, f"SES_{code}", category), case
        assert failure.original_code == (name or f"HTTP {status}"), case
        assert failure.original_code in failure.detail, case
        assert message in failure.detail, case
        assert not getattr(failure, "may_be_quoted", False), case


def test_an_acceptance_has_the_id_of_ses() -> None:
    answer = an_answer(200, body=b'{"MessageId": "0100018f-4f2c-000000"}')

    assert judge(answer) == Accepted("0100018f-4f2c-000000")


def test_a_200_without_an_id_is_a_doubt() -> None:
    for body in [
        b"",
        b"{}",
        b"[]",
        b'{"MessageId": "0100',
        b'{"MessageId": ""}',
        b'{"MessageId": 7}',
        b'{"MessageId": "a\\u0000b"}',
        b"<MessageId>0100</MessageId>",
        b"\xff\xfe",
        b"[" * 100_000,
    ]:
        outcome = judge(an_answer(200, body=body))

        assert isinstance(outcome, InDoubt), body
        assert (outcome.code, outcome.original_code) == ("SES_GATEWAY", "HTTP 200"), body


def test_an_answer_before_the_end_of_the_mail_leaves_no_doubt() -> None:
    for status, name, code in [
        (200, "", "SES_GATEWAY"),
        (502, "", "SES_GATEWAY"),
        (413, "RequestEntityTooLarge", "SES_BAD_REQUEST"),
        (429, "TooManyRequestsException", "SES_THROTTLING"),
    ]:
        headers = {**OF_AWS, "x-amzn-errortype": name} if name else {}
        early = Answer(status, headers, b'{"MessageId": "0100"}', is_early=True)

        outcome = judge(early)

        assert isinstance(outcome, Refused | Throttled | TryLater), status
        assert outcome.code == code, status


def test_a_name_may_stand_in_the_document() -> None:
    for body in [
        b'{"__type": "com.amazonaws.sesv2#SendingPausedException", "Message": "paused"}',
        b'{"__type": "SendingPausedException", "message": "paused"}',
        b'{"code": "SendingPausedException:http://internal.amazon.com/", "message": "paused"}',
    ]:
        failure = fail(Answer(400, OF_AWS, body))

        assert failure.code == "SES_ACCOUNT_SENDING_PAUSED", body
        assert failure.original_code == "SendingPausedException", body
        assert failure.detail == "SendingPausedException: paused", body


def test_an_unverified_address_is_ours_or_shows_that_production_access_is_missing() -> None:
    for named, is_account, advice in [
        (SENDER, False, "Verify"),
        (SENDER.upper(), False, "Verify"),
        ("acme.example", False, "Verify"),
        (f"{SENDER}, alice@example.com", False, "Verify"),
        ("", False, "Verify"),
        (f"Acme News <{SENDER}>", False, "Verify"),
        (f'"Acme, Inc." <{SENDER}>, {SENDER}', False, "Verify"),
        ("arn:aws:ses:eu-west-1:123456789012:identity/acme.example", False, "Verify"),
        ("alice@example.com", True, "production access"),
        ("bob@acme.example", True, "production access"),
    ]:
        failure = fail(an_answer(400, "MessageRejected", NOT_VERIFIED + named))

        assert isinstance(failure, SenderBlocked), named
        assert failure.code == "SES_IDENTITY_NOT_VERIFIED", named
        assert failure.is_account == is_account, named
        assert advice in failure.detail, named


def test_a_name_in_the_page_of_a_gateway_is_not_a_name_of_ses() -> None:
    for status, body, outcome, code in [
        (502, b'{"code": "UPSTREAM_RESET"}', InDoubt, "SES_GATEWAY"),
        (504, b'{"code": "GatewayTimeout", "message": "upstream"}', InDoubt, "SES_GATEWAY"),
        (500, b'{"__type": "InternalServiceErrorException"}', InDoubt, "SES_GATEWAY"),
        (404, b'{"code": "NOT_FOUND"}', TryLater, "SES_GATEWAY"),
        (400, b'{"code": "MessageRejected"}', TryLater, "SES_GATEWAY"),
    ]:
        failure = fail(an_answer(status, body=body))

        assert (type(failure), failure.code) == (outcome, code), status


def test_keys_that_may_not_use_an_identity_block_its_sender_alone_others_the_account() -> None:
    text = (
        "User: arn:aws:iam::123456789012:user/mail is not authorized to perform: ses:SendRawEmail"
        " on resource: arn:aws:ses:eu-west-1:123456789012:identity/shop.example"
    )
    for name, message, is_account in [
        ("AccessDeniedException", text, False),
        ("SendingPausedException", "", True),
        ("NotFoundException", "", True),
        ("ExpiredTokenException", "", True),
    ]:
        failure = fail(an_answer(403 if message else 400, name, message))

        assert isinstance(failure, SenderBlocked), name
        assert failure.is_account == is_account, name


def test_a_gateway_that_lets_nothing_through_and_a_wrong_clock_are_outages() -> None:
    for answer in [
        an_answer(403, body=b"<h1>Blocked</h1>"),
        an_answer(403, "RequestTimeTooSkewed"),
    ]:
        failure = fail(answer)

        assert isinstance(failure, TryLater), answer
        assert failure.is_outage, answer


def test_a_wish_to_wait_is_kept_except_for_the_daily_quota() -> None:
    cases: list[tuple[str, str, timedelta | None]] = [
        ("30", "", timedelta(seconds=30)),
        ("soon", "", None),
        ("30", "Daily message quota exceeded", None),
    ]
    for seconds, message, expected in cases:
        name = "TooManyRequestsException"
        headers = {**OF_AWS, "x-amzn-errortype": name, "retry-after": seconds}
        body = json.dumps({"message": message}).encode()

        outcome = judge(Answer(429, headers, body))

        assert isinstance(outcome, Throttled), seconds
        assert outcome.retry_after == expected, seconds
        assert outcome.is_quota == bool(message), seconds


def test_signed_headers_that_aws_repeats_are_left_out() -> None:
    text = "It does not match.\n\nThe Canonical String for this request should have been\n'GET\n"
    failure = fail(an_answer(403, "SignatureDoesNotMatch", f"{text}x-amz-security-token:hush"))

    assert failure.detail == "SignatureDoesNotMatch: It does not match."


def test_a_text_of_any_kind_can_be_stored() -> None:
    failure = fail(an_answer(400, "MessageRejected", "a\0b\ud800\r\n\tc" + "x" * 10_000))

    assert failure.detail.isprintable()
    assert failure.detail.encode()
    assert len(failure.detail) < 500


def test_a_break_is_its_row() -> None:
    for stage, code, outcome, ours, category, original, is_outage in [
        (Stage.CONNECT, "connect", TryLater, "NETWORK_ERROR", T, "NetworkingError", True),
        (Stage.CONNECT, "tls", TryLater, "NETWORK_ERROR", T, "NetworkingError", True),
        (Stage.CONNECT, "timeout", TryLater, "NETWORK_ERROR", T, "NetworkingError", True),
        (Stage.REQUEST, "timeout", TryLater, "SES_TIMEOUT", X, "RequestTimeout", False),
        (Stage.REQUEST, "reset", TryLater, "NETWORK_ERROR", T, "NetworkingError", False),
        (Stage.ANSWER, "timeout", InDoubt, "SES_TIMEOUT", X, "RequestTimeout", False),
        (Stage.ANSWER, "closed", InDoubt, "NETWORK_ERROR", T, "NetworkingError", False),
        (Stage.ANSWER, "garbled", InDoubt, "NETWORK_ERROR", T, "NetworkingError", False),
    ]:
        failure = outcomes.judge_break(Break(stage, code, "it broke"))

        row = (type(failure), failure.code, failure.category, failure.original_code)
        assert row == (outcome, ours, category, original), (stage, code)
        assert getattr(failure, "is_outage", False) == is_outage, (stage, code)
        assert stage.name in failure.detail, stage
