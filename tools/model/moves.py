"""The moves of the machine itself: what workers and upkeep do when nothing goes wrong."""

from collections.abc import Iterable, Iterator
from itertools import combinations

from tools.model import epochs, ledger, poison, windows
from tools.model.rules import Rule
from tools.model.windows import Step
from tools.model.world import (
    ALWAYS,
    Answer,
    Batch,
    Block,
    Fence,
    Part,
    Phase,
    State,
    Worker,
    World,
    with_batch,
    with_part,
    with_truth,
    with_worker,
)

# Throttling is not counted as an attempt, so the tries it may cost need a bound of their own.
MAX_THROTTLED_TRY = 2


def machine(rules: ledger.Rules, world: World) -> Iterator[Step]:
    """Every step that needs no fault and no person."""
    may_ask = epochs.may_ask(rules, world)
    for worker in dict.fromkeys(world.workers):
        if may_ask or worker.phase is Phase.ARMED:
            yield from _work(rules, world, worker, may_settle=may_ask)
    for batch in world.batches if may_ask else ():
        yield from _upkeep(rules, world, batch)
    if world.block is Block.STANDS:
        yield "72 hours pass", world._replace(block=Block.OVERDUE)
    if world.era is not ALWAYS or world.budget.backups:
        yield from epochs.upkeep(rules, world)


def _work(rules: ledger.Rules, world: World, worker: Worker, *, may_settle: bool) -> Iterator[Step]:
    match worker.phase:
        case Phase.IDLE:
            yield from _claim(rules, world, worker)
        case Phase.CLAIMED:
            if poison.may_begin(rules, world, worker):
                yield from windows.choose(rules, world, worker)
            if world.budget.moves:
                yield from windows.readdress(rules, world, worker)
        case Phase.READING:
            yield from windows.compose(rules, world, worker)
        case Phase.COMPOSED:
            yield windows.arm(rules, world, worker)
        case Phase.ARMED:
            yield from _hand_over(rules, world, worker, may_settle=may_settle)


def _hand_over(
    rules: ledger.Rules, world: World, worker: Worker, *, may_settle: bool
) -> Iterator[Step]:
    """Send the windows one after the other, and settle each as soon as it is answered."""
    next_part = None
    for part in worker.parts:
        if len(part.answers) < len(part.sends):
            next_part = next_part or part
        elif part.lo < part.to and may_settle:
            yield settle(rules, world, worker, part)
    if next_part is not None:
        yield from _send(rules, world, worker, next_part)


def has_holder(world: World, batch: Batch) -> bool:
    """Whether a worker in good time still works under the lease on this row."""
    for worker in world.workers:
        if worker.lease == batch.lease:
            for part in worker.parts:
                if part.key == batch.key and part.in_time:
                    return True
    return False


def run_out(world: World, batch: Batch) -> World:
    """Let the lease end; whoever took its time before that, whatever its token, is too late."""
    after = with_batch(world, batch, batch._replace(is_fresh=False))
    for worker in world.workers:
        for part in worker.parts:
            if part.key == batch.key:
                late = with_part(worker, part, part._replace(in_time=False))
                after = with_worker(after, worker, late)
    return after


def name(batch: Batch) -> str:
    return f"batch [{batch.lo},{batch.hi}) try {batch.key.try_no}"


def _claim(rules: ledger.Rules, world: World, worker: Worker) -> Iterator[Step]:
    if world.is_stopped or not epochs.is_gate_open(rules, world):
        return
    if Rule.WINDOW not in rules:
        yield from _join(world, worker)
    free = [it for it in world.batches if not it.lease and epochs.is_due(world, it)]
    suspects = [it for it in free if it.has_losses and Rule.ALONE in rules]
    if suspects and poison.may_claim(rules, world, worker, is_alone=True):
        for batch in suspects:
            yield _take(rules, world, worker, (batch,), is_alone=True)
    if poison.may_claim(rules, world, worker, is_alone=False):
        others = [it for it in free if it not in suspects]
        for size in range(1, world.budget.batches + 1):
            for chosen in combinations(others, size):
                yield _take(rules, world, worker, chosen, is_alone=False)


def _join(world: World, worker: Worker) -> Iterator[Step]:
    """A second thread of the same process shares the lease."""
    for batch in world.batches:
        if batch.lease and batch.armed_to not in (None, batch.hi):
            joined = Worker(Phase.CLAIMED, batch.lease, (Part(batch.key),))
            yield f"a second thread joins {name(batch)}", with_worker(world, worker, joined)


