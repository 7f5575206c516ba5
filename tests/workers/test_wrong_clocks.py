"""Scheduled runs, by workers whose clocks are wrong: each goes once, by the database's clock."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pytest_django import Settings

from postledger.accounts import provider_accounts
from postledger.accounts.models import ProviderAccount
from postledger.campaigns.launches import launching
from postledger.campaigns.models import Run
from postledger.contacts.models import Contact
from postledger.deliveries.states import State
from postledger.mailing.send_times import SendTime
from tests import cast
from tests.campaigns import press
from tests.dispatch import office
from tests.journeys import stage
from tests.workers import brokers
from tests.workers.worker_processes import end_process, within, worker
from tools.drill import skew

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]

PEOPLE = 120


def schedule(acme: int, tag: str, at: datetime, *, launched_at: datetime) -> Run:
    """A run that was launched at some moment, and that nobody has planned."""
    made = press.campaign(acme, tag=tag, timing=SendTime(at))
    return Run.objects.get(pk=launching.launch_campaign(acme, made, actor="alice", now=launched_at))


def test_two_beats_and_clocks_ten_minutes_wrong_let_each_schedule_fire_once(
    tmp_path: Path, settings: Settings
) -> None:
    """One time came two hours ago, while nobody worked; the other comes in five minutes, which by
    one of the clocks have passed.
    """
    library = skew.build_library(tmp_path)
    if library is None:
        pytest.skip("there is no C compiler here, which wrong clocks need")
    acme = press.set_up_workspace(settings)
    press.people(acme, PEOPLE)
    journal = tmp_path / "journal"
    provider_accounts.update_account(
        acme,
        account_id=ProviderAccount.objects.get().pk,
        changes={"journal": str(journal)},
        actor="alice",
    )
    now = datetime.now(UTC)
    Contact.objects.update(created_at=now - timedelta(days=1))
    missed = schedule(
        acme, "missed", now - timedelta(hours=2), launched_at=now - timedelta(hours=3)
    )
    coming = schedule(acme, "coming", now + timedelta(minutes=5), launched_at=now)

    usual = {"LD_PRELOAD": str(library), "UNSUBSCRIBE_SECRET": settings.UNSUBSCRIBE_SECRET}
    with (
        brokers.own_queues() as prefix,
        worker(tmp_path / "fast", "--beat", prefix=prefix, SKEW_SECONDS="600", **usual) as fast,
        worker(tmp_path / "slow", "--beat", prefix=prefix, SKEW_SECONDS="-600", **usual) as slow,
    ):
        is_caught_up = within(60, lambda: stage.count(missed.stream_id) == PEOPLE)
        is_planned = within(60, Run.objects.filter(pk=coming.pk).exclude(planned_at=None).exists)
        went_early = within(1, lambda: stage.count(coming.stream_id) > 0)
        cast.bring_forward(coming.stream_id)
        is_sent = within(60, lambda: stage.count(coming.stream_id) == PEOPLE)
        codes = [end_process(process) for process in (fast, slow)]

    assert is_caught_up
    assert is_planned
    assert not went_early
    assert is_sent
    assert codes == [0, 0]
    assert sum(stage.taken(journal).values()) == 2 * PEOPLE
    for run in (missed, coming):
        assert office.counts(run.stream_id) == {State.ACCEPTED: PEOPLE}
