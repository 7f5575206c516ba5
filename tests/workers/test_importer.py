"""Workers as operators start them import what was uploaded, and one goes on for another."""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from django.conf import settings

from postledger.contacts.models import Contact, Subscription
from postledger.imports import overview, queries, uploads
from postledger.imports.models import FilePart, ImportState
from postledger.lib import work_leases
from postledger.lib.work_leases import Work
from tests.cli import installations
from tests.contacts import people
from tests.imports import files
from tests.workers import brokers
from tests.workers.worker_processes import within

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]

ROWS = 60_000
PATIENCE = 120.0  # seconds; a worker may take long to start on a busy machine


@contextmanager
def worker(log: Path, *, prefix: str) -> Iterator["subprocess.Popen[bytes]"]:
    """`postledger worker`; what is left of it at the end is killed."""
    environment = {
        "DATABASE_URL": installations.database_url(),
        "SECRET_KEY": settings.SECRET_KEY,
        "BROKER_URL": settings.CELERY_BROKER_URL,
        "QUEUE_PREFIX": prefix,
    }
    with log.open("wb") as out:
        process = subprocess.Popen(
            [installations.POSTLEDGER, "worker"],
            env={**os.environ, **environment},
            stdout=out,
            stderr=subprocess.STDOUT,
        )
        try:
            yield process
        finally:
            process.kill()
            process.wait(10)


def upload_file(folder: Path, count: int = ROWS) -> tuple[int, int]:
    acme = people.workspace("acme")
    people.news(acme)
    rows = "\n".join(f"r{n}@example.com,Person {n}" for n in range(count))
    path = files.write_file(folder, f"email,name\n{rows}\n")
    import_id = uploads.store_upload(acme, path, file_name="people.csv", actor="alice")
    return acme, import_id


def _count_done(workspace_id: int, import_id: int) -> int:
    return queries.find_progress(workspace_id, import_id).done


def test_an_import_outlives_its_workers(tmp_path: Path) -> None:
    acme, import_id = upload_file(tmp_path)
    uploads.start_import(acme, import_id, mapping={}, list_key="news", actor="alice")
    stops = []

    with brokers.own_queues() as prefix:
        for number in range(3):
            before = _count_done(acme, import_id)
            with worker(tmp_path / f"log{number}", prefix=prefix) as process:
                assert within(PATIENCE, lambda: _count_done(acme, import_id) > before)  # noqa: B023
                os.kill(process.pid, signal.SIGKILL)
                process.wait(10)
            stops.append(queries.find_progress(acme, import_id).done)
        assert stops[0] < ROWS, "it was done before the kill"
        with worker(tmp_path / "last", prefix=prefix) as process:
            is_done = within(
                PATIENCE,
                lambda: queries.find_progress(acme, import_id).state is ImportState.FINISHED,
            )

    assert is_done, (tmp_path / "last").read_text()
    assert queries.find_progress(acme, import_id).created == ROWS
    addresses = set(Contact.objects.values_list("address", flat=True))
    assert addresses == {f"r{n}@example.com" for n in range(ROWS)}
    assert Subscription.objects.count() == ROWS
    assert not FilePart.objects.exists()


def test_a_worker_that_is_told_to_stop_ends_between_two_chunks(tmp_path: Path) -> None:
    acme, import_id = upload_file(tmp_path, ROWS * 5)
    uploads.start_import(acme, import_id, mapping={}, list_key=None, actor="alice")

    with (
        brokers.own_queues() as prefix,
        worker(tmp_path / "log", prefix=prefix) as process,
    ):
        assert within(PATIENCE, lambda: queries.find_progress(acme, import_id).done > 0)
        is_seen = overview.find_overview(acme, import_id).waiting is None
        process.terminate()
        code = process.wait(60)

    stopped = overview.find_overview(acme, import_id)
    assert (code, is_seen) == (0, True)
    assert stopped.state is ImportState.RUNNING
    assert stopped.waiting
    assert stopped.waiting.on == "a worker"
    assert within(PATIENCE, lambda: not work_leases.held(Work.IMPORT))
