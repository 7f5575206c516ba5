"""Events, subscriptions and notifications read as the tables of the queue they replace."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import translation

from postledger.contacts.models import Subscription
from postledger.deliveries import entries, ledger
from postledger.deliveries.entries import Decision, Entry, Evidence, SeenDelivery
from postledger.deliveries.states import State
from postledger.notifications.fan_out import skip_texts
from postledger.notifications.models import Topic
from postledger.notifications.states import Skip
from tests import cast as books
from tests.deliveries import views
from tests.notifications import cast, queue

pytestmark = pytest.mark.django_db

KEY = ["stream_id", "position"]
COLUMNS = {
    "open_events": [
        *["open_event_id", "section_id", "term_id", "campus_code", "index_number"],
        *["status_before", "status_after", "event_at", "detected_by", "snapshot_hash"],
        *["dedupe_key", "trace_id", "payload", "topic_id", "workspace_id"],
    ],
    "subscriptions": [
        *["subscription_id", "status", "contact_type", "contact_value", "contact_hash", "locale"],
        *["last_known_section_status", "preferences", "match", "created_at", "updated_at"],
        *["topic_id", "contact_id", "workspace_id"],
    ],
    "open_event_notifications": [
        *["notification_id", "open_event_id", "subscription_id", "dedupe_key", "fanout_status"],
        *["fanout_attempts", "last_attempt_at", "locked_by", "locked_at", "error"],
        *["topic_id", "workspace_id", *KEY],
    ],
    "subscription_events": [
        *["subscription_id", "open_event_id", "notification_id", "event_type", "section_status"],
        *["snapshot_hash", "created_at", "topic_id", "workspace_id", *KEY],
    ],
}
FIRST = {view: columns[0] for view, columns in COLUMNS.items()}


def test_a_view_has_the_columns_it_stands_for() -> None:
    for view, expected in COLUMNS.items():
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT * FROM {view} LIMIT 0")
            columns = [column.name for column in cursor.description or []]
            cursor.execute("SELECT reloptions FROM pg_class WHERE relname = %s", [view])
            [(options,)] = cursor.fetchall()

        assert (columns, options) == (expected, ["security_invoker=true"])


def test_a_view_answers_by_its_id_through_indexes() -> None:
    cases: list[tuple[str, str]] = [*FIRST.items(), ("subscription_events", "notification_id")]
    for view, column in cases:
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL enable_seqscan = off")
            cursor.execute(f"EXPLAIN SELECT * FROM {view} WHERE {column} = 7")
            plan = "\n".join(line for (line,) in cursor.fetchall())

        assert "Seq Scan" not in plan, plan


def test_an_event_is_told_with_what_it_was_at_its_detection(topic: Topic) -> None:
    data = {**cast.DATA, "sectionId": 7, "snapshotHash": "0a1b", "detectedBy": "poller"}
    event = cast.event(topic, data=data, trace_id="t-1")

    [row] = queue.read("open_events", "open_event_id", event.pk)

    assert (row["term_id"], row["campus_code"], row["index_number"]) == ("92026", "NB", "10001")
    assert (row["section_id"], row["status_before"], row["status_after"]) == (7, "Closed", "Open")
    assert (row["detected_by"], row["snapshot_hash"]) == ("poller", "0a1b")
    assert (row["dedupe_key"], row["trace_id"]) == (event.dedupe_key, "t-1")
    assert (row["payload"], row["event_at"]) == (data, event.occurred_at)
    assert (row["topic_id"], row["workspace_id"]) == (topic.pk, topic.workspace_id)


def test_a_subscriptions_status_is_that_of_contact_consent_and_itself(topic: Topic) -> None:
    for number, (contact, consent, own, status) in enumerate(
        (
            ("active", "active", "active", "active"),
            ("active", "active", "paused", "paused"),
            ("active", "active", "unsubscribed", "unsubscribed"),
            ("active", "pending", "active", "pending"),
            ("active", "paused", "active", "paused"),
            ("active", "unsubscribed", "active", "unsubscribed"),
            ("active", "suppressed", "active", "suppressed"),
            ("unsubscribed", "active", "active", "unsubscribed"),
            ("bounced", "active", "unsubscribed", "suppressed"),
            ("deleted", "active", "active", "unsubscribed"),
            ("active", None, "active", "pending"),
        )
    ):
        fields: dict[str, Any] = {"state": contact}
        if contact == "deleted":
            fields = {"deleted_at": datetime.now(UTC)}
        given = {"state": consent or "active"}
        subscription = cast.subscribe(topic, f"r{number}", contact=fields, consent=given, state=own)
        if consent is None:
            Subscription.objects.filter(contact=subscription.contact).delete()

        [row] = queue.read("subscriptions", "subscription_id", subscription.pk)

        assert row["status"] == status, (contact, consent, own)


def test_a_subscription_is_told_with_its_preferences_and_what_it_last_heard(topic: Topic) -> None:
    until = datetime(2030, 1, 1, tzinfo=UTC)
    subscription = cast.subscribe(
        topic,
        "alice",
        consent={"window_from": 60, "window_until": 120, "snooze_until": until},
        max_notifications=3,
        snooze_until=until - timedelta(days=1),
        locale="ru",
    )
    queue.pend(cast.event(topic), subscription)

    [row] = queue.read("subscriptions", "subscription_id", subscription.pk)

    assert (row["contact_type"], row["contact_value"]) == ("email", "alice@example.com")
    assert (row["locale"], row["last_known_section_status"]) == ("ru", "Open")
    preferences = row["preferences"]
    assert datetime.fromisoformat(preferences.pop("snoozeUntil")) == until
    assert preferences == {
        "notifyOn": ["Open"],
        "maxNotifications": 3,
        "deliveryWindow": {"startMinutes": 60, "endMinutes": 120},
    }
    assert row["match"] == cast.MATCH


def test_a_notification_is_pending_without_error_when_it_is_planned_and_when_it_is_requeued(
    topic: Topic,
) -> None:
    row = queue.planned(topic)

    shown = queue.show(row)

    assert (shown["open_event_id"], shown["subscription_id"]) == (row.event_id, row.subscription_id)
    assert (shown["fanout_status"], shown["fanout_attempts"]) == ("pending", 0)
    assert shown["dedupe_key"] == "seat-10001"
    assert shown["stream_id"] == queue.stream_of(row)
    for column in ("error", "last_attempt_at", "locked_by", "locked_at"):
        assert shown[column] is None
    books.book(queue.stream_of(row), views.refused)
    assert queue.show(row)["error"] is not None
    ledger.requeue(queue.stream_of(row), [SeenDelivery(shown["position"], 1)], actor="bob")
    again = queue.show(row)
    assert (again["fanout_status"], again["fanout_attempts"]) == ("pending", 0)
    assert again["error"] is None


def test_an_ack_is_sent_with_the_providers_receipt_and_a_retryable_nack_stays_pending(
    topic: Topic,
) -> None:
    sent, busy = queue.planned(topic), queue.planned(topic, "bob")
    delay = timedelta(milliseconds=6500)
    books.book(queue.stream_of(sent), views.sent, size=1)
    books.book(
        queue.stream_of(busy),
        lambda place: entries.try_later(place, delay=delay, code="BUSY", detail="Later."),
    )

    acked, nacked = queue.show(sent), queue.show(busy)

    assert (acked["fanout_status"], acked["fanout_attempts"]) == ("sent", 1)
    assert acked["error"] == {
        "provider": "sandbox",
        "providerMessageId": f"m{acked['position']}",
        "status": "sent",
    }
    assert (nacked["fanout_status"], nacked["fanout_attempts"]) == ("pending", 1)
    assert nacked["error"] == {
        "provider": "sandbox",
        "status": "retryable",
        "code": "BUSY",
        "message": "Later.",
        "retryAfterSeconds": 7,
    }
    for shown in (acked, nacked):
        assert shown["last_attempt_at"] is not None
        assert shown["locked_by"] is shown["locked_at"] is None


def test_a_terminal_nack_has_code_and_message(topic: Topic) -> None:
    doubt = "It is not known whether the provider took it; a person decides."
    results: list[tuple[Callable[[int], Entry], dict[str, str]]] = [
        (views.refused, {"code": "NO", "message": "Never."}),
        (views.exhausted, {"code": "BUSY", "message": "Later."}),
        (entries.in_doubt, {"code": "in_doubt", "message": doubt}),
    ]
    for number, (result, error) in enumerate(results):
        row = queue.planned(topic, f"r{number}")
        books.book(queue.stream_of(row), result)

        shown = queue.show(row)

        assert (shown["fanout_status"], shown["fanout_attempts"]) == ("failed", 1)
        assert shown["error"] == error
        assert shown["last_attempt_at"] is not None


def test_a_verdict_of_gates_or_fan_out_has_its_code_and_counts_one_attempt(topic: Topic) -> None:
    verdicts: list[tuple[Callable[[int], Entry], str]] = [
        (views.skipped, "skipped"),
        (views.suppressed, "skipped"),
        (entries.expired, "expired"),
        (views.invalid, "failed"),
    ]
    for number, (verdict, status) in enumerate(verdicts):
        row = queue.planned(topic, f"r{number}")
        books.judge(queue.stream_of(row), verdict)
        shown = queue.show(row)
        assert (shown["fanout_status"], shown["fanout_attempts"]) == (status, 1)
        assert shown["error"]["code"] == verdict(0).code
        assert shown["error"]["message"]
    for end, code in (("skipped", "duplicate"), ("expired", "expired")):
        row = queue.pend(cast.event(topic), cast.subscribe(topic, code), end=end, code=code)
        shown = queue.show(row)
        assert (shown["fanout_status"], shown["fanout_attempts"]) == (end, 1)
        assert (shown["error"]["code"], shown["last_attempt_at"]) == (code, row.created_at)


def test_a_cancelled_notification_is_skipped_and_one_of_a_dropped_month_left_out(
    topic: Topic,
) -> None:
    row = queue.planned(topic)
    ledger.cancel(queue.stream_of(row), actor="bob")
    ledger.drain(queue.stream_of(row))
    dropped = queue.pend(cast.event(topic), cast.subscribe(topic, "bob"), is_planned=True)

    shown = queue.show(row)

    assert (shown["fanout_status"], shown["error"]["code"]) == ("skipped", "cancelled")
    assert queue.read("open_event_notifications", "notification_id", dropped.pk) == []


def test_the_view_and_the_pages_word_a_skip_alike() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT code, notification_message(code) FROM unnest(%s::text[]) AS code",
            [[skip.value for skip in Skip]],
        )
        messages = dict(cursor.fetchall())

    with translation.override("en"):
        assert messages == {skip.value: skip_texts.explain_code(skip) for skip in Skip}


def test_every_state_has_a_status() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT state, notification_status(state) FROM unnest(%s::text[]) AS state",
            [[state.value for state in State]],
        )
        statuses = dict(cursor.fetchall())

    assert statuses == {
        "waiting": "pending",
        "accepted": "sent",
        "failed": "failed",
        "in_doubt": "failed",
        "skipped": "skipped",
        "suppressed": "skipped",
        "cancelled": "skipped",
        "expired": "expired",
    }


def test_a_doubt_ends_by_evidence_or_by_a_person(topic: Topic) -> None:
    rows = queue.plan(cast.event(topic), cast.subscribe_all(topic, ["alice", "bob", "carol"]))
    stream_id = queue.stream_of(rows[0])
    books.lose(stream_id, size=3)
    first, second, third = (queue.show(row)["position"] for row in rows)
    assert queue.show(rows[0])["fanout_status"] == "failed"

    ledger.record(stream_id, [Evidence(1, views.sent(first), "event")])
    ledger.record(stream_id, [Evidence(1, views.refused(second), "late answer")])
    decision, seen = Decision.COUNT_AS_NOT_SENT, [SeenDelivery(third, 1)]
    ledger.resolve(stream_id, seen, decision=decision, actor="bob")

    sent, failed, decided = (queue.show(row) for row in rows)
    assert (sent["fanout_status"], sent["error"]["providerMessageId"]) == ("sent", f"m{first}")
    assert failed["error"] == {"code": "NO", "message": "Never."}
    assert decided["fanout_status"] == "failed"
    assert decided["error"]["code"]


def test_the_lease_of_its_batch_is_the_lock(topic: Topic) -> None:
    first, second = queue.plan(cast.event(topic), cast.subscribe_all(topic, ["alice", "bob"]))
    claim = books.claim(queue.stream_of(first), holder="worker-7")

    for row in (first, second):
        shown = queue.show(row)
        assert re.fullmatch("worker-[0-9a-f]{12}", shown["locked_by"])
        assert shown["locked_by"] != "worker-7"
        assert shown["locked_at"] <= datetime.now(UTC) + timedelta(minutes=1)
        assert (shown["fanout_status"], shown["fanout_attempts"]) == ("pending", 0)
    books.run_out(claim.lease)
    ledger.sweep()
    assert queue.show(first)["locked_by"] is queue.show(first)["locked_at"] is None


def test_what_was_sent_is_a_subscription_event_with_the_sections_status(topic: Topic) -> None:
    data: dict[str, Any] = {**cast.DATA, "snapshotHash": "0a1b"}
    sent, failed = queue.plan(
        cast.event(topic, data=data), cast.subscribe_all(topic, ["alice", "bob"])
    )
    books.book(queue.stream_of(sent), views.sent, size=1)
    books.book(queue.stream_of(failed), views.refused, size=1)

    [row] = queue.read("subscription_events", "subscription_id", sent.subscription_id)

    assert (row["notification_id"], row["open_event_id"]) == (sent.pk, sent.event_id)
    assert (row["event_type"], row["section_status"]) == ("notify_sent", "Open")
    assert (row["snapshot_hash"], row["workspace_id"]) == ("0a1b", topic.workspace_id)
    assert row["created_at"] == queue.show(sent)["last_attempt_at"]
    assert queue.read("subscription_events", "subscription_id", failed.subscription_id) == []
