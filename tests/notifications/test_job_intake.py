"""A posted mail job makes the mail of its notification, once, with what the job says."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest
from django.db import connection
from pytest_django import Settings

from postledger.contacts.models import Contact
from postledger.deliveries import ledger, queries
from postledger.deliveries.entries import StreamKind
from postledger.dispatch import retry
from postledger.notifications.fan_out import planner
from postledger.notifications.fan_out.notification_facts import NotificationUnknownError
from postledger.notifications.jobs import contract, documents, intake
from postledger.notifications.jobs.contract import InvalidJobError
from postledger.notifications.jobs.documents import NoMailJobError
from postledger.notifications.jobs.intake import JobResult, TakenJob
from postledger.notifications.models import Event, Notification, Topic
from tests import cast as books
from tests.deliveries import views
from tests.notifications import cast, queue
from tests.races import collide

pytestmark = pytest.mark.django_db


@pytest.fixture
def topic(settings: Settings) -> Topic:
    return cast.topic(settings, is_by_job=True)


def plan(topic: Topic, *names: str, **fields: Any) -> list[Notification]:
    """The notifications of an event to these people, as the fan-out leaves them."""
    cast.subscribe_all(topic, names, **fields)
    event = cast.event(topic)
    planner.plan_all()
    return list(Notification.objects.filter(event=event).order_by("subscription_id"))


def job_of(topic: Topic, row: Notification, **changes: Any) -> dict[str, Any]:
    return documents.build_job(row.pk, workspace_id=topic.workspace_id) | changes


def post(topic: Topic, document: object, *, now: datetime | None = None) -> TakenJob:
    return intake.take_job(topic.workspace_id, document, now=now or datetime.now(UTC))


def count_mails(row: Notification) -> int:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM deliveries_delivery WHERE dedupe_key = %s", [str(row.pk)]
        )
        [(count,)] = cursor.fetchall()
    return int(count)


def variables_of(taken: TakenJob) -> dict[str, Any]:
    assert taken.notification.mail is not None
    mail = taken.notification.mail
    content = queries.find_content(mail.stream_id, mail.position)
    assert content is not None
    return dict(content.variables or {})


def fields_of(refusal: pytest.ExceptionInfo[InvalidJobError]) -> list[str]:
    return [issue.field for issue in refusal.value.issues]


def test_our_own_document_is_a_job_that_plans_its_mail(
    topic: Topic,
) -> None:
    [row] = plan(topic, "alice")
    assert (queue.show(row)["fanout_status"], count_mails(row)) == ("pending", 0)
    document = job_of(topic, row, recipient={"email": "Alice@Example.com"})

    taken = [post(topic, document) for _ in range(3)]

    results = [one.result for one in taken]
    assert results == [JobResult.PLANNED, JobResult.UNCHANGED, JobResult.UNCHANGED]
    assert {one.notification.status for one in taken} == {"pending"}
    assert count_mails(row) == 1
    books.book(queue.stream_of(row), views.sent)
    assert post(topic, document).notification.status == "sent"
    assert queue.show(row)["fanout_status"] == "sent"
    assert count_mails(row) == 1


@pytest.mark.django_db(transaction=True)
def test_the_same_job_at_once_is_one_mail(topic: Topic) -> None:
    [row] = plan(topic, "alice")
    document = job_of(topic, row)

    taken = collide.together([partial(post, topic, document)] * 4)

    assert sorted(one.result for one in taken) == [JobResult.PLANNED, *[JobResult.UNCHANGED] * 3]
    assert count_mails(row) == 1


def test_the_variables_and_links_of_a_job_win(topic: Topic) -> None:
    [row] = plan(topic, "alice")
    document = job_of(topic, row)
    document["recipient"]["name"] = "Dr. Alice"
    document["template"]["variables"] |= {
        "courseTitle": "Algorithms",
        "manageUrl": "https://producer.example/manage",
        "name": "Alice A.",
    }
    document["links"] = {"unsubscribeUrl": "https://producer.example/leave"}
    del document["template"]["variables"]["unsubscribeUrl"]

    variables = variables_of(post(topic, document))

    assert variables["courseTitle"] == "Algorithms"
    assert variables["manageUrl"] == "https://producer.example/manage"
    assert variables["unsubscribeUrl"] == "https://producer.example/leave"
    assert variables["name"] == "Alice A."
    assert variables["meetingSummary"] == cast.DATA["meetingSummary"]


def test_the_locale_and_the_delivery_policy_of_a_job_are_kept(topic: Topic) -> None:
    alice, bob = plan(topic, "alice", "bob")
    policy = {"maxAttempts": 5, "lockTtlSeconds": 60, "retryScheduleMs": [0, 500]}

    post(topic, job_of(topic, alice, locale="ru", deliveryPolicy=policy))
    post(topic, job_of(topic, bob, locale="pt-PT"))

    document = job_of(topic, alice)
    assert (document["locale"], document["deliveryPolicy"]) == ("ru", policy)
    alice.refresh_from_db()
    assert (alice.max_attempts, alice.lock_ttl_seconds) == (5, 60)
    assert alice.retry_schedule_ms == [0, 500]
    assert job_of(topic, bob)["locale"] == "pt"
    assert job_of(topic, bob)["template"]["version"] == "v1"


def test_a_job_for_mail_that_is_planned_changes_its_policy_alone_until_it_has_a_result(
    settings: Settings,
) -> None:
    topic = cast.topic(settings)
    [row] = plan(topic, "alice")
    document = job_of(topic, row, deliveryPolicy={"maxAttempts": 7})

    results = [post(topic, document).result for _ in range(2)]
    books.book(queue.stream_of(row), views.refused)
    late = post(topic, job_of(topic, row, deliveryPolicy={"maxAttempts": 5}))

    assert results == [JobResult.POLICY_CHANGED, JobResult.UNCHANGED]
    assert (late.result, late.notification.status) == (JobResult.UNCHANGED, "failed")
    row.refresh_from_db()
    assert (row.max_attempts, row.lock_ttl_seconds, count_mails(row)) == (7, None, 1)


def test_a_notification_that_ended_or_expired_or_whose_stream_was_cancelled_takes_no_job(
    topic: Topic,
) -> None:
    ended, old, sent, late = plan(topic, "alice", "bob", "carol", "dan")
    documents_ = [job_of(topic, row) for row in (ended, old)]
    Notification.objects.filter(pk=ended.pk).update(end="skipped", code="duplicate")

    taken = [
        post(topic, documents_[0]),
        post(topic, documents_[1], now=datetime.now(UTC) + timedelta(days=2)),
    ]

    assert [one.result for one in taken] == [JobResult.UNCHANGED] * 2
    assert [one.notification.status for one in taken] == ["skipped", "expired"]
    post(topic, job_of(topic, sent))
    ledger.cancel(queue.stream_of(sent), actor="carol")
    cancelled = post(topic, job_of(topic, late))
    assert cancelled.notification.status == "skipped"
    assert (cancelled.notification.error or {})["code"] == "cancelled"
    assert [count_mails(row) for row in (ended, old, late)] == [0, 0, 0]


def test_a_job_for_a_snoozed_subscription_waits_for_the_end_of_the_snooze(topic: Topic) -> None:
    until = datetime.now(UTC) + timedelta(hours=3)
    [row] = plan(topic, "alice", snooze_until=until)

    taken = post(topic, job_of(topic, row))

    assert taken.notification.mail is not None
    mail = taken.notification.mail
    delivery = queries.find_delivery(mail.stream_id, mail.position)
    assert delivery is not None
    assert delivery.work is not None
    assert abs(delivery.work.due_at - until) < timedelta(seconds=1)


def test_ids_that_name_nothing_or_do_not_belong_together_are_refused(
    topic: Topic, settings: Settings
) -> None:
    alice, bob = plan(topic, "alice", "bob")
    foreign_topic = cast.topic(settings, workspace="globex", is_by_job=True)
    [foreign] = plan(foreign_topic, "alice")
    all_three = ["notificationId", "openEventId", "subscriptionId"]
    other = {"subscriptionId": bob.subscription_id, "openEventId": cast.event(topic).pk}
    cases: list[tuple[dict[str, Any], list[str]]] = [
        *(
            (job_of(topic, alice, **dict.fromkeys(all_three, n)), all_three)
            for n in (2**62, 10**30)
        ),
        (job_of(topic, alice, **other), all_three[1:]),
        (job_of(foreign_topic, foreign), all_three),
    ]
    for document, fields in cases:
        with pytest.raises(InvalidJobError) as refusal:
            post(topic, document)
        assert fields_of(refusal) == fields

    assert count_mails(alice) == 0
    with pytest.raises(NotificationUnknownError):
        documents.build_job(foreign.pk, workspace_id=topic.workspace_id)


def test_what_the_rows_do_not_say_is_refused(topic: Topic) -> None:
    [row] = plan(topic, "alice")
    Topic.objects.filter(pk=topic.pk).update(fallback_locale="")
    template = job_of(topic, row)["template"] | {"version": "v99"}

    wrong: list[tuple[dict[str, Any], str]] = [
        ({"dedupeKey": "another"}, "dedupeKey"),
        ({"recipient": {"email": "mallory@example.com"}}, "recipient.email"),
        ({"locale": "tlh"}, "locale"),
        ({"template": template}, "template.version"),
    ]
    for changes, field in wrong:
        with pytest.raises(InvalidJobError) as refusal:
            post(topic, job_of(topic, row, **changes))
        assert fields_of(refusal) == [field]

    assert count_mails(row) == 0


def test_the_document_has_what_the_rows_say(topic: Topic) -> None:
    until = datetime.now(UTC) + timedelta(days=3)
    [row] = plan(
        topic,
        "alice",
        window_from=60,
        window_until=120,
        max_notifications=4,
        snooze_until=until,
        locale="ru",
    )
    Event.objects.filter(pk=row.event_id).update(trace_id="t-1")
    Notification.objects.filter(pk=row.pk).update(end=None, code="")

    document = job_of(topic, row)

    assert contract.validate_job(document) == document
    assert (document["notificationId"], document["openEventId"]) == (row.pk, row.event_id)
    assert (document["traceId"], document["dedupeKey"]) == ("t-1", row.dedupe_key)
    assert document["recipient"] == {"email": "alice@example.com", "name": "Alice"}
    assert (document["locale"], document["template"]["version"]) == ("ru", "v1")
    assert document["event"] == cast.DATA
    assert document["subscription"]["preferences"]["deliveryWindow"] == {
        "startMinutes": 60,
        "endMinutes": 120,
    }
    assert document["subscription"]["preferences"]["maxNotifications"] == 4
    assert document["deliveryPolicy"] == {
        "maxAttempts": 3,
        "lockTtlSeconds": 120,
        "retryScheduleMs": [0, 2000, 7000],
    }
    assert document["links"]["manageUrl"] == document["template"]["variables"]["manageUrl"]
    assert "token=" in document["links"]["unsubscribeUrl"]


def test_a_job_has_the_policy_that_the_operator_set(topic: Topic, settings: Settings) -> None:
    [row] = plan(topic, "alice")
    cases: list[tuple[str, int | None, tuple[int, int, list[int]]]] = [
        ("5: 0 60 300 max 90", None, (5, 90, [0, 60_000, 90_000])),
        ("5: 0 60 300 max 90", 240, (5, 240, [0, 60_000, 300_000])),
        ("2: 1.5 40 max 10", None, (2, 30, [1_500, 10_000])),
        ("2: 1 600", None, (2, 600, [1_000, 600_000])),
    ]
    for setting, lock, policy in cases:
        policies = {StreamKind.TOPIC: retry.read(setting)}
        settings.DISPATCH_OPTIONS = replace(settings.DISPATCH_OPTIONS, policies=policies)
        Notification.objects.filter(pk=row.pk).update(lock_ttl_seconds=lock)
        assert tuple(job_of(topic, row)["deliveryPolicy"].values()) == policy, (setting, lock)


FORGED = {
    "manageUrl": "https://evil.example/",
    "unsubscribeUrl": "https://evil.example/",
    "unsubscribe_url": "https://evil.example/",
    "email": "mallory@example.com",
    "name": "Mallory",
    "from_name": "Mallory",
}


@pytest.mark.parametrize("is_by_job", [True, False])
def test_an_event_sets_nothing_that_belongs_to_the_recipient(
    settings: Settings,
    *,
    is_by_job: bool,
) -> None:
    topic = cast.topic(settings, is_by_job=is_by_job)
    cast.subscribe(topic, "alice")
    event = cast.event(topic, data={**cast.DATA, **FORGED})
    planner.plan_all()
    row = Notification.objects.get(event=event)

    document = job_of(topic, row)
    taken = post(topic, document)

    for variables in (document["template"]["variables"], variables_of(taken)):
        assert not {"https://evil.example/", "Mallory", "mallory@example.com"} & {
            *map(str, variables.values())
        }


def test_what_no_job_can_be_made_of_has_none(topic: Topic) -> None:
    cast.subscribe(topic, "alice")
    data = {name: value for name, value in cast.DATA.items() if name != "courseTitle"}
    incomplete = cast.event(topic, data=data)
    [row, other] = [*plan(topic), *plan(topic)]

    with pytest.raises(NoMailJobError, match="courseTitle"):
        job_of(topic, Notification.objects.get(event=incomplete))
    Topic.objects.filter(pk=topic.pk).update(template="welcome")
    with pytest.raises(NoMailJobError, match="open-seat alone"):
        job_of(topic, row)
    Topic.objects.filter(pk=topic.pk).update(template="open-seat")
    Contact.objects.filter(address="alice@example.com").update(deleted_at=datetime.now(UTC))
    with pytest.raises(NoMailJobError, match="deleted"):
        job_of(topic, other)
