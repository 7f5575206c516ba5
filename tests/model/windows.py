"""How a worker gets a window ready: what it reads, what the gates bar, and the arm."""

from collections.abc import Iterator

from tests.model import ledger
from tests.model.rules import Rule
from tests.model.world import Batch, Phase, State, Worker, World, with_batch, with_worker

Step = tuple[str, World]

# For good, and invalid: a failure a person may requeue.
VERDICTS = (State.SUPPRESSED, State.FAILED)


def choose(rules: ledger.Rules, world: World, worker: Worker) -> Iterator[Step]:
    """Composing takes two statements, and anything may commit between them: this is the first."""
    batch = row(world, worker)
    if batch is None:
        yield f"worker of lease {worker.lease} finds its batch gone", drop(world, worker)
        return
    lo = batch.lo
    if Rule.WINDOW not in rules and batch.armed_to is not None:
        lo = batch.armed_to
    for to in sorted({lo + 1, batch.hi}) if lo < batch.hi else ():
        reading = worker._replace(phase=Phase.READING, lo=lo, to=to, version=batch.version)
        what = "the version"
        if Rule.VERSION_FIRST not in rules:
            reading = reading._replace(version=0, sends=_waiting(world, lo, to))
            what = "the lines"
        label = f"worker of lease {worker.lease} reads {what} for [{lo},{to})"
        yield label, with_worker(world, worker, reading)


def compose(rules: ledger.Rules, world: World, worker: Worker) -> Iterator[Step]:
    composed = worker._replace(phase=Phase.COMPOSED)
    if Rule.VERSION_FIRST in rules:
        composed = composed._replace(sends=_waiting(world, worker.lo, worker.to))
    else:
        batch = row(world, worker)
        composed = composed._replace(version=batch.version if batch else 0)
    label = f"worker of lease {worker.lease} composes [{worker.lo},{worker.to})"
    yield label, with_worker(world, worker, composed)
    if composed.sends and world.budget.verdicts:
        for verdict in VERDICTS:
            barred = f"{label}, the gates bar {composed.sends[0]}: {verdict}"
            yield barred, _bar(rules, world, worker, composed, verdict)


def _waiting(world: World, lo: int, to: int) -> tuple[int, ...]:
    return tuple(p for p in range(lo, to) if world.deliveries[p].state is State.WAITING)


def _bar(
    rules: ledger.Rules, world: World, worker: Worker, composed: Worker, verdict: State
) -> World:
    barred = ((composed.sends[0], verdict),)
    composed = composed._replace(sends=composed.sends[1:])
    if Rule.ARM_GATES in rules:
        after = with_worker(world, worker, composed._replace(barred=barred))
    else:
        after = with_worker(world, worker, composed)
        after = ledger.bar(rules, after, worker.key.try_no, barred)
    return after._replace(budget=after.budget._replace(verdicts=after.budget.verdicts - 1))


def arm(rules: ledger.Rules, world: World, worker: Worker) -> Step:
    batch = row(world, worker)
    label = f"worker of lease {worker.lease} arms [{worker.lo},{worker.to})"
    if batch is None or not _may_arm(rules, world, worker, batch):
        return f"{label}: refused, it lets go", drop(world, worker)
    if batch.version != worker.version:
        stale = Worker(Phase.CLAIMED, worker.key, worker.lease, worker.in_time)
        return f"{label}: refused, it composes anew", with_worker(world, worker, stale)
    after = ledger.bar(rules, world, worker.key.try_no, worker.barred)
    renewed = batch._replace(is_fresh=batch.lease != 0)
    if worker.barred and Rule.PASS_OVER in rules and not _waiting(after, worker.lo, worker.to):
        return f"{label}: nothing is left to send", _pass_over(after, worker, batch, renewed)
    after = with_batch(after, batch, renewed._replace(armed_to=worker.to))
    armed = worker._replace(phase=Phase.ARMED, in_time=True, barred=())
    after = with_worker(after, worker, armed)
    if world.is_held or world.is_cancelled:
        after = after._replace(wrong="a window was armed after a hold or a cancel")
    if any(world.deliveries[p].state is not State.WAITING for p in worker.sends):
        after = after._replace(wrong="a line that already has its result was armed")
    return label, after


def _pass_over(world: World, worker: Worker, batch: Batch, renewed: Batch) -> World:
    """Move on in the same transaction: nothing is armed, and settle has nothing to say."""
    if worker.to >= batch.hi:
        return drop(with_batch(world, batch, None), worker)
    after = with_batch(world, batch, renewed._replace(lo=worker.to))
    rest = Worker(Phase.CLAIMED, worker.key, worker.lease, in_time=True)
    return with_worker(after, worker, rest)


def _may_arm(rules: ledger.Rules, world: World, worker: Worker, batch: Batch) -> bool:
    if Rule.ARM_LEASE in rules and batch.lease != worker.lease:
        return False
    if Rule.ARM_FRESH in rules and not batch.is_fresh:
        return False
    if Rule.ARM_HOLD in rules and (world.is_held or world.is_cancelled):
        return False
    is_window = batch.lo == worker.lo and batch.armed_to is None
    return (is_window and worker.to <= batch.hi) or Rule.WINDOW not in rules


def row(world: World, worker: Worker) -> Batch | None:
    return next((batch for batch in world.batches if batch.key == worker.key), None)


def drop(world: World, worker: Worker) -> World:
    return with_worker(world, worker, Worker())
