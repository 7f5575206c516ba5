"""How runs end by themselves, however many there are that do not."""

import tempfile
from collections.abc import Callable

import pytest
from django.db import connection
from pytest_django import Settings

from postledger.campaigns.models import Run
from postledger.campaigns.runs import run_control
from postledger.deliveries import entries
from tests import cast
from tests.campaigns import press

pytestmark = pytest.mark.django_db


@pytest.fixture
def acme(settings: Settings) -> int:
    workspace_id = press.set_up_workspace(settings)
    press.people(workspace_id, 1)
    return workspace_id


def run_of(workspace_id: int, tag: str) -> Run:
    return press.launched(workspace_id, press.campaign(workspace_id, tag=tag))


def refused(position: int) -> entries.Entry:
    return entries.refused(position, code="550 5.1.1")


def statements(work: Callable[[], object]) -> int:
    """How many are executed, as the wire shows it: not all of them go through Django."""
    with tempfile.TemporaryFile("w+") as file:
        connection.connection.pgconn.trace(file.fileno())
        work()
        connection.connection.pgconn.untrace()
        file.seek(0)
        return sum("\tCommandComplete\t" in line for line in file)


def test_runs_that_stay_open_are_looked_at_together(acme: int) -> None:
    counts = []
    for tags in (["a"], ["b", "c", "d", "e"]):
        for tag in tags:
            cast.book(run_of(acme, tag).stream_id, refused)
        counts.append(statements(run_control.end_finished_runs))

    assert counts[0] > 0
    assert counts[1] == counts[0]
    assert Run.objects.filter(ended_at=None).count() == 5


def test_among_runs_that_stay_open_those_that_are_done_end(acme: int) -> None:
    stuck, done = run_of(acme, "stuck"), run_of(acme, "done")
    cast.book(stuck.stream_id, refused)
    cast.book(done.stream_id, lambda at: entries.accepted(at, message_id="m"))

    assert run_control.end_finished_runs() == 1
    assert Run.objects.get(ended_at=None) == stuck
