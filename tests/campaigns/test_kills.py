"""Planners that are killed inside a chunk, or meet in one, plan exactly the frozen audience."""

import os
import subprocess
import sys
from uuid import UUID

import pytest
from pytest_django import Settings

from postledger.campaigns.models import Run
from postledger.campaigns.planning import planning
from postledger.deliveries import audit
from tests.campaigns import press
from tests.journeys import stage
from tests.races import collide

pytestmark = pytest.mark.django_db(transaction=True)

PEOPLE = 400
CHUNK = 100
PLAN = f"""
import django; django.setup()
import sys
from uuid import UUID
from postledger.campaigns.planning import planning
from postledger.campaigns.models import Run
run_id = UUID(sys.argv[1])
# The database may need a moment to notice that the planner before was killed.
while Run.objects.filter(pk=run_id, planned_at=None).exists():
    planning.plan_next_chunk(run_id, size={CHUNK})
"""


def planner(run_id: UUID, **extra: str) -> int:
    environment = {
        **os.environ,
        "DATABASE_URL": stage.database(),
        "DJANGO_SETTINGS_MODULE": "postledger.config.settings",
        "SECRET_KEY": "only-for-tests-" + "x" * 50,
        **extra,
    }
    return subprocess.run(
        [sys.executable, "-c", PLAN, str(run_id)], env=environment, check=False
    ).returncode


@pytest.mark.slow
@pytest.mark.sample
def test_a_planner_killed_in_each_chunk_plans_everybody_once(settings: Settings) -> None:
    acme = press.set_up_workspace(settings)
    press.people(acme, PEOPLE)
    run_id = press.launch(acme, press.campaign(acme))
    places = []

    for passes in (1, 1, 2, 2):
        assert planner(run_id, CRASH_AT=f"in_plan_chunk:{passes}") == -9
        places.append(Run.objects.get(pk=run_id).cursor_address)
    assert planner(run_id) == 0

    run = Run.objects.get(pk=run_id)
    assert len(set(places)) == 3, "each second kill comes after a chunk that was committed"
    assert run.planned_at is not None
    assert len({address.lower() for address in press.addresses(run)}) == PEOPLE
    assert len(press.addresses(run)) == PEOPLE
    assert audit.audit(run.stream_id).discrepancies == []


def test_a_run_that_another_process_plans_is_left_to_it(settings: Settings) -> None:
    acme = press.set_up_workspace(settings)
    press.people(acme, 3)
    run_id = press.launch(acme, press.campaign(acme))

    with collide.uncommitted(lambda: planning.plan_next_chunk(run_id, size=1)) as other:
        beside = collide.start(lambda: planning.plan_run(run_id))
        assert not beside.comes_to_rest(), "it waits for the other"
        beside.answer()
        assert not other.is_done()
        assert press.addresses(Run.objects.get(pk=run_id)) == []
    planning.plan_run(run_id)

    assert len(press.addresses(Run.objects.get(pk=run_id))) == 3
