"""The fan-out where topics, templates and clocks change under it, and planners meet."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from pytest_django import Settings

from postledger.notifications.events import retention
from postledger.notifications.fan_out import planner
from postledger.notifications.models import Event, Notification, Topic
from tests.notifications import cast

pytestmark = pytest.mark.django_db(transaction=True)


def planned(event: Event) -> Event:
    planner.plan_all()
    event.refresh_from_db()
    assert event.planned_at is not None, event.trouble
    return event


def ends(event: Event) -> dict[str, str]:
    """The code of each skipped or expired notification by contact; empty for those with mail."""
    rows = Notification.objects.filter(event=event).values_list(
        "subscription__contact__name", "code"
    )
    return dict(rows)


def mails(event: Event) -> dict[str, dict[str, Any]]:
    """The deliveries of an event by address."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT d.address, d.state, d.letter, d.dedupe_key, b.due_at, b.reason,"
            " d.variables::text FROM deliveries_delivery d"
            " JOIN notifications_notification n ON n.id::text = d.dedupe_key"
            " LEFT JOIN deliveries_batch b ON b.stream_id = d.stream_id"
            " AND d.position >= b.lo AND d.position < b.hi"
            " WHERE d.stream_id = %s AND n.event_id = %s",
            [event.stream_id, event.pk],
        )
        names = [column.name for column in cursor.description]
        return {row[0]: dict(zip(names, row, strict=True)) for row in cursor.fetchall()}


def test_a_snooze_until_the_end_of_the_calendar_expires_alone(settings: Settings) -> None:
    topic = cast.topic(settings)
    far = datetime(9999, 12, 31, 23, 59, tzinfo=UTC)
    zone = {"time_zone": "Pacific/Auckland"}
    cast.subscribe(topic, "ann", contact=zone, snooze_until=far, window_from=540, window_until=600)
    cast.subscribe(topic, "bob")

    event = planned(cast.event(topic))

    assert ends(event) == {"Ann": "expired", "Bob": ""}
    assert set(mails(event)) == {"bob@example.com"}


def test_a_duplicate_is_of_what_was_sent_or_began_to_wait_within_the_window(
    settings: Settings,
) -> None:
    cases = [
        # State of the earlier mail, whether it was made before the window, when it was settled.
        ("waiting", False, 0, "duplicate"),
        ("waiting", True, 0, ""),
        ("accepted", True, 1, "duplicate"),
        ("in_doubt", True, 1, "duplicate"),
        ("accepted", True, 10, ""),
        ("failed", False, 1, ""),
        ("skipped", False, 1, ""),
        ("expired", False, 1, ""),
    ]
    topic = cast.topic(settings)
    cast.subscribe_all(topic, [f"r{number}" for number in range(len(cases))])
    earlier = planned(cast.event(topic))
    now = datetime.now(UTC)
    for number, (state, is_old, minutes, _) in enumerate(cases):
        with connection.cursor() as cursor:
            cursor.execute(
                "UPDATE deliveries_delivery SET state = %s, settled_at = %s WHERE address = %s",
                [state, now - timedelta(minutes=minutes), f"r{number}@example.com"],
            )
        if is_old:
            told = Notification.objects.filter(event=earlier)
            told = told.filter(subscription__contact__name=f"R{number}")
            told.update(created_at=now - timedelta(minutes=30))

    expected = {f"R{number}": code for number, (*_, code) in enumerate(cases)}
    assert ends(planned(cast.event(topic))) == expected


def test_an_event_goes_on_with_the_template_it_began_with(settings: Settings) -> None:
    topic = cast.topic(settings)
    cast.subscribe_all(topic, ["ann", "bob"])
    event = cast.event(topic)
    planner.plan_next_chunk(event.pk, size=1)
    Topic.objects.filter(pk=topic.pk).update(template="none-such", template_version=7)

    assert len({mail["letter"] for mail in mails(planned(event)).values()}) == 1
    assert event.template == "open-seat"


def test_what_waits_for_a_job_expires_although_its_topic_has_no_jobs_any_more(
    settings: Settings,
) -> None:
    topic = cast.topic(settings, is_by_job=True)
    cast.subscribe(topic, "ann")
    event = planned(cast.event(topic))
    Topic.objects.filter(pk=topic.pk).update(is_by_job=False)

    retention.expire_without_job(event.expires_at)

    assert ends(event) == {"Ann": "expired"}
