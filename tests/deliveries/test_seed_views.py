"""The log and the outbox tell each line in the words of the tables they stand for."""

from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from django.db import connection

from postledger.deliveries import entries, ledger, partitions
from postledger.deliveries.entries import (
    Body,
    Entry,
    Evidence,
    NewDelivery,
    SeenDelivery,
    StreamKind,
)
from postledger.deliveries.states import State
from postledger.lib import ids
from tests import cast
from tests.deliveries import views

pytestmark = pytest.mark.django_db

KEY = ["stream_id", "position"]
LOG = [
    *["outboxId", "companyId", "recipientId", "to", "subject", "status", "sesMessageId"],
    *["errorCode", "errorReason", "attempts", "durationMs", "requestId", "createdAt", "sentAt"],
    *["failedAt", *KEY],
]
COLUMNS = {
    "email_outbox": [
        *["id", "companyId", "recipientId", "to", "subject", "html", "status", "attempts"],
        *["lastError", "requestId", "createdAt", "processedAt", *KEY],
    ],
    "email_logs": LOG,
    "send_logs": LOG,
    "email_events": ["emailLogId", "type", "metadata", "createdAt", *KEY],
    "delivery_events": ["id", "email", "event_type", "provider_message_id", "event_at", *KEY],
    "dead_letters": ["id", "topic", "payload", "error", "created_at", *KEY],
}


def test_a_view_has_the_columns_it_stands_for_and_then_its_key() -> None:
    found = {}
    with connection.cursor() as cursor:
        for view in COLUMNS:
            cursor.execute(f"SELECT * FROM {view} LIMIT 0")
            found[view] = [column.name for column in cursor.description or []]

    assert found == COLUMNS


def test_a_transactional_mail_is_told_from_its_own_body() -> None:
    stream_id = cast.stream(StreamKind.TRANSACTIONAL)
    body = Body(subject="Your order", html="<p>Thanks</p>", request_id="req-1")
    line = NewDelivery("alice@example.com", contact_id=9, body=body)
    [position] = ledger.enqueue(stream_id, [line], due_at=datetime.now(UTC))
    cast.book(stream_id, views.sent)

    log, outbox = views.only("email_logs", stream_id), views.only("email_outbox", stream_id)

    assert log["outboxId"] == outbox["id"] == views.name(stream_id, position)
    assert log["companyId"] == outbox["companyId"] == cast.sender().workspace_id
    assert log["recipientId"] == outbox["recipientId"] == 9
    assert log["to"] == outbox["to"] == "alice@example.com"
    assert log["subject"] == outbox["subject"] == "Your order"
    assert log["requestId"] == outbox["requestId"] == "req-1"
    assert log["attempts"] == outbox["attempts"] == 1
    assert outbox["html"] == "<p>Thanks</p>"
    assert (log["sesMessageId"], log["durationMs"]) == (f"m{position}", 1)
    assert log["createdAt"] == outbox["createdAt"]
    assert log["sentAt"] == outbox["processedAt"] > log["createdAt"]
    assert log["failedAt"] is log["errorCode"] is log["errorReason"] is outbox["lastError"] is None


def test_mail_to_many_is_told_from_the_body_of_its_letter() -> None:
    stream_id = cast.stream()
    bodies = [
        Body(subject=word, html=f"<p>{word}</p>", request_id="run-1") for word in ("Hello", "Hallo")
    ]
    ledger.add_letters(stream_id, dict(enumerate(bodies)))
    lines = [NewDelivery(f"r{number}@example.com", letter=number) for number in (0, 1)]
    ledger.enqueue(stream_id, lines, due_at=datetime.now(UTC))

    logs, outbox = views.read("email_logs", stream_id), views.read("email_outbox", stream_id)

    assert [row["subject"] for row in logs] == ["Hello", "Hallo"]
    assert [row["subject"] for row in outbox] == ["Hello", "Hallo"]
    assert [row["requestId"] for row in logs + outbox] == ["run-1"] * 4
    assert [row["html"] for row in outbox] == ["<p>Hello</p>", "<p>Hallo</p>"]


def test_a_campaign_mail_takes_the_streams_title_and_send_logs_is_email_logs() -> None:
    stream_id = cast.stream(mails=3)
    cast.book(stream_id, views.busy, size=2)

    *_, outbox = views.read("email_outbox", stream_id)

    assert outbox["subject"] == "News"
    assert outbox["html"] is outbox["requestId"] is outbox["processedAt"] is None
    assert views.read("send_logs", stream_id) == views.read("email_logs", stream_id)


