"""Mails that kill the process which composes them, and how the ledger finds the one that does."""

from tools.model import ledger
from tools.model.rules import Rule
from tools.model.world import (
    Batch,
    Part,
    Phase,
    State,
    Worker,
    World,
    idle,
    with_batch,
    with_new_batch,
    with_truth,
    with_worker,
)

# Between its claim and its arm: a process that dies here has handed over nothing of it.
COMPOSING = (Phase.READING, Phase.COMPOSED)
UNARMED = (Phase.CLAIMED, *COMPOSING)


def may_claim(rules: ledger.Rules, world: World, worker: Worker, *, is_alone: bool) -> bool:
    """Whether the process may take work: beside a lone claim it takes and composes nothing."""
    if Rule.COMPOSE_ALONE not in rules:
        return True
    others = _others(world, worker)
    if is_alone and any(other.phase in COMPOSING for other in others):
        return False
    return not _has_lone_claim(others)


def may_begin(rules: ledger.Rules, world: World, worker: Worker) -> bool:
    """Whether a round of a claim may begin: not before the lone claim beside it is armed."""
    return Rule.ROUNDS_ALONE not in rules or not _has_lone_claim(_others(world, worker))


def die(world: World, worker: Worker) -> World:
    """Kill the process of a worker; what it had claimed stays leased until the lease runs out."""
    world = _count_death(world, worker)
    if not worker.process:
        return with_worker(world, worker, idle(worker))
    workers = (idle(it) if it.process == worker.process else it for it in world.workers)
    return world._replace(workers=tuple(sorted(workers)))


def forgive(rules: ledger.Rules, batch: Batch) -> Batch:
    """Arming proves that composing it kills nobody."""
    if Rule.ARM_RESETS in rules:
        batch = batch._replace(has_losses=False, lone_losses=0)
    return batch._replace(is_alone=False) if Rule.ALONE_ENDS in rules else batch


def forget_deaths(world: World, part: Part) -> World:
    if world.poison is None:
        return world
    for position in range(part.lo, part.to):
        truth = world.truths[position]
        world = with_truth(world, position, truth._replace(lone_deaths=0))
    return world


def lose(rules: ledger.Rules, world: World, lost: Batch) -> World:
    """Count a lease that was lost before its batch was armed, and act on what has added up."""
    limits = world.poison
    if limits is None or lost.armed_to is not None:
        return world
    free = next(batch for batch in world.batches if batch.key == lost.key)
    counts = lost.is_alone or Rule.ALONE_COUNTS not in rules
    sick = free._replace(has_losses=True, lone_losses=free.lone_losses + counts)
    world = with_batch(world, free, sick)
    is_one = sick.hi - sick.lo == 1 or Rule.HALVE not in rules
    if sick.lone_losses < (limits.fail_after if is_one else limits.halve_after):
        return world
    return _fail(rules, world, sick, limits.fail_after) if is_one else _halve(rules, world, sick)


def _halve(rules: ledger.Rules, world: World, batch: Batch) -> World:
    middle = (batch.lo + batch.hi + 1) // 2
    lower = _half(rules, batch._replace(hi=middle, version=batch.version + 1))
    world = with_new_batch(with_batch(world, batch, lower), middle, batch.hi, batch.key.try_no)
    added = next(row for row in world.batches if row.lo == middle)
    upper = added._replace(has_losses=True, lone_losses=batch.lone_losses)
    return with_batch(world, added, _half(rules, upper))


def _half(rules: ledger.Rules, batch: Batch) -> Batch:
    """A half goes on one loss before the next halving; a single mail starts from nothing."""
    is_one = batch.hi - batch.lo == 1
    if is_one and Rule.ONE_STARTS_ANEW in rules:
        return batch._replace(lone_losses=0)
    return batch._replace(lone_losses=batch.lone_losses - 1)


def _fail(rules: ledger.Rules, world: World, batch: Batch, deaths: int) -> World:
    for position in range(batch.lo, batch.hi):
        delivery = world.deliveries[position]
        if delivery.state is not State.WAITING:
            continue
        if world.truths[position].lone_deaths < deaths:
            world = world._replace(wrong="a mail failed as poison that had not killed often alone")
        world = ledger.end(rules, world, position, delivery, State.FAILED)
    return with_batch(world, batch, None)


def _count_death(world: World, worker: Worker) -> World:
    """Remember whose death this is: of one mail only if the process composed nothing else."""
    if world.poison is None:
        return world
    dying = [worker, *_others(world, worker)]
    for victim in dying:
        is_sole = not any(it.phase in COMPOSING for it in dying if it is not victim)
        if victim.phase in UNARMED and is_sole and len(victim.parts) == 1:
            world = _count_one(world, victim, world.poison.fail_after)
    return world


def _count_one(world: World, victim: Worker, most: int) -> World:
    for batch in world.batches:
        is_mine = (batch.key, batch.lease) == (victim.parts[0].key, victim.lease)
        if is_mine and batch.hi - batch.lo == 1:
            truth = world.truths[batch.lo]
            deaths = min(truth.lone_deaths + 1, most)
            world = with_truth(world, batch.lo, truth._replace(lone_deaths=deaths))
    return world


def _has_lone_claim(workers: list[Worker]) -> bool:
    return any(worker.is_alone and worker.phase in UNARMED for worker in workers)


def _others(world: World, worker: Worker) -> list[Worker]:
    """The other workers of the same process."""
    if not worker.process:
        return []
    others = [it for it in world.workers if it.process == worker.process]
    others.remove(worker)
    return others
