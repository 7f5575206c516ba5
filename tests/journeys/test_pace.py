"""Campaigns under limits, with two real workers and a real Redis: what goes, what waits, what for,
until when, and that it goes on by itself when the clock has passed that moment.
"""

from collections.abc import Iterator
from datetime import datetime

import pytest
from django.core.management import call_command
from django.test import override_settings
from pytest_django.plugin import DjangoDbBlocker

from tests.journeys import paced_days
from tests.journeys.paced_days import SeenRun, Story
from tools.drill import skew

pytestmark = [pytest.mark.slow, pytest.mark.django_db]

DONE = ("COMPLETED", None, None)


@pytest.fixture(scope="module")
def story(
    django_db_setup: None,
    django_db_blocker: DjangoDbBlocker,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Story]:
    folder = tmp_path_factory.mktemp("pace")
    library = skew.build_library(folder)
    if library is None:
        pytest.skip("there is no C compiler here, which the clock needs")
    with django_db_blocker.unblock():
        try:
            with (
                override_settings(UNSUBSCRIBE_SECRET=paced_days.SECRET),
                paced_days.told(folder, library) as told,
            ):
                yield told
        finally:
            call_command("flush", verbosity=0, interactive=False, reset_sequences=False)


def waits_for(run: SeenRun) -> tuple[str, str | None, datetime | None]:
    return run.status, run.defer_reason, run.deferred_until


def shared(runs: dict[str, SeenRun]) -> list[SeenRun]:
    return [run for name, run in runs.items() if name.startswith("shared")]


def test_150_recipients_at_100_an_hour_get_100_mails_and_50_in_the_next_hour(story: Story) -> None:
    first, later = story.at_first["hourly"], story.an_hour_later["hourly"]

    assert (first.accepted, first.waiting) == (100, 50)
    assert waits_for(first) == ("PENDING", "rate_per_hour", story.clock.next_hour)
    assert len(story.taken_at_first["hourly"]) == 100
    assert (later.accepted, later.waiting) == (150, 0)
    assert waits_for(later) == DONE


def test_a_daily_limit_of_100_ends_at_nine_on_the_next_day(story: Story) -> None:
    morning = story.next_morning["daily"]

    for seen in (story.at_first, story.an_hour_later, story.at_the_opening):
        assert (seen["daily"].accepted, seen["daily"].waiting) == (100, 30)
        assert waits_for(seen["daily"]) == ("PENDING", "daily_limit", story.clock.next_morning)
    assert len(story.taken_at_first["daily"]) == 100
    assert (morning.accepted, morning.waiting) == (130, 0)
    assert waits_for(morning) == DONE


def test_without_a_quota_nothing_goes_until_a_reading_shows_some(story: Story) -> None:
    first, morning = story.at_first["quota"], story.next_morning["quota"]

    assert (first.accepted, first.waiting) == (0, 20)
    assert (first.status, first.defer_reason) == ("PENDING", "quota_exhausted")
    assert not story.taken_at_first["quota"]
    assert (morning.accepted, morning.waiting) == (20, 0)
    assert waits_for(morning) == DONE


def test_outside_its_hours_a_sender_waits_for_the_opening(story: Story) -> None:
    opening = story.at_the_opening["hours"]

    for seen in (story.at_first, story.an_hour_later):
        assert (seen["hours"].accepted, seen["hours"].waiting) == (0, 20)
        assert waits_for(seen["hours"]) == ("PENDING", "outside_hours", story.clock.opening)
    assert (opening.accepted, opening.waiting) == (20, 0)


def test_two_workers_never_exceed_a_limit_together_and_send_each_mail_once(story: Story) -> None:
    """Both were at work; four runs of one sender share its limit."""
    taken = [dict(owner.taken) for owner in story.publishers.values()]

    for seen, sent in ((story.at_first, 100), (story.an_hour_later, 200)):
        runs = shared(dict(seen))
        assert sum(run.accepted for run in runs) == sent
        assert sum(run.waiting for run in runs) == 400 - sent
    assert sum(story.taken_at_first["shared"].values()) == 100
    assert story.discrepancies == []
    hand_overs = sum(count for each in taken for count in each.values())
    assert hand_overs == sum(run.accepted for run in story.at_last.values())


def test_the_poll_shows_what_is_sent_what_waits_and_what_for(story: Story) -> None:
    polled, clock = story.polled, story.clock
    active = polled["active_campaign"]

    assert (active["campaign_tag"], active["run_id"]) == ("active", str(story.runs["active"]))
    assert active["planned"] == 300 == active["sent"] + active["failed"] + active["waiting"]
    assert polled["queued_count"] == 2
    assert polled["reason_code"] == "rate_per_hour"
    assert datetime.fromisoformat(polled["next_run_at"]) == clock.next_hour
    assert datetime.fromisoformat(polled["next_campaign_at"]) == clock.next_hour
    scheduled = waits_for(story.at_first["scheduled"])
    assert scheduled == ("PENDING", "scheduled", clock.next_morning)


def test_a_run_with_failures_is_completed_and_its_books_balance(story: Story) -> None:
    failing = story.at_first["failing"]

    assert waits_for(failing) == DONE
    assert (failing.accepted, failing.failed, failing.waiting) == (9, 3, 0)
    assert story.discrepancies == []
