"""Mail goes the whole way to SES, whose fake fails as scripted: what is told of each failure."""

import socket
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from postledger.deliveries import ledger
from postledger.deliveries.entries import Body, NewDelivery, StreamKind
from postledger.deliveries.ledger import sql
from postledger.deliveries.reasons import Reason
from postledger.dispatch import retry
from postledger.observability import metrics, metrics_store
from tests.deliveries import views
from tests.deliveries.views import Row
from tests.dispatch import office
from tests.dispatch.office import Office
from tools.fakes.http.faults import (
    AnswerBadBody,
    AnswerError,
    AnswerGarbage,
    AnswerGateway,
    CutRequest,
    DelayAnswer,
    DropAnswer,
    End,
    Fault,
    HalveAnswer,
    Rule,
)
from tools.fakes.http.server import serving_in_thread
from tools.fakes.ses.server import FakeSes
from tools.fakes.ses.service import ACCESS_KEY_ID, SECRET_ACCESS_KEY

pytestmark = pytest.mark.django_db(transaction=True)

VALIDATIONS = ["INTEGRITY", "OUTBOX", "RECIPIENT", "TEMPLATE"]
STEPS = ["RECEIVED", "VALIDATED", "SENT_ATTEMPT"]
# The second attempt of a mail comes after the test.
ONCE = replace(office.OPTIONS, policies=dict.fromkeys(StreamKind, retry.read("2: 3600")))
BIG = Body(
    subject="Hello", html="<p>Hello.</p>", text=f"{'x' * 69}\n" * 100_000
)  # more than the kernel keeps for anyone
QUICK_CALL = {"timeouts": {"connect": 3, "request": 3, "call": 4}}


@dataclass(frozen=True, slots=True)
class Failure:
    """What the mail meets, and what has to be told of it."""

    outcome: str
    code: str
    category: str
    original_code: str
    fault: Fault | None = None
    hold: Reason | None = None  # of the sender, afterwards
    settings: Mapping[str, object] = field(default_factory=dict)
    body: Body = office.BODY
    seconds: float = 0.0  # that the call takes at least


def refused(code: str, name: str) -> Failure:
    return Failure("refused", code, "PERMANENT_ERROR", name, AnswerError(name))


def blocked(code: str, name: str, text: str = "", category: str = "CONFIGURATION_ERROR") -> Failure:
    fault = AnswerError(name, text)
    return Failure("sender_blocked", code, category, name, fault, Reason.SENDER_BLOCKED)


def throttled(code: str, name: str, text: str, hold: Reason = Reason.THROTTLED) -> Failure:
    return Failure("throttled", code, "QUOTA_ERROR", name, AnswerError(name, text), hold)


def unavailable(original_code: str, fault: Fault) -> Failure:
    code = "SES_SERVICE_UNAVAILABLE"
    return Failure("try_later", code, "TRANSIENT_ERROR", original_code, fault)


def doubtful(code: str, original_code: str, fault: Fault) -> Failure:
    return Failure("in_doubt", code, "TRANSIENT_ERROR", original_code, fault)


def out_of_reach(endpoint: str) -> Failure:
    return Failure(
        *("not_sent", "NETWORK_ERROR", "TRANSIENT_ERROR", "NetworkingError"),
        hold=Reason.PROVIDER_DOWN,
        settings={"endpoint": endpoint},
    )


