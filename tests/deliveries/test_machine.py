"""Random sequences of every verb, by several workers, against the real database.

After each step: the transition table holds, every delivery has a result or exactly one live
batch, the counters equal a recount, each attempt is counted once, a stale lease changes nothing,
and the provider took no mail twice that nobody asked to send again.

Workers die before they arm: only a batch that killed them alone is halved or fails. The database
goes back in time: the fence falls, what was due becomes in doubt, nothing is sent before it is
lifted, no number comes again, and nothing of an earlier epoch changes work.
"""

import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, Phase, given, note, settings
from hypothesis import strategies as st

from postledger.deliveries import ledger
from tests import cast, epochs
from tests.deliveries.machine import moves, people, rows
from tests.deliveries.machine.world import World

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow, pytest.mark.sample]

# Each run tries others. A long look by hand: EXAMPLES=500; there, as in tools/breaks, a broken
# rule need only be found, not told in the fewest steps.
EXAMPLES = int(os.environ.get("EXAMPLES", "25"))
STEPS = 50
PHASES = [Phase.generate] if "EXAMPLES" in os.environ else list(Phase)


@pytest.fixture(autouse=True)
def _own_epoch() -> Iterator[None]:
    yield from epochs.kept()


@pytest.fixture(autouse=True)
def _backup() -> Iterator[None]:
    yield from epochs.room_for_a_backup()


@given(seed=st.integers(0, 2**32 - 1))
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    phases=PHASES,
    report_multiple_bugs=False,
    suppress_health_check=list(HealthCheck),
)
def test_no_sequence_of_verbs_leaves_the_rules(seed: int) -> None:
    note(f"seed {seed}")
    ledger.release_sender(cast.sender().pk)
    epochs.begin_anew()
    rows.forget_all_work()
    world = World(seed)
    people.plan_all(world)
    for _ in range(STEPS):
        moves.act(world)
        world.the_books_balance()
        world.no_line_is_wrong()
