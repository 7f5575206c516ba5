"""Workers as operators start them: processes of their own, at a real broker and database."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from postledger.deliveries import ledger
from postledger.deliveries.entries import StreamKind
from postledger.deliveries.reasons import Reason
from postledger.deliveries.states import State
from postledger.dispatch.models import Worker
from postledger.workers import tasks
from tests import cast, children
from tests.cli import installations
from tests.dispatch import office
from tests.workers import brokers
from tests.workers.worker_processes import child, end_process, within, worker

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.slow
def test_a_worker_answers_bells_also_after_its_line_was_cut_and_ends_when_it_is_told_to(
    tmp_path: Path,
) -> None:
    acme = office.open_office(tmp_path)
    stream = office.stream(acme, kind=StreamKind.TRANSACTIONAL)
    log = tmp_path / "log"

    with (
        brokers.own_queues() as prefix,
        brokers.line() as line,
        worker(log, prefix=prefix, broker=line.url) as process,
    ):
        app = brokers.celery_app(prefix)
        assert within(120, lambda: b" ready." in log.read_bytes())

        def ring(number: int) -> bool:
            time.sleep(0.5)  # the look that follows work is over
            office.enqueue(stream, [f"r{number}@example.com"])
            app.send_task("postledger.wake", args=[stream], retry=False)
            return within(4, lambda: not office.waiting(stream))

        # Without beat the loop looks every five seconds, and last after the mail before: that it
        # finds all of them in time by itself is impossible.
        rung = [ring(number) for number in range(3)]
        line.cut()
        assert within(120, lambda: log.read_bytes().count(b"Connected to") == 2)
        rung += [ring(number) for number in (3, 4)]
        code = end_process(process)
        app.close()

    assert rung == [True] * 5
    assert code == 0
    assert office.counts(stream) == {State.ACCEPTED: 5}
    assert not Worker.objects.exists()


@pytest.mark.slow
def test_with_beat_what_comes_due_goes_and_lost_leases_come_back(tmp_path: Path) -> None:
    acme = office.open_office(tmp_path, settings={"retry_after": 0.1})
    later = office.stream(acme, ["later@example.com"])
    lost = office.stream(acme, office.people(3))
    taken, _ = cast.armed(lost, size=2)
    cancelled = office.stream(acme, office.people(3))
    ledger.hold(cancelled, reason=Reason.PAUSED, actor="alice")
    ledger.cancel(cancelled, actor="alice")

    with (
        brokers.own_queues() as prefix,
        worker(tmp_path / "log", "--beat", prefix=prefix) as process,
    ):
        cast.run_out(taken.lease)
        is_done = within(60, lambda: not office.waiting(later, lost, cancelled))
        code = end_process(process)

    assert is_done
    assert code == 0
    assert office.counts(later) == {State.FAILED: 1}  # after its second attempt
    assert office.counts(lost) == {State.IN_DOUBT: 2, State.ACCEPTED: 1}
    assert office.counts(cancelled) == {State.CANCELLED: 3}


@pytest.mark.slow
@pytest.mark.sample
def test_a_worker_that_is_told_to_stop_finishes_its_calls_and_doubts_nothing(
    tmp_path: Path,
) -> None:
    acme = office.open_office(tmp_path, settings={"slow": 2, "window_size": 5})
    slow = office.stream(acme, ["slow@example.com", "slow+1@example.com"])
    bulk = office.stream(acme, office.people(2000))

    with (
        brokers.own_queues() as prefix,
        # Twenty times what a slow call takes.
        worker(tmp_path / "log", prefix=prefix, STOP_SECONDS="40") as process,
    ):
        office.until(lambda: office.is_leased(slow) and len(acme.taken()) > 10)
        code = end_process(process)

    assert code == 0
    assert office.counts(slow) == {State.ACCEPTED: 2}
    assert State.IN_DOUBT not in office.counts(bulk)
    assert len(acme.taken_from(bulk)) == office.counts(bulk)[State.ACCEPTED]
    assert not office.is_leased(bulk)


# A worker in whose dispatcher is a bug that nobody caught.
_BROKEN = """
from postledger.config.celery import app
from postledger.dispatch import dispatcher
from postledger.workers import dispatcher_step

class Broken(dispatcher.Dispatcher):
    async def run(self):
        raise RuntimeError("nobody caught this")

dispatcher_step.Dispatcher = Broken
app.worker_main(["worker", "--without-mingle", "--without-gossip"])
"""


@pytest.mark.slow
def test_a_worker_whose_dispatcher_breaks_down_ends_with_a_failure() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _BROKEN],
        env={
            **os.environ,
            "DATABASE_URL": installations.database_url(),
            "BROKER_URL": brokers.dead_url(),
            "DEBUG": "true",
        },
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert "the dispatcher broke down" in done.stdout + done.stderr
    assert done.returncode == 1


@pytest.mark.slow
@pytest.mark.sample
def test_a_worker_that_is_killed_leaves_doubt_for_what_was_handed_over_and_nothing_else(
    tmp_path: Path,
) -> None:
    acme = office.open_office(tmp_path, settings={"slow": 0.1, "hang": 600, "window_size": 4})
    stream = office.stream(acme, [*office.people(3), "hang@example.com", *office.people(6)])

    log = tmp_path / "log"
    with brokers.own_queues() as prefix, worker(log, "--beat", prefix=prefix) as process:
        assert within(120, lambda: b" ready." in log.read_bytes())
        office.until(lambda: office.waiting(stream) == 7)
        under = child(process)
        family = [under, *children.pids(under)]
        end_process(process, signal.SIGKILL)
        is_gone = within(30, lambda: not any(map(children.is_running, family)))

    assert is_gone
    [lease] = set(office.leases(stream))
    cast.run_out(lease)
    ledger.sweep()
    office.send_all(stream)
    assert office.counts(stream) == {State.ACCEPTED: 9, State.IN_DOUBT: 1}
    assert office.states(stream)["hang@example.com"] is State.IN_DOUBT
    assert office.sent_once(acme, stream)


def test_one_sweep_takes_all_lost_leases_away() -> None:
    stream = cast.stream(StreamKind.TRANSACTIONAL, mails=250)
    taken = cast.claim(stream, limit=250)
    cast.run_out(taken.lease)

    tasks.sweep()

    assert not office.is_leased(stream)
    assert office.counts(stream) == {State.WAITING: 250}
