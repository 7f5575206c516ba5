"""The rest of a run is of those whom it meant, and of two rests each person is in one."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection

from postledger.campaigns.models import Run
from postledger.campaigns.planning import planning
from postledger.campaigns.runs import run_control
from postledger.contacts.filters import parsing
from postledger.deliveries import partitions
from postledger.deliveries.states import State
from tests import cast, epochs
from tests.campaigns import press
from tests.contacts import people

pytestmark = pytest.mark.django_db


def test_two_rests_are_one_after_the_other_whatever_the_months_of_their_streams(
    acme: int,
) -> None:
    """When the database's clock is set back, the later one may be of the earlier month."""
    press.people(acme, 3)
    run = press.launched(acme, press.campaign(acme))
    press.cancel(run)

    first = press.launch_rest(acme, run.pk)
    press.put_into_month(first, partitions.this_month() + 1)
    second = press.launch_rest(acme, run.pk)
    for _ in range(2):
        planning.plan_all()

    rests = [Run.objects.get(pk=run_id) for run_id in (first, second)]
    assert rests[0].stream_id > rests[1].stream_id
    assert [len(press.addresses(rest)) for rest in rests] == [3, 0]


def test_who_became_a_contact_after_the_run_is_not_of_its_rest(acme: int) -> None:
    press.people(acme, 2)
    run = press.launched(acme, press.campaign(acme))
    press.cancel(run)
    people.contact(acme, "new@example.com")

    rest = press.rest(run)
    press.cancel(rest)
    another = press.rest(rest)

    assert press.addresses(rest) == press.addresses(another) == press.addresses(run)


def test_the_days_that_a_filter_counts_are_those_of_the_run(acme: int) -> None:
    press.people(acme, 2)
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE contacts_contact SET created_at = %s WHERE address = 'r1@example.com'",
            [press.NOW - timedelta(days=8)],
        )
    week = {"field": "created_at", "within_days": 7}
    audiences: list[dict[str, object]] = [
        week,
        {"all": [week, {"not": {"state": "TX"}}]},
        {"any": [{"not": {"not": week}}, {"state": "OH"}]},
    ]
    for number, audience in enumerate(audiences):
        run = press.launched(acme, press.campaign(acme, tag=f"news-{number}", audience=audience))
        press.cancel(run)
        rest = press.rest(run, now=press.NOW + timedelta(days=10))
        assert press.addresses(run) == press.addresses(rest) == ["R0@example.com"], audience


def test_days_that_reach_back_before_all_contacts_are_those_of_the_run_as_well(acme: int) -> None:
    press.people(acme, 1)
    everybody = {"field": "created_at", "within_days": parsing.MOST_DAYS}
    run = press.launched(acme, press.campaign(acme, audience=everybody))
    press.cancel(run)

    rest = press.rest(run)

    assert press.addresses(rest) == ["R0@example.com"]


def test_whose_snooze_has_ended_since_the_run_is_of_its_rest(acme: int) -> None:
    people.news(acme)
    now = datetime.now(UTC)
    people.snooze(acme, people.member(acme, "alice@example.com"), now + timedelta(hours=1))
    run = press.launched(acme, press.campaign(acme, list_key="news"))
    press.cancel(run)

    rest = press.rest(run, now=now + timedelta(hours=2))

    assert run.excluded == {"snoozed": 1}
    assert press.addresses(rest) == ["alice@example.com"]


@pytest.fixture
def _own_epoch() -> Iterator[None]:
    yield from epochs.kept()


@pytest.mark.usefixtures("_own_epoch")
def test_the_rest_of_a_run_that_a_restore_interrupted_starts_in_doubt(acme: int) -> None:
    """The lost time may have planned and sent the run to everybody."""
    press.people(acme, 5)
    run_id = press.launch(acme, press.campaign(acme))
    epochs.fall()
    run_control.cancel_run(acme, run_id, actor="alice")
    epochs.lift()
    planning.plan_run(run_id)

    rest = press.planned(press.launch_rest(acme, run_id))

    assert list(cast.states(rest.stream_id).values()) == [State.IN_DOUBT] * 5


@pytest.mark.usefixtures("_own_epoch")
def test_the_rest_of_a_run_that_was_planned_before_the_restore_goes_on(acme: int) -> None:
    press.people(acme, 5)
    run = press.launched(acme, press.campaign(acme))
    press.cancel(run)
    epochs.fall()
    epochs.lift()

    rest = press.rest(run)

    assert list(cast.states(rest.stream_id).values()) == [State.WAITING] * 5
