"""A mail's way through the pipeline: the events, the log and the metrics that it leaves."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from postledger.contacts.actions import suppression
from postledger.contacts.states import SuppressionReason
from postledger.deliveries import ledger
from postledger.deliveries.entries import NewDelivery, StreamKind
from postledger.observability import metrics, metrics_store
from postledger.providers.base import (
    Accepted,
    Failure,
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
from tests.dispatch import office, vendors
from tests.dispatch.test_ses_pipeline import (
    STEPS,
    VALIDATIONS,
    count_metrics,
    read_attempts,
    read_events,
)
from tests.dispatch.vendors import Answers

pytestmark = pytest.mark.django_db(transaction=True)


def single_mail(acme: office.Office, address: str, contact_id: int | None = None) -> int:
    stream = office.stream(acme, kind=StreamKind.TRANSACTIONAL)
    line = NewDelivery(address, contact_id=contact_id, body=office.BODY)
    ledger.enqueue(stream, [line])
    return stream


def test_a_mail_that_is_taken_at_once_is_received_validated_attempted_and_sent(
    acme: office.Office,
) -> None:
    stream = single_mail(acme, "ann@example.com")

    office.send_all(stream)

    _, validated, _, sent = events = read_events(stream)
    log = views.only("email_logs", stream)
    assert [row["type"] for row in events] == [*STEPS, "SENT"]
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
    assert [row["type"] for row in events] == [*STEPS, "RETRY_SCHEDULED", *STEPS, "SENT"]
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
    refused = Refused(
        "SES_MESSAGE_REJECTED",
        "Contains a virus.",
        original_code="MessageRejected",
        duration=timedelta(milliseconds=40),
    )
    with vendors.registered(vendors.always(refused)) as stage:
        acme = office.open_office(tmp_path, kind=vendors.KIND)
        stream = single_mail(acme, "ann@example.com")
        office.send_all(stream)

    *_, failed = events = read_events(stream)
    log = views.only("email_logs", stream)
    assert [row["type"] for row in events] == [*STEPS, "FAILED"]
    assert len(stage.windows) == 1
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


FAILURES: dict[str, tuple[Failure, str, str]] = {
    "throttled": (Throttled("Slow."), "waiting", "QUOTA_ERROR"),
    "blocked": (SenderBlocked("OURS", "No."), "waiting", "CONFIGURATION_ERROR"),
    "late": (NotSent("Late."), "waiting", "TIMEOUT_ERROR"),
    "outage": (TryLater("OURS", "Away.", is_outage=True), "waiting", "TRANSIENT_ERROR"),
    "doubt": (InDoubt("Gone."), "in_doubt", "TRANSIENT_ERROR"),
}


def test_every_failure_reaches_the_books_with_all_its_codes(tmp_path: Path) -> None:
    def fail(message: OutgoingMessage) -> Outcome:
        outcome, _, _ = FAILURES[message.recipient.partition("@")[0]]
        taking = timedelta(milliseconds=40)
        return replace(outcome, code="OURS", original_code="Theirs", duration=taking)

    with vendors.registered(vendors.answering(fail)):
        streams = {
            name: single_mail(
                office.open_office(tmp_path, name, kind=vendors.KIND), f"{name}@example.com"
            )
            for name in FAILURES
        }
        with office.dispatching() as dispatcher:
            office.until(lambda: all(map(read_events, streams.values())), dispatcher)

    for name, (_, state, category) in FAILURES.items():
        row = read_attempts(streams[name])[0]
        [last, *_] = [
            row["metadata"] for row in read_events(streams[name]) if "outcome" in row["metadata"]
        ]
        assert (row["state"], row["code"], row["category"]) == (state, "OURS", category), name
        assert (row["original_code"], row["duration_ms"]) == ("Theirs", 40)
        assert (last["errorCode"], last["errorCategory"]) == ("OURS", category)
        assert (last["originalCode"], last["durationMs"]) == ("Theirs", 40)
        assert views.only("email_logs", streams[name])["errorCode"] == "OURS"


def test_a_mail_to_a_recipient_who_is_gone_fails_its_validation_for_good(
    acme: office.Office,
) -> None:
    stream = single_mail(acme, "ann@example.com", contact_id=4711)

    office.send_all(stream)

    _, validation, failed = events = read_events(stream)
    log = views.only("email_logs", stream)
    assert [row["type"] for row in events] == ["RECEIVED", "VALIDATION_FAILED", "FAILED"]
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
    away = TryLater("503", "Service unavailable.")
    with vendors.registered(vendors.always(away)) as stage:
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
    def mixed(message: OutgoingMessage) -> Outcome:
        at_first: dict[str, Outcome] = {
            "busy@example.com": TryLater("451", "Busy."),
            "fast@example.com": Throttled("Too fast."),
        }
        if len(stage.windows) == 1 and message.recipient in at_first:
            return at_first[message.recipient]
        is_refused = message.recipient == "refused@example.com"
        return Refused("550", "No.") if is_refused else Accepted(message.id)

    metrics.PENDING.take()
    with vendors.registered(vendors.answering(mixed)) as stage:
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
    retries, mails, _ = count_metrics()
    assert retries == {"TRANSIENT_ERROR": 1, "QUOTA_ERROR": 1}
    assert mails == {
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
