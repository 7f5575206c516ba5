"""A worker on a database without its tables says so, waits, and starts once they are there."""

import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from tests import children
from tests.cli import installations
from tests.cli.installations import DEAD
from tests.journeys import rig
from tests.workers import brokers
from tests.workers.worker_processes import started

pytestmark = [pytest.mark.slow, pytest.mark.server]

PATIENCE = 600.0


@contextmanager
def worker_at(url: str, folder: Path) -> Iterator[tuple["subprocess.Popen[bytes]", Path]]:
    """A worker, and the file with its log."""
    log, state = folder / "log", str(folder / "state")
    with (
        brokers.own_queues() as prefix,
        started(log, DATABASE_URL=url, QUEUE_PREFIX=prefix, STATE_FOLDER=state) as process,
    ):
        yield process, log


def test_a_worker_waits_for_its_tables_and_then_starts(tmp_path: Path) -> None:
    with installations.fresh_database() as name:
        url = installations.database_url(name)
        with worker_at(url, tmp_path) as (process, log):
            rig.until(lambda: b"run postledger setup" in log.read_bytes(), seconds=PATIENCE)
            waiting = children.pids(process.pid)
            assert installations.run("setup", DATABASE_URL=url).returncode == 0
            rig.until(lambda: _has_worker(url), seconds=PATIENCE)
            assert children.pids(process.pid) == waiting

        text = log.read_text()
        assert "the worker waits: its database lacks tables of this version" in text
        assert text.count("the worker waits") == 1
        assert "Traceback" not in text


def _has_worker(url: str) -> bool:
    with psycopg.connect(url) as connection:
        row = connection.execute("SELECT count(*) FROM dispatch_worker").fetchone()
    return row is not None and row[0] == 1


def test_a_worker_that_waits_ends_at_once_when_it_is_told_to(tmp_path: Path) -> None:
    with worker_at(f"postgresql://postgres@{DEAD}/postledger", tmp_path) as (process, log):
        rig.until(
            lambda: b"the worker waits: the database does not answer" in log.read_bytes(),
            seconds=PATIENCE,
        )
        process.send_signal(signal.SIGTERM)

        assert process.wait(PATIENCE) == 0
