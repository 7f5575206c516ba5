"""What the world does to the machine: kills, pauses, late bytes, and events at any time."""

from collections.abc import Iterator

from tools.model import epochs, ledger, poison
from tools.model.moves import has_holder, run_out, settle
from tools.model.windows import Step
from tools.model.world import (
    ALWAYS,
    Fence,
    Phase,
    State,
    World,
    with_budget,
    with_delivery,
    with_truth,
)


def faults(rules: ledger.Rules, world: World) -> Iterator[Step]:
    may_ask = epochs.may_ask(rules, world)
    yield from _kills(world)
    if may_ask:
        yield from _lost_answers(rules, world)
    yield from _pauses(world)
    for position in range(len(world.truths)):
        yield from _late_bytes(world, position)
        yield from _grace(world, position)
        if may_ask:
            yield from _events(rules, world, position)
    if world.budget.backups or world.era is not ALWAYS:
        yield from epochs.faults(rules, world)


def _kills(world: World) -> Iterator[Step]:
    if not world.budget.kills:
        return
    budget = world.budget._replace(kills=world.budget.kills - 1)
    for worker in dict.fromkeys(world.workers):
        if worker.phase is not Phase.IDLE:
            after = with_budget(poison.die(world, worker), budget)
            yield f"kill -9 of the worker of lease {worker.lease}", after


def _lost_answers(rules: ledger.Rules, world: World) -> Iterator[Step]:
    """What a call or a settle would have told its worker never reaches it."""
    budget = world.budget
    if not (budget.kills or budget.repeats):
        return
    fewer_kills = budget._replace(kills=budget.kills - 1)
    fewer_repeats = budget._replace(repeats=budget.repeats - 1)
    for worker in dict.fromkeys(world.workers):
        for part in worker.parts if worker.phase is Phase.ARMED else ():
            is_answered = len(part.answers) == len(part.sends)
            if budget.kills and not is_answered:
                # Only what it was doing dies: the rest of the window has no answer.
                label, after = settle(rules, world, worker, part)
                yield f"{label} without every answer", with_budget(after, fewer_kills)
            if budget.repeats and is_answered and part.lo < part.to:
                # The settle commits, and its worker will settle once more.
                label, _ = settle(rules, world, worker, part)
                after = ledger.settle(rules, world, worker, part)
                yield f"{label}, unheard", with_budget(after, fewer_repeats)


def _pauses(world: World) -> Iterator[Step]:
    """A worker stands still until its lease has run out, then goes on as if nothing happened."""
    if not world.budget.pauses:
        return
    budget = world.budget._replace(pauses=world.budget.pauses - 1)
    for lease in dict.fromkeys(batch.lease for batch in world.batches):
        after = world
        for batch in world.batches:
            if batch.lease == lease and batch.is_fresh and has_holder(world, batch):
                after = run_out(after, batch)
        if after is not world:
            label = f"lease {lease} runs out while its worker stands still"
            yield label, with_budget(after, budget)


def _late_bytes(world: World, position: int) -> Iterator[Step]:
    truth = world.truths[position]
    for try_no in sorted(truth.wire):
        landed = truth._replace(wire=truth.wire - {try_no}, taken=truth.taken | {try_no})
        label = f"the bytes of {position} try {try_no} arrive, the provider takes them"
        yield label, with_truth(world, position, landed)


def _grace(world: World, position: int) -> Iterator[Step]:
    """Lease and grace pass: what has not left the kernel by now never will."""
    delivery = world.deliveries[position]
    if delivery.in_grace and world.budget.clicks:
        truth = world.truths[position]._replace(wire=frozenset())
        after = with_delivery(world, position, delivery._replace(in_grace=False), truth)
        yield f"the grace of {position} try {delivery.last_try} passes", after


def _events(rules: ledger.Rules, world: World, position: int) -> Iterator[Step]:
    truth, is_seen = world.truths[position], world.era.fence is not Fence.UNSEEN
    if truth.is_heard and world.deliveries[position].state is State.ACCEPTED:
        return  # nothing would change
    for try_no in sorted(truth.taken):
        is_early = is_seen and try_no in truth.early
        after = ledger.accept(rules, world, position, try_no, is_early=is_early)
        yield f"an event says {position} try {try_no} was accepted", after
