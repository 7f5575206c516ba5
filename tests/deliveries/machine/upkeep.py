"""What happens when workers die, and what the ledger does by itself."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from postledger.deliveries import ledger
from postledger.deliveries.ledger import sql
from postledger.deliveries.states import State, Verb
from tests import cast
from tests.deliveries.machine import rows, work
from tests.deliveries.machine.rows import Fact, LiveBatch, Place
from tests.deliveries.machine.world import World

# Deaths of workers that had a batch alone, as the decision says (0023).
DEATHS_TO_HALVE = 3
DEATHS_TO_FAIL = 5

type Part = tuple[int, int, int]  # a stream, and the positions from lo to hi


@dataclass
class Expected:
    """What a sweep has to leave: each batch with its lone deaths, and who fails as poison."""

    suspects: dict[Part, int] = field(default_factory=dict)
    others: set[Part] = field(default_factory=set)
    poisoned: set[Place] = field(default_factory=set)


def a_lease_runs_out(world: World) -> None:
    leases = [worker.claim.lease for worker in world.workers if worker.claim]
    run_out = world.random.choice([cast.run_out, rows.run_out_unarmed])
    run_out(world.random.choice(leases))
    if world.coin():
        sweep(world)


def all_leases_run_out_and_are_swept(world: World) -> None:
    for (token,) in sql.rows("SELECT token FROM deliveries_lease", {}):
        cast.run_out(token)
    sweep(world)


def workers_die_of_a_batch(world: World) -> None:
    """A worker dies with several batches, then one after the other dies of one of them alone."""
    stream_id = world.random.choice(world.ready_streams())
    for _ in range(world.random.choice([1, 1 + DEATHS_TO_HALVE, 1 + DEATHS_TO_FAIL])):
        suspects = [
            batch.id
            for batch in rows.read_batches([stream_id])
            if batch.id in world.inside.suspects and batch.lease is None
        ]
        if suspects:
            world.outside.minutes += 1
            # The one that most workers died of: the others were dealt with enough elsewhere.
            rows.hasten(max(suspects, key=lambda id_: (world.inside.lone_deaths[id_], -id_)))
        claim = work.take(world, stream_id, is_alone=bool(suspects))
        if claim is None:
            return
        if world.random.randint(0, 3) == 0:
            work.work_a_little(world, claim)
        cast.run_out(claim.lease)
        sweep(world)


def sweep(world: World) -> None:
    """Sweeps, and holds what it did with every lost batch against the rules."""
    expected = _expect(world, rows.read_batches(world.streams))
    before = world.inside.facts
    with world.step(Verb.SWEEP):
        ledger.sweep()
    left = rows.read_batches(world.streams)
    _compare(world, expected, left)
    failed = {
        place
        for place, fact in world.inside.facts.items()
        if fact.state is State.FAILED and before[place].state is State.WAITING
    }
    assert failed <= expected.poisoned, f"{failed} failed, but {expected.poisoned} are poison"
    for place in expected.poisoned:
        assert world.inside.facts[place].state is not State.WAITING, f"{place} kills for ever"


def _expect(world: World, batches: Sequence[LiveBatch]) -> Expected:
    expected, inside = Expected(), world.inside
    for batch in batches:
        is_swept = batch.has_run_out and batch.stream_id not in world.fence.closed
        deaths = inside.lone_deaths[batch.id]
        part = (batch.stream_id, batch.lo, batch.hi)
        if is_swept and batch.armed_to is not None:
            if batch.armed_to < batch.hi:
                expected.others.add((batch.stream_id, batch.armed_to, batch.hi))
        elif is_swept:
            _expect_loss(expected, part, deaths + (batch.lease in inside.lone_leases))
        elif batch.id in inside.suspects:
            expected.suspects[part] = deaths
        else:
            expected.others.add(part)
    return expected


def _expect_loss(expected: Expected, part: Part, deaths: int) -> None:
    """A batch of several is halved, and a batch of one fails, when enough died of it alone."""
    stream_id, lo, hi = part
    if hi - lo == 1 and deaths >= DEATHS_TO_FAIL:
        expected.poisoned.add((stream_id, lo))
    elif hi - lo > 1 and deaths >= DEATHS_TO_HALVE:
        middle = lo + (hi - lo) // 2
        for first, last in ((lo, middle), (middle, hi)):
            # A half of several is halved by the next death; nobody fails for a neighbour's.
            inherited = DEATHS_TO_HALVE - 1 if last - first > 1 else 0
            expected.suspects[stream_id, first, last] = inherited
    else:
        expected.suspects[part] = deaths


def _compare(world: World, expected: Expected, left: Sequence[LiveBatch]) -> None:
    """The ledger counts as the machine does; from now on the machine knows the new halves."""
    suspects: dict[Part, int] = {}
    others: set[Part] = set()
    inside = world.inside
    for batch in left:
        part = (batch.stream_id, batch.lo, batch.hi)
        if batch.losses:
            suspects[part] = batch.lone_losses
            inside.suspects.add(batch.id)
            inside.lone_deaths[batch.id] = batch.lone_losses
        else:
            others.add(part)
            inside.forgive(batch.id)
    assert suspects == expected.suspects, f"{suspects} and not {expected.suspects}"
    assert others == expected.others, f"{others} and not {expected.others}"


def drain(world: World) -> None:
    """Ends waiting mail of a cancelled stream as its sender was when it was cancelled."""
    stream_id, before = world.stream(), world.inside.facts
    with world.step(Verb.DRAIN):
        ledger.drain(stream_id)
    is_blocked = stream_id in world.inside.cancelled_while_blocked
    expected = State.FAILED if is_blocked else State.CANCELLED
    ended = _ended(world, before)
    assert ended <= {expected, State.IN_DOUBT}, f"{ended} in a stream that ends {expected}"


def give_up(world: World) -> None:
    """Fails due mail that nobody leases, and only of a sender that stayed blocked."""
    stream_id, before = world.stream(), world.inside.facts
    live = rows.read_batches([stream_id])
    stopped = world.inside.held | world.inside.cancelled | world.fence.closed
    is_given_up = world.inside.is_block_overdue and stream_id not in stopped
    now = datetime.now(UTC)
    free = {place for it in live if it.lease is None and it.due_at <= now for place in it.places()}
    with world.step(Verb.GIVE_UP):
        while ledger.give_up(stream_id):
            pass
    expected = free if is_given_up else set()
    waiting = {place for place, fact in before.items() if fact.state is State.WAITING}
    ended = {place for place in waiting if world.inside.facts[place].state is not State.WAITING}
    assert ended == waiting & expected, f"{ended} were given up and not {waiting & expected}"


def _ended(world: World, before: Mapping[Place, Fact]) -> set[State]:
    """The states that a step gave to mail that had waited."""
    return {
        fact.state
        for place, fact in world.inside.facts.items()
        if place in before and before[place].state is State.WAITING
    } - {State.WAITING}


def keep_house(world: World) -> None:
    with world.step():
        ledger.fold(limit=3)
        ledger.retire_idle_streams(idle=timedelta())
        ledger.retire_marks()


def time_passes(world: World) -> None:
    """What waits for its time is due: an hour is the longest that a mail here waits.

    Not behind the fence: the due times that the lost time is compared with stay as they were.
    """
    world.outside.minutes += 61
    rows.let_time_pass([each for each in world.streams if each not in world.fence.closed])
