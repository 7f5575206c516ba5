"""A sync that is killed again and again takes and writes every subscriber, and none twice."""

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest
from pytest_django import Settings

from postledger.contacts.models import ConsentEvent, Contact
from postledger.contacts.supabase import syncing
from tests import locks
from tests.contacts import people
from tests.fakes import postgrest
from tests.fakes.postgrest import FakePostgrest, Seen
from tests.journeys import stage

pytestmark = pytest.mark.django_db(transaction=True)

SYNC = """
import django; django.setup()
from postledger.contacts.supabase import syncing
syncing.sync_all()
"""
PEOPLE = 60
LEFT = [f"S{number}@example.com" for number in range(1, PEOPLE, 6)]


@pytest.fixture
def fake(transactional_db: None, settings: Settings) -> Iterator[FakePostgrest]:
    with postgrest.running(stage.database()) as running:
        settings.SUPABASE_URL, settings.SUPABASE_SERVICE_ROLE_KEY = running.url, running.key
        yield running


def start(fake: FakePostgrest) -> subprocess.Popen[bytes]:
    environment = {
        **os.environ,
        "DATABASE_URL": stage.database(),
        "DJANGO_SETTINGS_MODULE": "postledger.config.settings",
        "SECRET_KEY": "only-for-tests-" + "x" * 50,
        "SUPABASE_URL": fake.url,
        "SUPABASE_SERVICE_ROLE_KEY": fake.key,
    }
    return subprocess.Popen([sys.executable, "-c", SYNC], env=environment)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["GET", "PATCH"])
def test_a_killed_sync_is_gone_on_with_exactly(fake: FakePostgrest, method: str) -> None:
    acme = people.workspace()
    fake.max_rows = 10
    fake.add_many(PEOPLE)
    for address in LEFT:
        people.contact(acme, address)
        people.leave(acme, address)
    for _ in range(3):
        asked = len(fake.asked(method))
        process = start(fake)

        def kill(
            seen: Seen, asked: int = asked, process: subprocess.Popen[bytes] = process
        ) -> None:
            if len(fake.asked(method)) == asked + 3:
                process.kill()
                process.wait()

        fake.before_answer = kill
        assert process.wait(timeout=60) == -9
        locks.wait_until_free()
    fake.before_answer = lambda _: None

    done = syncing.sync_all()

    born = ConsentEvent.objects.filter(action="imported", before=None)
    assert Contact.objects.filter(workspace_id=acme).count() == PEOPLE
    assert done.read_count == PEOPLE
    assert born.count() == done.created_count == PEOPLE - len(LEFT)
    assert {fake.row(address)["status"] for address in LEFT} == {"unsubscribed"}
    assert Contact.objects.filter(state="unsubscribed").count() == len(LEFT) + PEOPLE // 10
