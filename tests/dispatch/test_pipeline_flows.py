"""A mail's way through the pipeline: the events, the log and the metrics that it leaves."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from postledger.contacts.actions import suppression
from postledger.contacts.states import SuppressionReason
from postledger.deliveries import ledger
from postledger.deliveries.entries import NewDelivery, StreamKind
from postledger.deliveries.ledger import sql
from postledger.observability import metrics, metrics_store
from postledger.providers.base import (
    Accepted,
    InDoubt,
    NotSent,
    Outcome,
    OutgoingMessage,
    Refused,
    SenderBlocked,
    Throttled,
    TryLater,
)
from tests.deliveries import views
from tests.deliveries.views import Row
from tests.dispatch import office, vendors
from tests.dispatch.vendors import Answers

pytestmark = pytest.mark.django_db(transaction=True)

VALIDATIONS = ["INTEGRITY", "OUTBOX", "RECIPIENT", "TEMPLATE"]


def read_events(stream_id: int) -> list[Row]:
    return views.read("email_events", stream_id, order='"createdAt"')


def single_mail(acme: office.Office, address: str, contact_id: int | None = None) -> int:
    stream = office.stream(acme, kind=StreamKind.TRANSACTIONAL)
    line = NewDelivery(address, contact_id=contact_id, body=office.BODY)
    ledger.enqueue(stream, [line])
    return stream


def test_a_mail_that_is_taken_at_once_is_received_validated_attempted_and_sent(
    tmp_path: Path,
) -> None:
    stream = single_mail(office.open_office(tmp_path), "ann@example.com")

    office.send_all(stream)

    received, validated, attempted, sent = read_events(stream)
    log = views.only("email_logs", stream)
    assert [row["type"] for row in (received, validated, attempted, sent)] == [
        *("RECEIVED", "VALIDATED", "SENT_ATTEMPT", "SENT")
    ]
    assert validated["metadata"] == {"attempt": 1, "validations": VALIDATIONS}
    assert sent["metadata"]["sesMessageId"] == log["sesMessageId"]
    assert sent["metadata"]["durationMs"] == log["durationMs"]
    assert sent["metadata"]["attempt"] == log["attempts"] == 1
    assert (log["status"], log["sentAt"], log["errorCode"]) == ("SENT", sent["createdAt"], None)


def test_a_mail_that_is_taken_later_is_scheduled_and_goes_the_whole_way_again(
    tmp_path: Path,
) -> None:
    async def busy_once(window: Sequence[OutgoingMessage], deadline: float) -> Answers:
        is_first = len(stage.windows) == 1
        for index, message in enumerate(window):
            yield index, busy if is_first else Accepted(message.id)

    busy = TryLater(
        "SES_SERVICE_UNAVAILABLE",
        "Busy.",
        timedelta(milliseconds=250),
        original_code="ServiceUnavailable",
        duration=timedelta(milliseconds=40),
    )
    with vendors.registered(busy_once) as stage:
        acme = office.open_office(tmp_path, kind=vendors.KIND)
        stream = single_mail(acme, "ann@example.com")
        office.send_all(stream)

    events = read_events(stream)
    log = views.only("email_logs", stream)
    assert [row["type"] for row in events] == [
        *("RECEIVED", "VALIDATED", "SENT_ATTEMPT", "RETRY_SCHEDULED"),
        *("RECEIVED", "VALIDATED", "SENT_ATTEMPT", "SENT"),
    ]
    assert events[3]["metadata"] == {
        "attempt": 1,
        "outcome": "try_later",
        "errorCode": "SES_SERVICE_UNAVAILABLE",
        "errorCategory": "TRANSIENT_ERROR",
        "errorMessage": "Busy.",
        "originalCode": "ServiceUnavailable",
        "durationMs": 40,
        "willRetry": True,
        "nextAttemptNumber": 2,
        "backoffDelay": 250,
    }
    assert (log["status"], log["attempts"], log["errorCode"]) == ("SENT", 2, None)


def test_a_mail_that_the_provider_refuses_is_attempted_once_and_failed_for_good(
    tmp_path: Path,
) -> None:
    async def refuse(window: Sequence[OutgoingMessage], deadline: float) -> Answers:
        for index, _ in enumerate(window):
            yield index, refused

    refused = Refused(
        "SES_MESSAGE_REJECTED",
        "Contains a virus.",
        original_code="MessageRejected",
        duration=timedelta(milliseconds=40),
    )
    with vendors.registered(refuse) as stage:
        acme = office.open_office(tmp_path, kind=vendors.KIND)
        stream = single_mail(acme, "ann@example.com")
        office.send_all(stream)

    *steps, failed = read_events(stream)
    log = views.only("email_logs", stream)
    assert [row["type"] for row in steps] == ["RECEIVED", "VALIDATED", "SENT_ATTEMPT"]
    assert (failed["type"], len(stage.windows)) == ("FAILED", 1)
    assert failed["metadata"] == {
        "attempt": 1,
        "outcome": "refused",
        "errorCode": "SES_MESSAGE_REJECTED",
        "errorCategory": "PERMANENT_ERROR",
        "errorMessage": "Contains a virus.",
        "originalCode": "MessageRejected",
        "durationMs": 40,
        "willRetry": False,
    }
    assert (log["status"], log["errorCode"]) == ("FAILED", "SES_MESSAGE_REJECTED")
    assert log["errorReason"] == "Contains a virus."


@pytest.mark.parametrize(
    ("outcome", "state", "category"),
    [
        (Throttled("Slow.", code="OURS", original_code="Theirs"), "waiting", "QUOTA_ERROR"),
        (SenderBlocked("OURS", "No.", original_code="Theirs"), "waiting", "CONFIGURATION_ERROR"),
        (NotSent("Late.", code="OURS", original_code="Theirs"), "waiting", "TIMEOUT_ERROR"),
        (
            TryLater("OURS", "Away.", is_outage=True, original_code="Theirs"),
            "waiting",
            "TRANSIENT_ERROR",
        ),
        (InDoubt("Gone.", code="OURS", original_code="Theirs"), "in_doubt", "TRANSIENT_ERROR"),
    ],
    ids=["throttled", "blocked", "not sent", "outage", "in doubt"],
)
def test_every_failure_reaches_the_books_with_all_its_codes(
    tmp_path: Path, outcome: Outcome, state: str, category: str
) -> None:
    async def fail(window: Sequence[OutgoingMessage], deadline: float) -> Answers:
        for index, _ in enumerate(window):
            yield index, replace(outcome, duration=timedelta(milliseconds=40))

    with vendors.registered(fail):
        acme = office.open_office(tmp_path, kind=vendors.KIND)
        stream = single_mail(acme, "ann@example.com")
        with office.dispatching() as dispatcher:
            office.until(lambda: bool(read_events(stream)), dispatcher)

    rows = sql.rows(
        "SELECT state, code, category, original_code, duration_ms FROM deliveries_attempt"
        " WHERE stream_id = %(stream)s ORDER BY id",
        {"stream": stream},
    )
    last = next(row for row in read_events(stream) if "outcome" in row["metadata"])["metadata"]
    assert rows[0] == (state, "OURS", category, "Theirs", 40)
    assert (last["errorCode"], last["errorCategory"]) == ("OURS", category)
    assert (last["originalCode"], last["durationMs"]) == ("Theirs", 40)
    assert views.only("email_logs", stream)["errorCode"] == "OURS"


def test_a_mail_to_a_recipient_who_is_gone_fails_its_validation_for_good(tmp_path: Path) -> None:
    stream = single_mail(office.open_office(tmp_path), "ann@example.com", contact_id=4711)

    office.send_all(stream)

    received, validation, failed = read_events(stream)
    log = views.only("email_logs", stream)
    assert [row["type"] for row in (received, validation, failed)] == [
        *("RECEIVED", "VALIDATION_FAILED", "FAILED")
    ]
    assert validation["metadata"]["validation"] == "RECIPIENT"
    assert failed["metadata"]["errorCode"] == "RECIPIENT_NOT_FOUND"
    assert failed["metadata"]["errorCategory"] == "PERMANENT_ERROR"
    assert failed["metadata"]["willRetry"] is False
    assert (log["status"], log["errorCode"]) == ("FAILED", "RECIPIENT_NOT_FOUND")
    assert log["failedAt"] >= failed["createdAt"]
    assert log["sentAt"] is None
    assert log["durationMs"] == failed["metadata"]["durationMs"]


def test_a_campaign_mail_that_a_server_puts_off_to_the_last_attempt_is_a_dead_letter(
    tmp_path: Path,
) -> None:
    async def away(window: Sequence[OutgoingMessage], deadline: float) -> Answers:
        for index, _ in enumerate(window):
            yield index, TryLater("503", "Service unavailable.")

    with vendors.registered(away) as stage:
        acme = office.open_office(tmp_path, kind=vendors.KIND)
        stream = office.stream(acme, ["ann@example.com"])
        office.send_all(stream)

    [letter] = views.read("dead_letters", stream)
    assert len(stage.windows) == office.QUICKLY.attempts
    assert views.events(stream).count("RETRY_SCHEDULED") == office.QUICKLY.attempts - 1
    assert (letter["topic"], letter["error"]) == ("campaign", "503: Service unavailable.")
    assert letter["payload"]["to"] == "ann@example.com"


def test_the_metrics_count_retries_by_category_and_durations_of_every_state(
    tmp_path: Path,
) -> None:
    async def mixed(window: Sequence[OutgoingMessage], deadline: float) -> Answers:
        is_first = len(stage.windows) == 1
        answers: dict[str, Outcome] = {
            "busy@example.com": TryLater("451", "Busy."),
            "fast@example.com": Throttled("Too fast."),
        }
        for index, message in enumerate(window):
            outcome = answers.get(message.recipient) if is_first else None
            is_refused = message.recipient == "refused@example.com"
            final: Outcome = Refused("550", "No.") if is_refused else Accepted(message.id)
            yield index, outcome or final

    metrics.PENDING.take()
    with vendors.registered(mixed) as stage:
        acme = office.open_office(tmp_path, kind=vendors.KIND)
        suppression.suppress(
            acme.workspace_id,
            address="complained@example.com",
            reason=SuppressionReason.COMPLAINED,
            actor="test",
        )
        names = ("busy", "fast", "refused", "complained", "ann")
        stream = office.stream(acme, [*(f"{name}@example.com" for name in names), "no address"])
        with office.dispatching() as dispatcher:
            office.until(lambda: is_done(stream), dispatcher)
    unwanted = single_mail(acme, "bob@example.com")
    ledger.cancel(unwanted, actor="alice")
    ledger.drain(unwanted)

    metrics_store.flush()
    counted = metrics_store.totals()
    retries = {
        labels: count for (name, labels), count in counted.items() if name == metrics.RETRIES.name
    }
    durations: Counter[str] = Counter()
    for (name, labels), count in counted.items():
        if name == metrics.PROCESSING_DURATION.bucket:
            durations[labels[0]] += int(count)
    assert retries == {("TRANSIENT_ERROR",): 1, ("QUOTA_ERROR",): 1}
    assert durations == {
        "SENT": 3,
        "FAILED": 1,
        "RETRY_SCHEDULED": 2,
        "SUPPRESSED": 1,
        "VALIDATION_FAILED": 1,
        "CANCELLED": 1,
    }


def is_done(stream_id: int) -> bool:
    """Ends the hold of the throttled sender meanwhile."""
    office.end_sender_holds()
    return not office.waiting(stream_id)
