"""Workers as operators start them import what was uploaded, and one goes on for another."""

import signal
from pathlib import Path

import pytest

from postledger.contacts.models import Contact, Subscription
from postledger.imports import overview, queries, uploads
from postledger.imports.models import FilePart, ImportState
from postledger.lib import work_leases
from postledger.lib.work_leases import Work
from tests.contacts import people
from tests.imports import files
from tests.workers import brokers
from tests.workers.worker_processes import end_process, started, within

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]

ROWS = 150_000
PATIENCE = 120.0  # seconds; a worker may take long to start on a busy machine


def test_an_import_outlives_workers_that_are_killed_and_waits_for_one_after_another(
    tmp_path: Path,
) -> None:
    acme = people.workspace("acme")
    people.news(acme)
    rows = "\n".join(f"r{n}@example.com,Person {n}" for n in range(ROWS))
    path = files.write_file(tmp_path, f"email,name\n{rows}\n")
    import_id = uploads.store_upload(acme, path, file_name="people.csv", actor="alice")
    uploads.start_import(acme, import_id, mapping={}, list_key="news", actor="alice")

    def done() -> int:
        return queries.find_progress(acme, import_id).done

    with brokers.own_queues() as prefix:
        with started(tmp_path / "stopped", QUEUE_PREFIX=prefix) as process:
            assert within(PATIENCE, lambda: done() > 0)
            is_seen = overview.find_overview(acme, import_id).waiting is None
            code = end_process(process)  # it ends between two chunks
        waiting, before = overview.find_overview(acme, import_id), done()
        is_free = within(PATIENCE, lambda: not work_leases.held(Work.IMPORT))
        with started(tmp_path / "killed", QUEUE_PREFIX=prefix) as process:
            assert within(PATIENCE, lambda: done() > before)
            end_process(process, signal.SIGKILL)
        assert done() < ROWS, "it was done before the kill"
        with started(tmp_path / "last", QUEUE_PREFIX=prefix):
            is_done = within(
                PATIENCE,
                lambda: queries.find_progress(acme, import_id).state is ImportState.FINISHED,
            )

    assert (code, is_seen, is_free) == (0, True, True)
    assert waiting.state is ImportState.RUNNING
    assert waiting.waiting
    assert waiting.waiting.on == "a worker"
    assert is_done, (tmp_path / "last").read_text()
    assert queries.find_progress(acme, import_id).created == ROWS
    addresses = set(Contact.objects.values_list("address", flat=True))
    assert addresses == {f"r{n}@example.com" for n in range(ROWS)}
    assert Subscription.objects.count() == ROWS
    assert not FilePart.objects.exists()
