"""Whom a run leaves out is listed, as it was when the run was planned."""

import json
from collections import Counter

import pytest
from django.db import OperationalError, connection
from pytest_django import Settings

from postledger.campaigns.models import ExcludedContact, Run
from postledger.campaigns.planning import exclusions, planning
from postledger.campaigns.runs.run_lookup import CampaignUnknownError
from postledger.deliveries import entries, partitions
from postledger.lib import ids
from postledger.privacy import erasure, export, retention
from tests import cast
from tests.campaigns import press
from tests.contacts import people
from tests.races import collide

pytestmark = pytest.mark.django_db


def set_state(state: str, *numbers: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE contacts_contact SET state = %s WHERE lower(address) = ANY(%s)",
            [state, [f"r{number}@example.com" for number in numbers]],
        )


def run_without(acme: int, count: int, **states: tuple[int, ...]) -> Run:
    """A run to some readers, of whom those with these numbers must not be mailed."""
    press.people(acme, count)
    for state, numbers in states.items():
        set_state(state, *numbers)
    return press.launched(acme, press.campaign(acme))


def listed(acme: int, run: Run, **query: object) -> list[tuple[str | None, str]]:
    page = exclusions.list_exclusions(acme, run.pk, **query)  # type: ignore[arg-type]
    return [(each.address, each.reason) for each in page]


def test_who_is_left_out_is_listed_with_a_reason_that_stays_when_they_come_back_or_are_deleted(
    acme: int,
) -> None:
    run = run_without(acme, 4, unsubscribed=(1,), bounced=(2,))

    r1, r2 = ("r1@example.com", "unsubscribed"), ("r2@example.com", "bounced")
    assert sorted(listed(acme, run)) == [r1, r2]
    assert listed(acme, run, reason="bounced") == [r2]
    assert run.excluded == {"unsubscribed": 1, "bounced": 1}
    set_state("active", 1)
    assert listed(acme, run, reason="unsubscribed") == [r1]
    people.delete(acme, ExcludedContact.objects.get(reason="unsubscribed").contact_id)
    assert listed(acme, run, reason="unsubscribed") == [(None, "unsubscribed")]


def test_the_list_has_as_many_as_are_counted_however_the_run_is_planned(acme: int) -> None:
    press.people(acme, 30)
    set_state("unsubscribed", *range(0, 30, 2))
    run_id = press.launch(acme, press.campaign(acme))
    while planning.plan_next_chunk(run_id, size=7):
        pass
    run = Run.objects.get(pk=run_id)

    pages, after = [], 0
    while page := exclusions.list_exclusions(acme, run_id, after=after, limit=4):
        pages += page
        after = page[-1].contact_id

    assert Counter(each.reason for each in pages) == run.excluded == {"unsubscribed": 15}
    assert len({each.contact_id for each in pages}) == 15


def test_an_erased_person_is_exported_before_and_listed_no_more(acme: int) -> None:
    run = run_without(acme, 2, unsubscribed=(1,))
    before = json.loads(export.export(acme, address="r1@example.com", now=press.NOW))

    erasure.erase(acme, address="r1@example.com", actor="alice", now=press.NOW)

    assert before["exclusions"] == [{"run_id": str(run.pk), "reason": "unsubscribed"}]
    assert listed(acme, run) == []
    assert Run.objects.get(pk=run.pk).excluded == {"unsubscribed": 1}


def old_run(acme: int) -> Run:
    """A run of a month that is long over, which left one reader out."""
    month = partitions.this_month() - 6
    partitions.create(month)
    press.people(acme, 2)
    set_state("unsubscribed", 1)
    run_id = press.launch(acme, press.campaign(acme))
    press.put_into_month(run_id, month)
    run = press.planned(run_id)
    cast.book(run.stream_id, lambda at: entries.accepted(at, message_id="m"))
    return run


def test_the_list_goes_with_the_mail_of_its_run(acme: int) -> None:
    run = old_run(acme)
    exclusions.forget_month(ids.month_of_stream(run.stream_id) - 1)
    assert len(listed(acme, run)) == 1

    assert [due.obstacle for due in retention.drop_due(months=3)] == [""]

    assert listed(acme, run) == []


@pytest.mark.django_db(transaction=True)
def test_no_month_is_dropped_whose_list_stays(acme: int) -> None:
    run = old_run(acme)
    month = ids.month_of_stream(run.stream_id)
    list_of_run = ExcludedContact.objects.select_for_update().filter(run_id=run.pk)

    with collide.uncommitted(lambda: list(list_of_run)), connection.cursor() as cursor:
        cursor.execute("SET lock_timeout = '100ms'")
        with pytest.raises(OperationalError):
            list(retention.drop_due(months=3))
        cursor.execute("RESET lock_timeout")

    assert partitions.exists(month)
    assert [due.obstacle for due in retention.drop_due(months=3)] == [""]


def test_another_workspace_is_told_of_no_run(acme: int, settings: Settings) -> None:
    run = run_without(acme, 2, unsubscribed=(1,))
    globex = press.set_up_workspace(settings, "globex")

    with pytest.raises(CampaignUnknownError):
        exclusions.list_exclusions(globex, run.pk)
