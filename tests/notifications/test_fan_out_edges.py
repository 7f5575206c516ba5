"""The fan-out where topics, templates and clocks change under it, and planners meet."""

from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from pytest_django import Settings

from postledger.notifications.events import retention
from postledger.notifications.fan_out import planner
from postledger.notifications.models import Notification, Topic
from tests.notifications import cast
from tests.notifications.test_fan_out import codes, mails, planned

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_snooze_until_the_end_of_the_calendar_expires_alone(topic: Topic) -> None:
    far = datetime(9999, 12, 31, 23, 59, tzinfo=UTC)
    zone = {"time_zone": "Pacific/Auckland"}
    cast.subscribe(topic, "ann", contact=zone, snooze_until=far, window_from=540, window_until=600)
    cast.subscribe(topic, "bob")

    event = planned(cast.event(topic))

    assert codes(event) == {"Ann": "expired", "Bob": ""}
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
    assert codes(planned(cast.event(topic))) == expected


def test_an_event_goes_on_with_the_template_it_began_with(topic: Topic) -> None:
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

    assert codes(event) == {"Ann": "expired"}