NOT_VERIFIED = "Email address is not verified. The following identities failed the check in region"
TOO_MANY = "TooManyRequestsException"
QUOTA = "Daily message quota exceeded"
RATE = "Maximum sending rate exceeded."
TABLE = {
    "rejected": refused("SES_MESSAGE_REJECTED", "MessageRejected"),
    "bad-request": refused("SES_BAD_REQUEST", "BadRequestException"),
    "identity": blocked(
        "SES_IDENTITY_NOT_VERIFIED", "MessageRejected", f"{NOT_VERIFIED} US-EAST-1: acme.example"
    ),
    "mail-from": blocked("SES_MAIL_FROM_DOMAIN_NOT_VERIFIED", "MailFromDomainNotVerifiedException"),
    "configuration-set": blocked("SES_CONFIGURATION_SET_DOES_NOT_EXIST", "NotFoundException"),
    "paused": blocked(
        *("SES_ACCOUNT_SENDING_PAUSED", "SendingPausedException"), category="PERMANENT_ERROR"
    ),
    "suspended": blocked(
        *("SES_ACCOUNT_SENDING_PAUSED", "AccountSuspendedException"), category="PERMANENT_ERROR"
    ),
    "expired": blocked("SES_CREDENTIALS", "ExpiredTokenException"),
    "wrong-secret": replace(
        blocked("SES_CREDENTIALS", "InvalidSignatureException"),
        fault=None,
        settings={"secret_access_key": "another-secret-access-key"},
    ),
    "throttling": throttled("SES_THROTTLING", "ThrottlingException", "Rate exceeded"),
    "too-many": throttled("SES_THROTTLING", TOO_MANY, "Too many requests."),
    "rate": throttled("SES_MAX_SEND_RATE_EXCEEDED", TOO_MANY, RATE),
    "quota": throttled("SES_DAILY_QUOTA_EXCEEDED", TOO_MANY, QUOTA, Reason.QUOTA_EXHAUSTED),
    "limit": throttled(
        *("SES_DAILY_QUOTA_EXCEEDED", "LimitExceededException", "", Reason.QUOTA_EXHAUSTED)
    ),
    "internal": unavailable(
        "InternalServiceErrorException", AnswerError("InternalServiceErrorException")
    ),
    "unavailable": unavailable("ServiceUnavailable", AnswerError("ServiceUnavailable")),
    "gateway-503": unavailable("HTTP 503", AnswerGateway(503)),
    "gateway-500": doubtful("SES_GATEWAY", "HTTP 500", AnswerGateway(500)),
    "gateway-502": doubtful("SES_GATEWAY", "HTTP 502", AnswerGateway(502, is_accepted=True)),
    "gateway-504": doubtful("SES_GATEWAY", "HTTP 504", AnswerGateway(504)),
    "no-id": doubtful("SES_GATEWAY", "HTTP 200", AnswerBadBody()),
    "dropped": doubtful("NETWORK_ERROR", "NetworkingError", DropAnswer(End.RESET)),
    "halved": doubtful("NETWORK_ERROR", "NetworkingError", HalveAnswer(End.CLOSE)),
    "garbage": doubtful("NETWORK_ERROR", "NetworkingError", AnswerGarbage()),
    "cut": doubtful("NETWORK_ERROR", "NetworkingError", CutRequest()),
    "late": Failure(
        *("in_doubt", "SES_TIMEOUT", "TIMEOUT_ERROR", "RequestTimeout", DelayAnswer(600)),
        settings=QUICK_CALL,
        seconds=4.0,
    ),
}


