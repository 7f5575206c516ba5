"""Mail jobs and notifications over HTTP: the schema, the documents, and who may see what."""

from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings
from django.core.management import CommandError, call_command
from django.test import Client

import postledger.notifications.jobs
from postledger.notifications.fan_out import planner
from postledger.notifications.models import Event, Notification, Topic
from postledger.notifications.states import Skip
from tests import cast as books
from tests.deliveries import views
from tests.notifications import cast, queue
from tests.notifications.mail_job_corpus import LEAST
from tests.web import newsroom
from tests.web.callers import Caller

SCHEMA = Path(postledger.notifications.jobs.__path__[0]) / "mail_job.schema.json"


@pytest.fixture
def topic(alice: Caller, settings: LazySettings) -> Topic:
    newsroom.furnish(alice, settings)
    return cast.add_topic(alice.workspace_id, is_by_job=True)


@pytest.fixture
def row(topic: Topic) -> Notification:
    """A notification that waits for its job."""
    cast.subscribe(topic, "alice")
    event = cast.event(topic)
    planner.plan_all()
    return Notification.objects.get(event=event)


def job_of(who: Caller, row: Notification) -> dict[str, Any]:
    reply = who.get(f"/v1/notifications/{row.pk}/job")
    assert reply.status == 200, reply.body
    return dict(reply.body)


def say(id_: str) -> str:
    out = StringIO()
    call_command("why", id_, stdout=out)
    return out.getvalue()


def test_the_schema_is_served_word_for_word_to_everybody_and_no_other(db: None) -> None:
    answer = Client().get("/schemas/mail_job/1.0")

    assert (answer.status_code, answer["Content-Type"]) == (200, "application/schema+json")
    assert answer.content == SCHEMA.read_bytes()
    for path in ("mail_job/1.1", "mail_job/2.0", "mail_job/1.0/x", "mail"):
        answer = Client().get(f"/schemas/{path}")
        assert answer.status_code == 404, path
        assert answer["Content-Type"] == "application/problem+json", path


def test_a_document_that_was_read_can_be_posted_and_makes_one_mail(
    alice: Caller, row: Notification
) -> None:
    document = job_of(alice, row)
    path = f"/v1/notifications/{row.pk}"
    waiting = alice.get(path).body

    first, second = (alice.post("/v1/mail-jobs", document) for _ in range(2))
    books.book(queue.stream_of(row), views.sent)
    sent = alice.get(path).body

    assert (first.status, first.body["result"]) == (202, "planned")
    assert (second.status, second.body["result"]) == (202, "unchanged")
    assert first.body["mail_id"] == second.body["mail_id"]
    assert first.body["notification_id"] == row.pk
    assert (waiting["status"], waiting["mail_id"]) == ("pending", None)
    assert [cause["code"] for cause in waiting["causes"]] == ["awaits_job"]
    assert (sent["status"], sent["attempts"], sent["topic"]) == ("sent", 1, "open-seats")
    assert sent["error"]["providerMessageId"]
    assert (sent["event_id"], sent["subscription_id"]) == (row.event_id, row.subscription_id)


def test_a_document_is_refused_for_its_ids_or_for_its_form(alice: Caller, topic: Topic) -> None:
    absent = {"notificationId": 2**60, "openEventId": 2**60, "subscriptionId": 2**60}

    unknown = alice.post("/v1/mail-jobs", {**LEAST, **absent})
    malformed = alice.post("/v1/mail-jobs", {**LEAST, "surprise": 1})

    assert (unknown.status, unknown.body["code"]) == (422, "invalid_mail_job")
    assert [issue["place"] for issue in unknown.body["errors"]] == [*absent]
    assert (malformed.status, malformed.body["code"]) == (422, "invalid_mail_job")


def test_another_tenant_finds_nothing(charlie: Caller, alice: Caller, row: Notification) -> None:
    document = job_of(alice, row)
    for path in (
        f"/v1/notifications/{row.pk}",
        f"/v1/notifications/{row.pk}/job",
        f"/v1/why/notification:{row.pk}",
        f"/v1/why/event:{row.event_id}",
    ):
        assert charlie.get(path).status == 404
    assert charlie.post("/v1/mail-jobs", document).status == 422
    assert alice.get(f"/v1/notifications/{row.pk}").body["mail_id"] is None


def test_why_tells_of_a_notification_that_waits_for_its_job_and_of_nothing_unknown(
    alice: Caller, row: Notification
) -> None:
    answer = alice.get(f"/v1/why/notification:{row.pk}").body

    [cause] = answer["causes"]
    assert (answer["kind"], cause["code"]) == ("notification", "awaits_job")
    expires_at = Event.objects.get(pk=row.event_id).expires_at
    assert abs(datetime.fromisoformat(cause["until"]) - expires_at) < timedelta(seconds=1)
    assert "awaits_job since" in say(f"notification:{row.pk}")
    for id_ in ("notification:0", "event:x", "notification:", "event:²"):
        assert alice.get(f"/v1/why/{id_}").status == 404, id_
        with pytest.raises(CommandError):
            say(id_)


def test_why_tells_every_skip_in_a_sentence(alice: Caller, topic: Topic) -> None:
    for code in Skip:
        if code is Skip.EXPIRED:
            continue
        subscription = cast.subscribe(topic, f"r-{code}")
        row = queue.pend(cast.event(topic), subscription, end="skipped", code=code.value)

        [cause] = alice.get(f"/v1/why/notification:{row.pk}").body["causes"]

        assert (cause["code"], cause["resumed_by"]) == (code, "")
        assert cause["sentence"].endswith("."), code
        assert f"{code} since" in say(f"notification:{row.pk}")


def test_why_tells_what_keeps_an_event_back_until_it_was_told_to_all(
    alice: Caller, topic: Topic
) -> None:
    event = cast.event(topic)

    [cause] = alice.get(f"/v1/why/event:{event.pk}").body["causes"]
    assert (cause["code"], cause["resumed_by"]) == ("not_planned", "a worker plans it")
    Event.objects.filter(pk=event.pk).update(trouble="No footer.", trouble_since=datetime.now(UTC))
    [cause] = alice.get(f"/v1/why/event:{event.pk}").body["causes"]
    assert "No footer." in cause["sentence"]
    row = queue.planned(topic)
    assert alice.get(f"/v1/why/event:{row.event_id}").body["causes"]
    books.book(queue.stream_of(row), views.sent)
    assert alice.get(f"/v1/why/event:{row.event_id}").body["causes"] == []
    assert "was accepted" in say(f"notification:{row.pk}")
