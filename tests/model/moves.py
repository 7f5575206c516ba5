"""The moves of the machine itself: what workers, sweep and drain do when nothing goes wrong."""

from collections.abc import Iterable, Iterator

from tests.model import ledger, windows
from tests.model.rules import Rule
from tests.model.windows import Step
from tests.model.world import (
    Answer,
    Batch,
    Phase,
    Worker,
    World,
    with_batch,
    with_truth,
    with_worker,
)

# Throttling is not counted as an attempt, so the tries it may cost need a bound of their own.
MAX_THROTTLED_TRY = 2


def machine(rules: ledger.Rules, world: World) -> Iterator[Step]:
    """Every step that needs no fault and no person."""
    for worker in dict.fromkeys(world.workers):
        match worker.phase:
            case Phase.IDLE:
                yield from _claim(rules, world, worker)
            case Phase.CLAIMED:
                yield from windows.choose(rules, world, worker)
            case Phase.READING:
                yield from windows.compose(rules, world, worker)
            case Phase.COMPOSED:
                yield windows.arm(rules, world, worker)
            case Phase.ARMED:
                yield from _send_or_settle(rules, world, worker)
    for batch in world.batches:
        yield from _upkeep(rules, world, batch)


def has_holder(world: World, batch: Batch) -> bool:
    """Whether a worker in good time still works under the lease on this row."""
    mine = (batch.key, batch.lease, True)
    return any((worker.key, worker.lease, worker.in_time) == mine for worker in world.workers)


def run_out(world: World, batch: Batch) -> World:
    """Let the lease end; whoever took its time before that, whatever its token, is too late."""
    after = with_batch(world, batch, batch._replace(is_fresh=False))
    for worker in world.workers:
        if worker.key == batch.key:
            after = with_worker(after, worker, worker._replace(in_time=False))
    return after


def name(batch: Batch) -> str:
    return f"batch [{batch.lo},{batch.hi}) try {batch.key.try_no}"


def _claim(rules: ledger.Rules, world: World, worker: Worker) -> Iterator[Step]:
    if world.is_held or world.is_cancelled:
        return
    for batch in world.batches:
        if batch.lease and Rule.WINDOW not in rules and batch.armed_to not in (None, batch.hi):
            # A second thread of the same process shares the lease.
            yield f"a second thread joins {name(batch)}", _begin(world, worker, batch)
        if not batch.lease:
            leased = batch._replace(lease=_token(rules, world), is_fresh=True)
            after = _begin(with_batch(world, batch, leased), worker, leased)
            yield f"worker claims {name(batch)}, lease {leased.lease}", after


def _begin(world: World, worker: Worker, batch: Batch) -> World:
    claimed = Worker(Phase.CLAIMED, batch.key, batch.lease, in_time=True)
    return with_worker(world, worker, claimed)


def _token(rules: ledger.Rules, world: World) -> int:
    """A number no living memory holds: that is all a sequence promises, and it stays finite."""
    if Rule.TOKEN not in rules:
        return 1
    used = {row.lease for row in world.batches} | {worker.lease for worker in world.workers}
    return next(token for token in range(1, len(used) + 2) if token not in used)


def _send_or_settle(rules: ledger.Rules, world: World, worker: Worker) -> Iterator[Step]:
    if len(worker.answers) < len(worker.sends):
        yield from _send(rules, world, worker)
    else:
        yield settle(rules, world, worker)


def settle(rules: ledger.Rules, world: World, worker: Worker) -> Step:
    after = ledger.settle(rules, world, worker)
    batch = windows.row(after, worker)
    if batch is not None and batch.lease == worker.lease:
        rest = Worker(Phase.CLAIMED, worker.key, worker.lease, worker.in_time)
        after = with_worker(after, worker, rest)
    else:
        after = windows.drop(after, worker)
    return f"worker of lease {worker.lease} settles [{worker.lo},{worker.to})", after


def _send(rules: ledger.Rules, world: World, worker: Worker) -> Iterator[Step]:
    position = worker.sends[len(worker.answers)]
    try_no = worker.key.try_no
    for answer in _answers(rules, world, worker):
        truth = world.truths[position]
        after = world
        if answer is not Answer.NOT_SENT:
            if try_no in truth.handed:
                after = after._replace(wrong="an outside id was used for two sends")
            truth = truth._replace(handed=truth.handed | {try_no})
        if answer is Answer.ACCEPTED:
            truth = truth._replace(taken=truth.taken | {try_no})
        elif answer is Answer.IN_DOUBT:
            # Taken at once, taken later or never: the bytes decide, nobody waits for them.
            truth = truth._replace(wire=truth.wire | {try_no})
        after = with_truth(after, position, truth)
        told = worker._replace(answers=(*worker.answers, answer))
        label = f"worker of lease {worker.lease} sends {position} try {try_no}: {answer}"
        yield label, with_worker(after, worker, told)


def _answers(rules: ledger.Rules, world: World, worker: Worker) -> Iterable[Answer]:
    if not worker.in_time and Rule.DEADLINE in rules:
        return (Answer.NOT_SENT,)
    if worker.key.try_no < MAX_THROTTLED_TRY:
        return world.budget.answers
    return (answer for answer in world.budget.answers if answer is not Answer.THROTTLED)


def _upkeep(rules: ledger.Rules, world: World, batch: Batch) -> Iterator[Step]:
    if batch.lease and batch.is_fresh and not has_holder(world, batch):
        after = run_out(world, batch)
        yield f"lease {batch.lease} runs out, its worker is gone", after
    if batch.lease and not batch.is_fresh:
        yield f"sweep takes back {name(batch)}", ledger.sweep(rules, world, batch)
    if world.is_cancelled and (not batch.lease or Rule.CANCEL not in rules):
        yield f"drain settles {name(batch)}", ledger.drain(rules, world, batch)
