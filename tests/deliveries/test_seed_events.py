"""The views of events and dead letters tell what led to each result, step by step."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest

from postledger.deliveries import entries, ledger
from postledger.deliveries.entries import (
    Decision,
    Entry,
    Evidence,
    NewDelivery,
    SeenDelivery,
    StreamKind,
)
from postledger.lib.ids import DeliveryId
from tests import cast
from tests.deliveries import views

pytestmark = pytest.mark.django_db

type Result = Callable[[int], Entry]

PROVIDER_KINDS = {
    "delivered": "delivered",
    "opened": "open",
    "clicked": "click",
    "bounced": "bounce",
    "soft_bounced": "bounce",
    "on_suppression_list": "bounce",
    "complained": "spamreport",
    "unsubscribed": "unsubscribe",
}


def test_a_result_is_told_as_the_steps_that_led_to_it() -> None:
    handed_over = ["RECEIVED", "VALIDATED", "SENT_ATTEMPT"]
    steps: dict[Result, list[str]] = {
        views.sent: [*handed_over, "SENT"],
        views.refused: [*handed_over, "FAILED"],
        views.exhausted: [*handed_over, "FAILED"],
        views.busy: [*handed_over, "RETRY_SCHEDULED"],
        views.throttled: [*handed_over, "RETRY_SCHEDULED"],
        views.blocked: [*handed_over, "RETRY_SCHEDULED"],
        entries.in_doubt: [*handed_over, "IN_DOUBT"],
        entries.not_sent: ["RECEIVED", "VALIDATED", "RETRY_SCHEDULED"],
    }
    for result, expected in steps.items():
        stream_id = cast.stream(mails=1)
        cast.book(stream_id, result)
        assert views.events(stream_id) == expected, result
    verdicts: dict[Result, list[str]] = {
        views.invalid: ["RECEIVED", "VALIDATION_FAILED", "FAILED"],
        views.suppressed: ["RECEIVED", "SUPPRESSED"],
        views.skipped: ["RECEIVED", "SKIPPED"],
        entries.expired: ["RECEIVED", "EXPIRED"],
    }
    for verdict, expected in verdicts.items():
        stream_id = cast.stream(mails=1)
        cast.judge(stream_id, verdict)
        assert views.events(stream_id) == expected, verdict


def test_a_mail_has_no_events_while_it_waits_and_a_further_try_starts_again_at_received() -> None:
    stream_id = cast.stream(mails=1)
    waiting = views.events(stream_id)
    cast.book(stream_id, views.busy)
    taken, window = cast.armed(stream_id)
    busy = views.events(stream_id)
    ledger.settle(taken, [window], results=[views.sent(0)])

    assert waiting == []
    assert busy == ["RECEIVED", "VALIDATED", "SENT_ATTEMPT", "RETRY_SCHEDULED"]
    assert views.events(stream_id) == [*busy, "RECEIVED", "VALIDATED", "SENT_ATTEMPT", "SENT"]


def test_a_poisonous_mail_was_received_and_given_up_and_a_cancelled_one_is_just_that() -> None:
    poisonous, cancelled = cast.stream(mails=1), cast.stream(mails=1)
    cast.poison(poisonous)
    poisoned = views.events(poisonous)
    ledger.requeue(poisonous, [SeenDelivery(0, 0)], actor="bob")
    cast.book(poisonous, views.sent)
    ledger.cancel(cancelled, actor="bob")
    ledger.drain(cancelled)

    assert poisoned == ["RECEIVED", "FAILED"]
    assert views.events(poisonous) == [
        *[*poisoned, "REQUEUED"],
        *["RECEIVED", "VALIDATED", "SENT_ATTEMPT", "SENT"],
    ]
    assert views.events(cancelled) == ["CANCELLED"]


def test_the_steps_before_a_result_are_dated_by_its_duration() -> None:
    stream_id = cast.stream(mails=1)
    taken = entries.accepted(0, message_id="m0", duration_ms=1500)
    cast.book(stream_id, lambda _: taken)

    *steps, sent = views.read("email_events", stream_id, order='"createdAt"')

    handed_over_at = sent["createdAt"] - timedelta(milliseconds=1500)
    assert [row["createdAt"] for row in steps] == [
        handed_over_at - timedelta(microseconds=before) for before in (3, 2, 1)
    ]


def test_a_persons_word_on_a_doubt_is_an_event() -> None:
    for decision in Decision:
        stream_id = cast.stream(mails=1)
        cast.lose(stream_id)
        cast.pass_grace(stream_id)

        ledger.resolve(stream_id, [SeenDelivery(0, 1)], decision=decision, actor="bob")

        *steps, last = views.read("email_events", stream_id, order='"createdAt"')
        told = [row["type"] for row in steps]
        assert told == ["RECEIVED", "VALIDATED", "SENT_ATTEMPT", "IN_DOUBT"]
        assert last["type"] == decision.upper()
        assert last["metadata"]["actor"] == "bob"
        assert last["metadata"]["attempt"] == 1
        assert last["metadata"]["before"] == "in_doubt"


def test_evidence_before_any_answer_tells_the_whole_way_and_where_it_is_known_from() -> None:
    stream_id = cast.stream(mails=1)
    cast.armed(stream_id)

    ledger.record(stream_id, [Evidence(1, views.sent(0), "event")])

    assert sorted(views.events(stream_id)) == sorted(
        ["RECEIVED", "VALIDATED", "SENT_ATTEMPT", "SENT", "PROVED_ACCEPTED"]
    )


def test_an_events_metadata_says_what_is_known() -> None:
    stream_id = cast.stream(mails=1)
    cast.book(stream_id, views.busy)
    cast.book(stream_id, views.sent)

    rows = views.read("email_events", stream_id, order='"createdAt"')

    assert {row["emailLogId"] for row in rows} == {views.name(stream_id, 0)}
    assert rows[0]["metadata"] == {"attempt": 1}
    assert rows[1]["metadata"]["validations"] == ["INTEGRITY", "OUTBOX", "RECIPIENT", "TEMPLATE"]
    assert rows[3]["metadata"] == {
        "attempt": 1,
        "outcome": "try_later",
        "errorCode": "BUSY",
        "errorCategory": "TRANSIENT_ERROR",
        "errorMessage": "Later.",
        "willRetry": True,
        "nextAttemptNumber": 2,
        "backoffDelay": 0,
    }
    assert rows[7]["metadata"] == {
        "attempt": 2,
        "outcome": "accepted",
        "sesMessageId": "m0",
        "durationMs": 1,
    }
    assert rows[7]["createdAt"] - rows[6]["createdAt"] >= timedelta(milliseconds=1)


def test_a_failed_validation_says_which_and_that_it_is_final() -> None:
    stream_id = cast.stream(mails=1)
    cast.judge(stream_id, views.invalid)

    _, validation, failure = views.read("email_events", stream_id, order='"createdAt"')

    assert validation["metadata"] == {
        "attempt": 1,
        "validation": "TEMPLATE",
        "errorCode": "INVALID_TEMPLATE",
        "errorCategory": "PERMANENT_ERROR",
        "errorMessage": "No body.",
        "willRetry": False,
    }
    assert failure["metadata"]["willRetry"] is False


def test_a_failed_validation_is_named_by_its_code() -> None:
    for code, validation in {
        "INVALID_PAYLOAD": "INTEGRITY",
        "OUTBOX_NOT_FOUND": "OUTBOX",
        "RECIPIENT_NOT_FOUND": "RECIPIENT",
        "INVALID_EMAIL": "RECIPIENT",
        "template_missing_variable": "TEMPLATE",
    }.items():
        stream_id = cast.stream(mails=1)
        cast.judge(stream_id, partial(entries.invalid, code=code))
        _, failed, _ = views.read("email_events", stream_id, order='"createdAt"')
        assert failed["metadata"]["validation"] == validation, code


def test_a_failure_is_told_with_its_code_and_its_category() -> None:
    told: dict[Result, tuple[str, str | None]] = {
        views.refused: ("NO", "PERMANENT_ERROR"),
        views.exhausted: ("BUSY", "TRANSIENT_ERROR"),
        views.busy: ("BUSY", "TRANSIENT_ERROR"),
        views.timed_out: ("timeout", "TIMEOUT_ERROR"),
        views.throttled: ("THROTTLED", "QUOTA_ERROR"),
        views.blocked: ("KEY", "CONFIGURATION_ERROR"),
        entries.not_sent: ("NOT_SENT", None),
        entries.in_doubt: ("IN_DOUBT", "TRANSIENT_ERROR"),
    }
    for result, expected in told.items():
        stream_id = cast.stream(mails=1)
        cast.book(stream_id, result)
        *_, last = views.read("email_events", stream_id, order='"createdAt"')
        metadata = last["metadata"]
        assert (metadata["errorCode"], metadata.get("errorCategory")) == expected, result


def test_a_mail_without_an_answer_is_told_as_such() -> None:
    stream_id = cast.stream(mails=1)
    claim, window = cast.armed(stream_id)

    ledger.settle(claim, [window], results=[])

    *_, last = views.read("email_events", stream_id, order='"createdAt"')
    assert last["metadata"] == {
        "attempt": 1,
        "outcome": "in_doubt",
        "errorCode": "no_answer",
        "errorCategory": "TRANSIENT_ERROR",
        "errorMessage": "No answer was reported.",
        "willRetry": False,
    }


def test_an_answer_is_told_with_its_category_and_the_providers_own_name_also_if_it_was_late() -> (
    None
):
    in_time, late = cast.stream(mails=1), cast.stream(mails=1)
    named = replace(views.refused(0), original_code="MessageRejected")
    cast.book(in_time, lambda _: named)
    cast.lose(late)
    ledger.record(late, [Evidence(1, named, "late answer")])

    for stream_id, type_ in ((in_time, "FAILED"), (late, "PROVED_NOT_ACCEPTED")):
        *_, last = views.read("email_events", stream_id, order='"createdAt"')
        metadata = last["metadata"]
        assert last["type"] == type_
        assert (metadata["errorCode"], metadata["errorCategory"]) == ("NO", "PERMANENT_ERROR")
        assert metadata["originalCode"] == "MessageRejected", type_


def test_a_retry_says_how_many_milliseconds_it_was_put_off_also_when_it_is_over() -> None:
    stream_id = cast.stream(mails=3)
    later = timedelta(seconds=5, milliseconds=250)
    cast.book(stream_id, views.sent, size=1)
    cast.book(stream_id, lambda at: entries.try_later(at, delay=later, code="BUSY"), size=2)
    cast.bring_forward(stream_id)
    cast.book(stream_id, views.sent)

    rows = views.read("email_events", stream_id, order='"createdAt"')

    delays = [row["metadata"].get("backoffDelay") for row in rows]
    assert [delay for delay in delays if delay is not None] == [5250, 5250]
    assert {row["type"] for row in rows if "backoffDelay" in row["metadata"]} == {"RETRY_SCHEDULED"}


def test_provider_events_are_told_one_by_one_and_what_people_decide_is_none() -> None:
    stream_id, requeued = cast.stream(mails=1), cast.stream(mails=1)
    cast.book(stream_id, views.sent)
    for kind in [*PROVIDER_KINDS, "opened", "dropped", "deferred"]:
        views.report(stream_id, 0, kind)
    cast.book(requeued, views.refused)
    ledger.requeue(requeued, [SeenDelivery(0, 1)], actor="bob")

    rows = views.read("delivery_events", stream_id, order="event_at")

    assert [row["event_type"] for row in rows] == [*PROVIDER_KINDS.values(), "open"]
    assert {(row["email"], row["provider_message_id"]) for row in rows} == {
        ("r0@example.com", "m0")
    }
    assert len({row["id"] for row in rows}) == len(rows)
    assert {DeliveryId.parse(row["id"]) for row in rows} == {None}
    assert "OPEN" not in views.events(stream_id)
    assert views.read("delivery_events", requeued) == []
    views.report(requeued, 0, "bounced", message_id="older")
    assert views.only("delivery_events", requeued)["provider_message_id"] == "older"


def test_giving_up_writes_a_dead_letter() -> None:
    cases: list[tuple[StreamKind, Result, bool]] = [
        (StreamKind.CAMPAIGN, views.refused, True),
        (StreamKind.TOPIC, views.refused, True),
        (StreamKind.TRANSACTIONAL, views.refused, False),
        (StreamKind.CAMPAIGN, views.exhausted, True),
        (StreamKind.TOPIC, views.exhausted, True),
        (StreamKind.TRANSACTIONAL, views.exhausted, True),
        (StreamKind.CAMPAIGN, views.busy, False),
        (StreamKind.CAMPAIGN, views.sent, False),
        (StreamKind.CAMPAIGN, entries.in_doubt, False),
    ]
    for kind, result, is_letter in cases:
        stream_id = cast.stream(kind, mails=1)
        cast.book(stream_id, result)
        topics = [row["topic"] for row in views.read("dead_letters", stream_id)]
        assert topics == [kind] * is_letter, (kind, result)


def test_poison_a_failed_validation_and_a_late_refusal_are_dead_letters() -> None:
    for kind in StreamKind:
        stream_id = cast.stream(kind, mails=1)
        cast.poison(stream_id)
        assert views.only("dead_letters", stream_id)["error"] == "poison", kind
    invalid, late = cast.stream(mails=1), cast.stream(mails=1)
    cast.judge(invalid, views.invalid)
    cast.lose(late)
    ledger.record(late, [Evidence(1, views.refused(0), "late answer")])

    assert views.only("dead_letters", invalid)["error"] == "INVALID_TEMPLATE: No body."
    assert views.only("dead_letters", late)["error"] == "NO: Never."


def test_a_dead_letter_has_what_is_needed_to_look_into_it() -> None:
    stream_id = cast.stream()
    line = NewDelivery("alice@example.com", variables={"state": "OH"})
    [position] = ledger.enqueue(stream_id, [line], due_at=datetime.now(UTC))
    cast.book(stream_id, views.exhausted)

    letter = views.only("dead_letters", stream_id)

    assert letter["id"] == views.name(stream_id, position)
    assert letter["topic"] == "campaign"
    assert letter["error"] == "BUSY: Later."
    assert letter["created_at"] > datetime.now(UTC) - timedelta(minutes=1)
    assert letter["payload"] == {
        "deliveryId": str(views.name(stream_id, position)),
        "streamId": stream_id,
        "stream": "News",
        "to": "alice@example.com",
        "code": "BUSY",
        "attempts": 1,
        "variables": {"state": "OH"},
    }


def test_a_requeued_letter_is_gone_and_its_next_failure_is_one_letter() -> None:
    stream_id = cast.stream(mails=1)
    cast.book(stream_id, views.refused)
    ledger.requeue(stream_id, [SeenDelivery(0, 1)], actor="bob")
    requeued = views.read("dead_letters", stream_id)

    cast.book(stream_id, views.exhausted)

    assert requeued == []
    assert views.only("dead_letters", stream_id)["error"] == "BUSY: Later."
