"""A sync that is killed again and again takes and writes every subscriber, and none twice."""

import os
import subprocess
import sys

import pytest

from postledger.contacts.models import ConsentEvent, Contact
from postledger.supabase import syncing
from tests import work_leases
from tests.contacts import people
from tests.fakes.postgrest import FakePostgrest, Seen
from tests.journeys import stage

pytestmark = pytest.mark.django_db(transaction=True)

SYNC = """
import django; django.setup()
from postledger.supabase import syncing
syncing.sync_all()
"""
PEOPLE = 60
LEFT = [f"S{number}@example.com" for number in range(1, PEOPLE, 6)]


def start() -> subprocess.Popen[bytes]:
    environment = {
        **os.environ,
        "DATABASE_URL": stage.database(),
        "DJANGO_SETTINGS_MODULE": "postledger.config.settings",
        "SECRET_KEY": "only-for-tests-" + "x" * 50,
    }
    return subprocess.Popen([sys.executable, "-c", SYNC], env=environment)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["GET", "PATCH"])
def test_a_killed_sync_is_gone_on_with_exactly(acme: int, fake: FakePostgrest, method: str) -> None:
    fake.max_rows = 10
    fake.add_many(PEOPLE)
    for address in LEFT:
        people.contact(acme, address)
        people.leave(acme, address)
    for _ in range(3):
        asked = len(fake.list_requests(method))
        process = start()

        def kill(
            seen: Seen, asked: int = asked, process: subprocess.Popen[bytes] = process
        ) -> None:
            if len(fake.list_requests(method)) == asked + 3:
                process.kill()
                process.wait()

        fake.before_answer = kill
        assert process.wait(timeout=60) == -9
        work_leases.run_out()
    fake.before_answer = lambda _: None

    done = syncing.sync_all()

    born = ConsentEvent.objects.filter(action="imported", before=None)
    assert Contact.objects.filter(workspace_id=acme).count() == PEOPLE
    assert done.read_count == PEOPLE
    assert born.count() == done.created_count == PEOPLE - len(LEFT)
    assert {fake.row(address)["status"] for address in LEFT} == {"unsubscribed"}
    assert Contact.objects.filter(state="unsubscribed").count() == len(LEFT) + PEOPLE // 10