@contextmanager
def deaf_server() -> Iterator[str]:
    """An endpoint that takes connections and never reads."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16 * 1024)
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def network_failures(fake: FakeSes, deaf: str) -> dict[str, Failure]:
    """What happens before a request is complete."""
    return {
        "unread": Failure(
            *("try_later", "SES_TIMEOUT", "TIMEOUT_ERROR", "RequestTimeout"),
            settings={**QUICK_CALL, "endpoint": deaf},
            body=BIG,
            seconds=3.0,
        ),
        "no-connection": out_of_reach(f"http://127.0.0.1:{closed_port()}"),
        "no-tls": out_of_reach(f"https://127.0.0.1:{fake.port}"),
    }


def open_ses(fake: FakeSes, folder: Path, name: str = "acme", **more: object) -> Office:
    """A sender whose account is at the fake."""
    settings = {
        "region": "us-east-1",
        "access_key_id": ACCESS_KEY_ID,
        "secret_access_key": SECRET_ACCESS_KEY,
        "endpoint": fake.endpoint,
        **more,
    }
    opened = office.open_office(folder, name, kind="ses", settings=settings)
    fake.service.account.add_identities(f"{name}.example")
    return opened


def enqueue(acme: Office, address: str, body: Body = office.BODY) -> int:
    """The stream of this single mail."""
    stream = office.stream(acme, kind=StreamKind.TRANSACTIONAL)
    ledger.enqueue(stream, [NewDelivery(address, body=body)])
    return stream


def read_events(stream_id: int) -> list[Row]:
    return views.read("email_events", stream_id, order='"createdAt"')


def test_a_mail_that_ses_takes_is_received_validated_attempted_and_sent(tmp_path: Path) -> None:
    with serving_in_thread(FakeSes()) as fake:
        stream = enqueue(open_ses(fake, tmp_path), "ann@example.com")
        office.send_all(stream)

    [accepted] = fake.service.kept
    log = views.only("email_logs", stream)
    assert views.events(stream) == [*STEPS, "SENT"]
    assert (accepted.mail.recipients, log["status"]) == (("ann@example.com",), "SENT")
    assert (log["sesMessageId"], log["attempts"]) == (accepted.message_id, 1)


def test_a_mail_for_which_ses_is_unavailable_at_first_is_scheduled_and_sent(
    tmp_path: Path,
) -> None:
    with serving_in_thread(FakeSes()) as fake:
        fake.set_faults(Rule(AnswerError("ServiceUnavailable"), times=1))
        stream = enqueue(open_ses(fake, tmp_path), "ann@example.com")
        office.send_all(stream)

    log = views.only("email_logs", stream)
    assert views.events(stream) == [*STEPS, "RETRY_SCHEDULED", *STEPS, "SENT"]
    scheduled = read_events(stream)[3]["metadata"]
    assert scheduled["errorMessage"] == "ServiceUnavailable: Service is unable to handle request."
    assert (log["status"], log["attempts"], log["errorCode"]) == ("SENT", 2, None)
    assert [accepted.message_id for accepted in fake.service.kept] == [log["sesMessageId"]]


def test_a_mail_that_ses_rejects_is_attempted_once_and_failed_for_good(tmp_path: Path) -> None:
    rejection = Rule(AnswerError("MessageRejected", "Contains a virus."))
    with serving_in_thread(FakeSes()) as fake:
        fake.set_faults(rejection)
        stream = enqueue(open_ses(fake, tmp_path), "ann@example.com")
        office.send_all(stream)

    log = views.only("email_logs", stream)
    assert views.events(stream) == [*STEPS, "FAILED"]
    assert (fake.service.script.strikes, len(fake.service.kept)) == ([1], 0)
    assert (log["status"], log["errorCode"]) == ("FAILED", "SES_MESSAGE_REJECTED")
    assert log["errorReason"] == "MessageRejected: Contains a virus."


@dataclass(frozen=True, slots=True)
class Run:
    """What is left of a mail of each failure."""

    failures: Mapping[str, Failure]
    streams: Mapping[str, int]
    holds: Mapping[str, Reason]  # as they were first seen: some end before all mails are done
    lines: list[dict[str, object]]


def run_table(folder: Path) -> Run:
    """One dispatcher, and a sender for each failure: many of them hold their sender."""
    with serving_in_thread(FakeSes()) as fake, deaf_server() as deaf:
        failures = TABLE | network_failures(fake, deaf)
        fake.set_faults(
            *(
                Rule(failure.fault, recipient=f"{name}@*")
                for name, failure in failures.items()
                if failure.fault
            )
        )
        streams = {
            name: enqueue(
                open_ses(fake, folder, name, **failure.settings),
                f"{name}@example.com",
                failure.body,
            )
            for name, failure in failures.items()
        }
        metrics.PENDING.take()
        holds: dict[str, Reason] = {}

        def is_done() -> bool:
            for name, stream in streams.items():
                if name not in holds and (reason := read_hold(stream)):
                    holds[name] = reason
            return all(map(read_attempts, streams.values()))

        with capture_logs() as lines, office.dispatching(ONCE) as dispatcher:
            office.until(is_done, dispatcher)
        is_done()  # once more: a hold may be written after the result of its mail
    metrics_store.flush()
    return Run(failures, streams, holds, [dict(line) for line in lines if line.get("outbox_id")])


def read_attempts(stream_id: int) -> list[Row]:
    names = ("outcome", "code", "category", "original_code", "duration_ms", "state")
    rows = sql.rows(
        "SELECT outcome, code, category, original_code, duration_ms, state FROM deliveries_attempt"
        " WHERE stream_id = %(stream)s ORDER BY id",
        {"stream": stream_id},
    )
    return [dict(zip(names, row, strict=True)) for row in rows]


def read_hold(stream_id: int) -> Reason | None:
    hold = office.sender_hold(stream_id)
    return hold.reason if hold else None


def count_metrics() -> tuple[dict[str, int], dict[str, int], dict[str, int]]:
    """Retries by category; mails and their milliseconds by state."""
    retries: Counter[str] = Counter()
    mails: Counter[str] = Counter()
    milliseconds: dict[str, int] = {}
    for (name, labels), amount in metrics_store.totals().items():
        if name == metrics.RETRIES.name:
            retries[labels[0]] += int(amount)
        elif name == metrics.PROCESSING_DURATION.bucket:
            mails[labels[0]] += int(amount)
        elif name == metrics.PROCESSING_DURATION.sum:
            milliseconds[labels[0]] = round(amount * 1000)
    return retries, mails, milliseconds


@pytest.mark.slow
@pytest.mark.sample
def test_every_row_of_the_table_is_told_by_the_books_the_views_the_log_and_the_metrics(
    tmp_path: Path,
) -> None:
    run = run_table(tmp_path)

    attempts = {name: read_attempts(stream) for name, stream in run.streams.items()}
    expected = {
        name: (failure.outcome, failure.code, failure.category, failure.original_code)
        for name, failure in run.failures.items()
    }
    keys = ("outcome", "code", "category", "original_code")
    assert {name: tuple(map(rows[0].get, keys)) for name, rows in attempts.items()} == expected
    holds = {name: failure.hold for name, failure in run.failures.items() if failure.hold}
    assert run.holds == holds
    for name, failure in run.failures.items():
        duration_ms = attempts[name][0]["duration_ms"]
        assert duration_ms >= failure.seconds * 1000, name
        assert_views_agree(run.streams[name], failure, duration_ms)
        assert_log_agrees(run, name, duration_ms)
    assert_metrics_agree([row for rows in attempts.values() for row in rows])


def assert_views_agree(stream_id: int, failure: Failure, duration_ms: int) -> None:
    event = next(row for row in read_events(stream_id) if "outcome" in row["metadata"])
    told = event["metadata"]
    will_retry = failure.outcome in {"sender_blocked", "throttled", "try_later", "not_sent"}
    types = {"refused": "FAILED", "in_doubt": "IN_DOUBT"}
    assert event["type"] == types.get(failure.outcome, "RETRY_SCHEDULED")
    assert (told["outcome"], told["errorCode"]) == (failure.outcome, failure.code)
    assert told["errorCategory"] == failure.category
    assert (told["originalCode"], told["durationMs"]) == (failure.original_code, duration_ms)
    assert (told["willRetry"], "nextAttemptNumber" in told) == (will_retry, will_retry)
    assert ("backoffDelay" in told) == will_retry
    assert told["errorMessage"]
    assert views.only("email_logs", stream_id)["errorCode"] == failure.code


def assert_log_agrees(run: Run, name: str, duration_ms: int) -> None:
    failure, outbox_id = run.failures[name], views.only("email_logs", run.streams[name])["outboxId"]
    line = next(line for line in run.lines if line["outbox_id"] == str(outbox_id))
    assert (line["event"], line["outcome"]) == ("mail not taken", failure.outcome)
    assert (line["code"], line["category"]) == (failure.code, failure.category)
    assert (line["original_code"], line["duration_ms"]) == (failure.original_code, duration_ms)


def assert_metrics_agree(attempts: list[Row]) -> None:
    """A throttled sender may have tried once more meanwhile: then its mail has more attempts."""
    waiting = [row["category"] for row in attempts if row["state"] == "waiting"]
    states = {"waiting": "RETRY_SCHEDULED", "failed": "FAILED", "in_doubt": "IN_DOUBT"}
    mails: Counter[str] = Counter()
    milliseconds: Counter[str] = Counter()
    for row in attempts:
        mails[states[row["state"]]] += 1
        milliseconds[states[row["state"]]] += row["duration_ms"]
    assert count_metrics() == (Counter(waiting), mails, milliseconds)
