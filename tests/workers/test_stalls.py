"""A worker outlives a database that stands still, and one that hangs is replaced."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from postledger.deliveries.states import State
from postledger.dispatch.models import Worker
from tests import children
from tests.cli import installations
from tests.dispatch import office
from tests.workers import brokers
from tests.workers.worker_processes import child, end_process, within, worker

pytestmark = pytest.mark.django_db(transaction=True)

# Long for a loop that beats every second, also on a machine that has too much to do.
MOST_SILENCE = 8.0


@contextmanager
def locked_batches() -> Iterator[None]:
    """Every statement about batches waits, as it does for a disk that hangs or for DDL."""
    with psycopg.connect(installations.database_url()) as connection:
        connection.execute("LOCK TABLE deliveries_batch IN ACCESS EXCLUSIVE MODE")
        yield


@pytest.mark.slow
def test_a_worker_outlives_a_database_that_stands_still_and_books_what_it_knows(
    tmp_path: Path,
) -> None:
    acme = office.open_office(tmp_path, settings={"slow": 1})
    stream = office.stream(acme, [f"slow+{number}@example.com" for number in range(100)])

    with (
        brokers.own_queues() as prefix,
        worker(
            tmp_path / "log", "--beat", f"--most-silence={MOST_SILENCE}", prefix=prefix
        ) as process,
    ):
        office.until(lambda: bool(acme.taken()))
        before = child(process)
        with locked_batches():
            time.sleep(1.5 * MOST_SILENCE)
            taken_count = len(acme.taken())
        is_done = within(60, lambda: not office.waiting(stream))
        after = child(process)
        code = end_process(process)

    assert taken_count > 0
    assert is_done
    assert after == before
    assert code == 0
    assert office.counts(stream) == {State.ACCEPTED: 100}
    assert office.sent_once(acme, stream)


@pytest.mark.slow
def test_a_worker_that_hangs_is_replaced_by_one_that_works(tmp_path: Path) -> None:
    acme = office.open_office(tmp_path)

    with worker(
        tmp_path / "log", "--beat", f"--most-silence={MOST_SILENCE}", broker=brokers.dead_url()
    ) as process:
        hanging = child(process)
        os.kill(hanging, signal.SIGSTOP)
        stream = office.stream(acme, office.people(3))
        is_done = within(60, lambda: not office.waiting(stream))
        second = child(process)
        code = end_process(process)

    assert is_done
    assert second != hanging
    assert not children.is_running(hanging)
    assert code == 0
    assert {worker.name.rpartition(":")[2] for worker in Worker.objects.all()} == {str(hanging)}