def test_a_result_gives_status_and_error() -> None:
    told: dict[Callable[[int], Entry], tuple[str, str | None, str | None]] = {
        views.sent: ("SENT", None, None),
        views.refused: ("FAILED", "NO", "Never."),
        views.exhausted: ("FAILED", "BUSY", "Later."),
        views.busy: ("RETRY_SCHEDULED", "BUSY", "Later."),
        views.throttled: ("RETRY_SCHEDULED", "THROTTLED", "Slow down."),
        views.blocked: ("RETRY_SCHEDULED", "KEY", "Bad key."),
        entries.not_sent: ("RETRY_SCHEDULED", "NOT_SENT", None),
        entries.in_doubt: ("IN_DOUBT", "IN_DOUBT", None),
    }
    for result, (status, code, reason) in told.items():
        stream_id = cast.stream(mails=1)
        cast.book(stream_id, result)
        log, outbox = views.only("email_logs", stream_id), views.only("email_outbox", stream_id)

        assert (log["status"], log["errorCode"], log["errorReason"]) == (status, code, reason)
        assert outbox["status"] == status
        assert outbox["lastError"] == (f"{code}: {reason}" if reason else code)
        assert (log["sentAt"] is not None) == (status == "SENT")
        assert (log["failedAt"] is not None) == (status == "FAILED")
        assert (outbox["processedAt"] is not None) == (status in {"SENT", "FAILED"})


def test_a_verdict_gives_status_and_code() -> None:
    told: dict[Callable[[int], Entry], str] = {
        views.suppressed: "SUPPRESSED",
        views.skipped: "SKIPPED",
        entries.expired: "EXPIRED",
        views.invalid: "FAILED",
    }
    for verdict, status in told.items():
        stream_id = cast.stream(mails=1)
        cast.judge(stream_id, verdict)
        log = views.only("email_logs", stream_id)
        assert (log["status"], log["errorCode"]) == (status, verdict(0).code)


def test_every_state_has_a_status() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT state, delivery_status(state, 0) FROM unnest(%s::text[]) AS state",
            [[state.value for state in State]],
        )
        statuses = dict(cursor.fetchall())

    assert statuses == {
        **{state.value: state.upper() for state in State},
        "waiting": "RECEIVED",
        "accepted": "SENT",
    }


def test_a_requeue_and_a_cancel_take_the_error_away_and_late_evidence_brings_its_own() -> None:
    requeued, cancelled, late = (cast.stream(mails=1) for _ in range(3))
    cast.book(requeued, views.refused)
    ledger.requeue(requeued, [SeenDelivery(0, 1)], actor="bob")
    cast.book(cancelled, views.busy)
    ledger.cancel(cancelled, actor="bob")
    ledger.drain(cancelled)
    cast.lose(late)
    ledger.record(late, [Evidence(1, views.refused(0), "late answer")])

    told = {
        stream_id: tuple(
            views.only("email_logs", stream_id)[name]
            for name in ("status", "errorCode", "errorReason", "attempts")
        )
        for stream_id in (requeued, cancelled, late)
    }
    assert told == {
        requeued: ("RETRY_SCHEDULED", None, None, 0),
        cancelled: ("CANCELLED", None, None, 1),
        late: ("FAILED", "NO", "Never.", 1),
    }


def plan_of(view: str, where: str) -> str:
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute(f"EXPLAIN SELECT * FROM {view} WHERE {where}")
        return "\n".join(line for (line,) in cursor.fetchall())


def test_a_view_answers_by_the_key_that_an_id_holds() -> None:
    id_ = views.name(cast.stream(mails=1), 0)
    key = f"stream_id = delivery_stream('{id_}') AND position = delivery_position('{id_}')"

    for view in COLUMNS:
        plan = plan_of(view, key)
        assert "Seq Scan on deliveries" not in plan.replace("Seq Scan on deliveries_stream ", "")
        assert "_pkey on deliveries_" in plan, view


def test_some_lines_are_told_without_reading_every_body() -> None:
    stream_id = cast.stream(StreamKind.TRANSACTIONAL)
    body = Body(subject="Hello")
    for first in range(0, 5000, 1000):
        lines = [NewDelivery(f"r{first + n}@example.com", body=body) for n in range(1000)]
        ledger.enqueue(stream_id, lines)
    part = partitions.partition("deliveries_body", ids.month_of_stream(stream_id))
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE deliveries_delivery, deliveries_body")
        for view in ("email_logs", "email_outbox"):
            cursor.execute(f"EXPLAIN SELECT * FROM {view} LIMIT 100")
            plan = "\n".join(line for (line,) in cursor.fetchall())
            assert f"Index Scan using {part}_pkey on {part} " in plan, view
            assert f"Seq Scan on {part} " not in plan, view


def test_an_ids_key_is_the_rows_key() -> None:
    stream_id = cast.stream(mails=3)
    cast.book(stream_id, views.refused)
    views.report(stream_id, 1, "bounced")
    id_ = views.name(stream_id, 1)

    counts = {}
    with connection.cursor() as cursor:
        for view in COLUMNS:
            cursor.execute(
                f"SELECT count(*) FROM {view}"
                " WHERE stream_id = delivery_stream(%s) AND position = delivery_position(%s)",
                [id_, id_],
            )
            [(counts[view],)] = cursor.fetchall()

    assert counts == {**dict.fromkeys(COLUMNS, 1), "email_events": 4}
