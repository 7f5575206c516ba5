"""A run whose worker is killed while it reads Supabase waits, and goes to everybody once."""

import os
import signal
import subprocess
import threading
from pathlib import Path

import pytest
from django.conf import settings as django_settings
from pytest_django import Settings

from postledger.campaigns.models import Run
from postledger.deliveries.states import State
from postledger.supabase.models import Sync
from tests import work_leases
from tests.campaigns import press
from tests.dispatch import office
from tests.fakes.postgrest import FakePostgrest, Seen
from tests.workers import brokers
from tests.workers.worker_processes import child, worker

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]

PEOPLE = 60
LEFT = PEOPLE // 10
PATIENCE = 600.0


@pytest.fixture
def acme(transactional_db: None, settings: Settings) -> int:
    return press.set_up_workspace(settings)


def test_a_worker_that_is_killed_in_the_pass_leaves_the_run_waiting_and_the_next_one_sends_it(
    acme: int, fake: FakePostgrest, tmp_path: Path
) -> None:
    fake.max_rows = 10
    fake.add_many(PEOPLE)
    run_id = press.launch(acme, press.campaign(acme))
    secret = {"UNSUBSCRIBE_SECRET": django_settings.UNSUBSCRIBE_SECRET}

    is_started, started = threading.Event(), list[subprocess.Popen[bytes]]()

    def kill(_seen: Seen) -> None:
        is_started.wait(PATIENCE)
        if len(fake.list_requests("GET")) == 3:
            os.kill(child(started[0]), signal.SIGKILL)
            started[0].kill()

    fake.before_answer = kill
    with (
        brokers.own_queues() as prefix,
        worker(tmp_path / "first", "--beat", prefix=prefix, **secret) as process,
    ):
        started.append(process)
        is_started.set()
        assert process.wait(PATIENCE) == -signal.SIGKILL
    fake.before_answer = lambda _: None
    killed, read = Run.objects.get(pk=run_id), Sync.objects.get()
    work_leases.run_out()
    with (
        brokers.own_queues() as prefix,
        worker(tmp_path / "second", "--beat", prefix=prefix, **secret),
    ):
        office.until(lambda: Run.objects.get(pk=run_id).ended_at is not None, patience=PATIENCE)

    run = Run.objects.get(pk=run_id)
    assert (read.read_count, read.complete_pass) == (20, 0)
    assert (killed.planned_at, killed.awaited_pass) == (None, 1)
    assert run.ended_as == "sent"
    assert len(set(press.addresses(run))) == PEOPLE - LEFT
    assert office.counts(run.stream_id) == {State.ACCEPTED: PEOPLE - LEFT}
