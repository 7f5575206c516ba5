"""A worker without its broker, and without beat, plans, drains, gives up, folds, makes partitions,
reads quotas, tells alerts and recounts.
"""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from celery import current_app
from django.db import connection
from pytest_django import Settings

from postledger.accounts import provider_accounts, senders
from postledger.accounts.models import AccountQuota
from postledger.alerts.models import Recount
from postledger.campaigns.launches import launching
from postledger.campaigns.models import Run
from postledger.deliveries import ledger, partitions
from postledger.deliveries.reasons import Reason
from postledger.deliveries.states import State
from postledger.lib import ids
from postledger.workers import tasks
from tests import cast
from tests.alerts import house
from tests.campaigns import press
from tests.cli import installations
from tests.dispatch import office
from tests.workers import brokers
from tests.workers.worker_processes import end_process, within, worker

pytestmark = pytest.mark.django_db(transaction=True)

PEOPLE = 20
LAST_MONTH = ids.month_of(datetime.now(UTC)) + partitions.MONTHS_AHEAD


def launched(settings: Settings) -> Run:
    """A run whose audience nobody has planned."""
    acme = press.set_up_workspace(settings)
    press.people(acme, PEOPLE)
    run_id = launching.launch_campaign(acme, press.campaign(acme), actor="alice", now=press.NOW)
    return Run.objects.get(pk=run_id)


def cancel_stream() -> int:
    stream_id = cast.stream(mails=3, workspace="globex")
    ledger.hold(stream_id, reason=Reason.PAUSED, actor="alice")
    ledger.cancel(stream_id, actor="alice")
    return stream_id


def block_sender() -> int:
    """A stream whose sender stayed blocked."""
    stream_id = cast.stream(mails=2, workspace="umbrella")
    cast.block("umbrella")
    cast.let_block_run_out()
    return stream_id


def lose_worker() -> int:
    """A stream whose worker died before it armed anything."""
    stream_id = cast.stream(mails=1, workspace="initech")
    cast.run_out(cast.claim(stream_id).lease)
    return stream_id


def attach_silent_ses() -> None:
    """An account that says its quota, at a place where nobody answers."""
    sender = cast.sender("hooli")
    settings = {
        "region": "us-east-1",
        "access_key_id": "AKIA1",
        "secret_access_key": "hidden-key",
        "endpoint": f"http://127.0.0.1:{installations.free_port()}",
    }
    account_id = provider_accounts.create_account(
        sender.workspace_id, name="ses", kind="ses", settings=settings, actor="test"
    )
    senders.attach_sender(
        sender.workspace_id, sender_id=sender.pk, account_id=account_id, actor="test"
    )


def hold_sender_for_minutes() -> None:
    """A workspace whose members are to be told that its default sender is held."""
    tyrell = house.open_house("tyrell")
    house.end_worker()
    house.add_sender(tyrell, "second@tyrell.example")
    house.break_down("tyrell")
    installations.execute("UPDATE deliveries_senderhold SET since = since - interval '3 minutes'")


def drop_last_month() -> None:
    for table in partitions.TABLES:
        installations.execute(f"DROP TABLE {partitions.partition(table, LAST_MONTH)}")


def count_unfolded() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM deliveries_streamdelta")
        return int(cursor.fetchone()[0])


@pytest.mark.slow
def test_a_worker_without_a_broker_does_all_upkeep_by_itself(
    tmp_path: Path, settings: Settings
) -> None:
    run, unwanted, swept = launched(settings), cancel_stream(), lose_worker()
    blocked = block_sender()
    attach_silent_ses()
    hold_sender_for_minutes()
    drop_last_month()

    with worker(
        tmp_path / "log",
        broker=brokers.dead_url(),
        UNSUBSCRIBE_SECRET=settings.UNSUBSCRIBE_SECRET,
    ) as process:
        is_over = within(90, lambda: Run.objects.get(pk=run.pk).ended_at is not None)
        is_drained = within(30, lambda: not office.waiting(unwanted))
        is_swept = within(30, lambda: not office.is_leased(swept))
        is_given_up = within(60, lambda: not office.waiting(blocked))
        is_folded = within(30, lambda: not count_unfolded())
        is_asked = within(30, AccountQuota.objects.exclude(failed_since=None).exists)
        is_made = within(30, lambda: partitions.exists(LAST_MONTH))
        is_told = within(60, lambda: house.list_told_states() == [State.ACCEPTED])
        is_recounted = within(90, Recount.objects.exists)
        code = end_process(process)

    log = (tmp_path / "log").read_text()
    assert is_over, log
    assert (is_drained, is_swept, is_given_up, is_folded) == (True, True, True, True)
    assert (is_made, is_recounted, is_asked) == (True, True, True)
    assert is_told, house.alerts("tyrell")
    assert "quota_not_read" in log
    assert "hidden-key" not in log
    assert code == 0
    assert office.counts(run.stream_id) == {State.ACCEPTED: PEOPLE}
    assert office.counts(unwanted) == {State.CANCELLED: 3}
    assert office.counts(blocked) == {State.FAILED: 2}
    assert "runs the upkeep by itself" in log


@pytest.mark.slow
def test_with_beat_no_worker_runs_upkeep_unasked(tmp_path: Path) -> None:
    log = tmp_path / "log"

    with brokers.own_queues() as prefix, worker(log, "--beat", prefix=prefix):
        is_unasked = within(25, lambda: b"by itself" in log.read_bytes())

    assert not is_unasked


def test_the_schedule_names_every_task_but_wake_ups() -> None:
    named = {entry["task"] for entry in tasks.SCHEDULE.values()}
    registered = {name for name in current_app.tasks if name.startswith("postledger.")}

    assert named == registered - {tasks.wake.name}
