"""What the world does to the machine: kills, pauses, late bytes, and events at any time."""

from collections.abc import Iterator

from tests.model import ledger
from tests.model.moves import has_holder, run_out, settle
from tests.model.windows import Step
from tests.model.world import Phase, Worker, World, with_delivery, with_truth, with_worker


def faults(rules: ledger.Rules, world: World) -> Iterator[Step]:
    yield from _kills(rules, world)
    yield from _pauses(world)
    for position in range(len(world.truths)):
        yield from _late_bytes(world, position)
        yield from _grace(world, position)
        yield from _events(rules, world, position)


def _kills(rules: ledger.Rules, world: World) -> Iterator[Step]:
    if not world.budget.kills:
        return
    budget = world.budget._replace(kills=world.budget.kills - 1)
    for worker in dict.fromkeys(world.workers):
        if worker.phase is not Phase.IDLE:
            after = with_worker(world, worker, Worker())._replace(budget=budget)
            yield f"kill -9 of the worker of lease {worker.lease}", after
        if worker.phase is Phase.ARMED and len(worker.answers) < len(worker.sends):
            # Only what it was doing dies, not the process: the rest of the window has no answer.
            label, after = settle(rules, world, worker)
            yield f"{label} without every answer", after._replace(budget=budget)


def _pauses(world: World) -> Iterator[Step]:
    """A worker stands still until its lease has run out, then goes on as if nothing happened."""
    if not world.budget.pauses:
        return
    budget = world.budget._replace(pauses=world.budget.pauses - 1)
    for batch in world.batches:
        if batch.is_fresh and has_holder(world, batch):
            label = f"lease {batch.lease} runs out while its worker stands still"
            yield label, run_out(world, batch)._replace(budget=budget)


def _late_bytes(world: World, position: int) -> Iterator[Step]:
    truth = world.truths[position]
    for try_no in sorted(truth.wire):
        landed = truth._replace(wire=truth.wire - {try_no}, taken=truth.taken | {try_no})
        label = f"the bytes of {position} try {try_no} arrive, the provider takes them"
        yield label, with_truth(world, position, landed)


def _grace(world: World, position: int) -> Iterator[Step]:
    """Lease and grace pass: what has not left the kernel by now never will."""
    line = world.deliveries[position]
    if line.in_grace and world.budget.clicks:
        truth = world.truths[position]._replace(wire=frozenset())
        after = with_delivery(world, position, line._replace(in_grace=False), truth)
        yield f"the grace of {position} try {line.last_try} passes", after


def _events(rules: ledger.Rules, world: World, position: int) -> Iterator[Step]:
    for try_no in sorted(world.truths[position].taken):
        after = ledger.accept(rules, world, position, try_no)
        yield f"an event says {position} try {try_no} was accepted", after
