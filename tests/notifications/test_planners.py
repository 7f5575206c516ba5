"""Planners that meet in an event, or are killed inside a chunk, tell everybody exactly once."""

import os
import subprocess
import sys
from collections import Counter
from functools import partial

import pytest
from pytest_django import Settings

from postledger.deliveries import audit
from postledger.notifications.fan_out import planner
from postledger.notifications.models import Event, Notification, Topic
from tests.journeys import stage
from tests.notifications import cast
from tests.races import collide

pytestmark = [pytest.mark.race, pytest.mark.django_db(transaction=True)]

PEOPLE = [f"r{number}" for number in range(40)]
CHUNK = 10
PLAN = f"""
import django; django.setup()
import sys
from postledger.notifications.fan_out import planner
from postledger.notifications.models import Event
event_id = int(sys.argv[1])
# The database may need a moment to notice that the planner before was killed.
while Event.objects.filter(pk=event_id, planned_at=None).exists():
    planner.plan_next_chunk(event_id, size={CHUNK})
"""


def _count_told() -> Counter[tuple[int, str]]:
    """How many notifications there are for each subscription with each code."""
    return Counter(Notification.objects.values_list("subscription_id", "code"))


def _plan_in_chunks(event_id: int) -> None:
    while Event.objects.filter(pk=event_id, planned_at=None).exists():
        planner.plan_next_chunk(event_id, size=CHUNK)


def _check_books() -> int:
    """The number of deliveries; fails where the books are wrong."""
    streams = set(Event.objects.exclude(stream_id=None).values_list("stream_id", flat=True))
    for stream_id in streams:
        assert stream_id is not None
        assert audit.audit(stream_id).discrepancies == []
    return Notification.objects.filter(is_planned=True).count()


def test_five_planners_of_one_event_tell_everybody_once(topic: Topic) -> None:
    subscriptions = cast.subscribe_all(topic, PEOPLE)
    event = cast.event(topic)

    collide.together([partial(_plan_in_chunks, event.pk)] * 5)

    assert _count_told() == Counter((each.pk, "") for each in subscriptions)
    assert _check_books() == len(PEOPLE)


@pytest.mark.slow
@pytest.mark.sample
def test_the_same_thing_published_five_times_at_once_is_told_once(topic: Topic) -> None:
    subscriptions = cast.subscribe_all(topic, PEOPLE)
    events = [cast.event(topic) for _ in range(5)]

    collide.together([partial(_plan_in_chunks, event.pk) for event in events])

    told = _count_told()
    assert all(told[each.pk, ""] == 1 for each in subscriptions)
    assert all(told[each.pk, "duplicate"] == 4 for each in subscriptions)
    assert _check_books() == len(PEOPLE)


def test_an_event_that_another_process_plans_is_left_to_it(
    settings: Settings, topic: Topic
) -> None:
    cast.subscribe(topic, "ann")
    event = cast.event(topic)
    other = cast.event(cast.topic(settings, workspace="globex"))

    with collide.uncommitted(partial(planner.plan_next_chunk, event.pk)):
        beside = collide.start(planner.plan_all)
        assert not beside.comes_to_rest(), "it waits for the other"
        beside.answer()

    assert Notification.objects.count() == 1
    other.refresh_from_db()
    assert other.planned_at is not None


def _planner(event_id: int, **extra: str) -> int:
    environment = {
        **os.environ,
        "DATABASE_URL": stage.database(),
        "DJANGO_SETTINGS_MODULE": "postledger.config.settings",
        "SECRET_KEY": "only-for-tests-" + "x" * 50,
        "UNSUBSCRIBE_SECRET": "only-for-tests, and long enough here",
        **extra,
    }
    command = [sys.executable, "-c", PLAN, str(event_id)]
    return subprocess.run(command, env=environment, check=False).returncode


@pytest.mark.slow
@pytest.mark.sample
def test_a_planner_killed_inside_a_chunk_is_resumed_with_one_notification_each(
    topic: Topic,
) -> None:
    subscriptions = cast.subscribe_all(topic, PEOPLE)
    event = cast.event(topic)

    assert _planner(event.pk, CRASH_AT="in_plan_chunk:2") == -9
    assert Notification.objects.count() == CHUNK, "the second chunk was not committed"
    assert _planner(event.pk) == 0

    assert _count_told() == Counter((each.pk, "") for each in subscriptions)
    assert _check_books() == len(PEOPLE)
    event.refresh_from_db()
    assert event.planned_at is not None