def _take(
    rules: ledger.Rules,
    world: World,
    worker: Worker,
    batches: tuple[Batch, ...],
    *,
    is_alone: bool,
) -> Step:
    """Lease batches to one worker, all under one token."""
    token = _token(rules, world)
    for batch in batches:
        leased = batch._replace(lease=token, is_fresh=True, is_alone=is_alone)
        world = with_batch(world, batch, leased)
    parts = tuple(Part(batch.key) for batch in batches)
    claimed = Worker(Phase.CLAIMED, token, parts, is_alone, world.era.epoch, worker.process)
    names = " and ".join(name(batch) for batch in batches)
    label = f"worker claims {names}{' alone' * is_alone}, lease {token}"
    return label, with_worker(world, worker, claimed)


def _token(rules: ledger.Rules, world: World) -> int:
    """A number that no batch and no worker has. A sequence promises no more, and small numbers
    keep the model finite."""
    if Rule.TOKEN not in rules:
        return 1
    used = {row.lease for row in world.batches} | epochs.tokens(rules, world)
    return next(token for token in range(1, len(used) + 2) if token not in used)


def settle(rules: ledger.Rules, world: World, worker: Worker, part: Part) -> Step:
    after = ledger.settle(rules, world, worker, part)
    batch = windows.row(after, part)
    is_mine = batch is not None and batch.lease == worker.lease
    rest = with_part(worker, part, Part(part.key, part.in_time) if is_mine else None)
    if not any(it.lo < it.to for it in rest.parts):
        rest = rest._replace(phase=Phase.CLAIMED if rest.parts else Phase.IDLE)
    label = f"worker of lease {worker.lease} settles [{part.lo},{part.to})"
    return label, with_worker(after, worker, rest)


def _send(rules: ledger.Rules, world: World, worker: Worker, part: Part) -> Iterator[Step]:
    position, try_no = part.sends[len(part.answers)], part.key.try_no
    for answer in _answers(rules, world, part):
        truth = world.truths[position]
        after = world
        if answer is not Answer.NOT_SENT:
            if try_no in truth.handed:
                after = after._replace(wrong="an outside id was used for two sends")
            values = truth.values | {world.deliveries[position].values}
            truth = truth._replace(handed=truth.handed | {try_no}, values=values)
            if worker.epoch != world.era.epoch or world.era.fence is Fence.UNSEEN:
                truth = truth._replace(early=truth.early | {try_no})
        if answer is Answer.ACCEPTED:
            truth = truth._replace(taken=truth.taken | {try_no})
        elif answer is Answer.IN_DOUBT:
            # Taken at once, taken later or never: the bytes decide, nobody waits for them.
            truth = truth._replace(wire=truth.wire | {try_no})
        after = with_truth(after, position, truth)
        answered = with_part(worker, part, part._replace(answers=(*part.answers, answer)))
        label = f"worker of lease {worker.lease} sends {position} try {try_no}: {answer}"
        yield label, with_worker(after, worker, answered)


def _answers(rules: ledger.Rules, world: World, part: Part) -> Iterable[Answer]:
    if not part.in_time and Rule.DEADLINE in rules:
        return (Answer.NOT_SENT,)
    if part.key.try_no < MAX_THROTTLED_TRY:
        return world.budget.answers
    return (answer for answer in world.budget.answers if answer is not Answer.THROTTLED)


def _upkeep(rules: ledger.Rules, world: World, batch: Batch) -> Iterator[Step]:
    if batch.lease and batch.is_fresh and not has_holder(world, batch):
        after = run_out(world, batch)
        yield f"lease {batch.lease} runs out, its worker is gone", after
    if not epochs.may_tidy(rules, world):
        return
    if batch.lease and not batch.is_fresh:
        after = poison.lose(rules, ledger.sweep(rules, world, batch), batch)
        yield f"sweep takes back {name(batch)}", after
    if world.is_cancelled and (not batch.lease or Rule.CANCEL not in rules):
        yield f"drain settles {name(batch)}", ledger.drain(rules, world, batch)
    yield from _give_up(rules, world, batch)


def _give_up(rules: ledger.Rules, world: World, batch: Batch) -> Iterator[Step]:
    """Fail what is due of a sender that stayed blocked."""
    is_late = world.block is Block.RELEASED and Rule.GIVE_UP_BLOCK not in rules
    if world.block is not Block.OVERDUE and not is_late:
        return
    is_free = not batch.lease or Rule.GIVE_UP_LEASE not in rules
    if is_free and epochs.is_due(world, batch) and not (world.is_held or world.is_cancelled):
        after = ledger.close(rules, world, batch, State.FAILED)
        if is_late:
            after = after._replace(wrong="mail failed for a block that was released")
        yield f"{name(batch)} is given up", after
