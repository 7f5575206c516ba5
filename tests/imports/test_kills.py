"""An import that is killed at any moment, and resumed, makes exactly the contacts of its file."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from django.db import connection

from postledger.contacts.models import ConsentEvent, Contact, Subscription
from postledger.imports import queries, running
from postledger.imports.models import ImportState
from tests.contacts import people
from tests.imports import files

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]

ROWS = 120_000
KILLS = 10


def environment() -> dict[str, str]:
    """That of a process which works with the database of the tests."""
    database = connection.settings_dict
    address = f"{database['HOST']}:{database['PORT'] or 5432}/{database['NAME']}"
    return {
        **os.environ,
        "DATABASE_URL": f"postgresql://{database['USER']}@{address}",
        "SECRET_KEY": "only-for-tests-" + "x" * 50,
    }


def _resume(path: Path, import_id: int, workspace: str) -> subprocess.Popen[bytes]:
    command = "from postledger.config.main import main; main()"
    words = ["contacts", "resume", str(import_id), str(path), workspace]
    return subprocess.Popen(
        [sys.executable, "-c", command, *words],
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )


def _content() -> str:
    """Some rows are wrong and some come twice, so that every counter is at stake."""
    rows = [
        "nobody,"
        if n % 1000 == 7
        else f"R{n - n % 500}@Example.com,late"
        if n % 1000 == 501
        else f"r{n}@example.com,Person {n}"
        for n in range(ROWS)
    ]
    return "email,name\n" + "\n".join(rows) + "\n"


def test_an_import_survives_ten_kills(tmp_path: Path) -> None:
    acme = people.workspace("acme")
    people.news(acme)
    path = files.write_file(tmp_path, _content())
    import_id = running.start_import(acme, path, mapping={}, list_key="news", actor="alice").id
    chance = random.Random()

    for kill in range(KILLS):
        before = queries.find_progress(acme, import_id).done
        running_on = _resume(path, import_id, "acme")
        _wait_until(running_on, _is_asking)
        if kill % 2:  # every other one falls behind a chunk that landed, however slow the machine
            _wait_until(running_on, partial(_has_landed, acme, import_id, before))
        time.sleep(chance.uniform(0, 0.3))
        os.kill(running_on.pid, signal.SIGKILL)
        running_on.communicate()
    _, errors = _resume(path, import_id, "acme").communicate(timeout=600)

    done = queries.find_progress(acme, import_id)
    expected = {f"r{n}@example.com" for n in range(ROWS) if n % 1000 not in {7, 501}}
    assert done.state is ImportState.FINISHED, errors.decode()
    assert set(Contact.objects.values_list("address", flat=True)) == expected
    assert Contact.objects.count() == Subscription.objects.count() == len(expected)
    assert ConsentEvent.objects.count() == len(expected)
    assert not Contact.objects.filter(name="late").exists()
    assert (done.created, done.duplicates, done.refused) == (
        len(expected),
        ROWS // 1000,
        ROWS // 1000,
    )
    assert len(list(queries.read_problems(acme, import_id))) == 2 * ROWS // 1000


def _is_asking() -> bool:
    """It has asked the database something, which is when a kill starts to hurt."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            " AND query ~ 'contacts_(staged|import)'"
        )
        return bool(cursor.fetchone() != (0,))


def _has_landed(workspace: int, import_id: int, before: int) -> bool:
    return queries.find_progress(workspace, import_id).done > before


def _wait_until(process: subprocess.Popen[bytes], reached: Callable[[], bool]) -> None:
    until = time.monotonic() + 600
    while not reached() and process.poll() is None:
        assert time.monotonic() < until, "the import did not move within ten minutes"
        time.sleep(0.01)
