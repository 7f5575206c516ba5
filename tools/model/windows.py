"""How a worker gets its windows ready: what it reads, what the gates bar, and the arm."""

from collections.abc import Iterator

from tools.model import epochs, ledger, poison
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
    with_delivery,
    with_part,
    with_worker,
)

Step = tuple[str, World]

# For good, and invalid: a failure a person may requeue.
VERDICTS = (State.SUPPRESSED, State.FAILED)


def choose(rules: ledger.Rules, world: World, worker: Worker) -> Iterator[Step]:
    """Composing takes two statements, and anything may commit between them: this is the first."""
    batches = [row(world, part) for part in worker.parts]
    if not any(batches):
        yield f"worker of lease {worker.lease} finds its work gone", drop(world, worker)
        return
    choices: dict[Worker, str] = {}
    for is_whole in (False, True):
        parts = [
            _begin(rules, world, part, batch, is_whole=is_whole)
            for part, batch in zip(worker.parts, batches, strict=True)
            if batch is not None
        ]
        if any(part.lo < part.to for part in parts):
            reading = worker._replace(phase=Phase.READING, parts=tuple(parts))
            what = "the version" if Rule.VERSION_FIRST in rules else "the deliveries"
            choices[reading] = f"worker of lease {worker.lease} reads {what} for {spans(reading)}"
    for reading, label in choices.items():
        yield label, with_worker(world, worker, reading)


def readdress(rules: ledger.Rules, world: World, worker: Worker) -> Iterator[Step]:
    """Before it composes, a worker gives mails the address that their contacts have by then.

    The ledger also lets those move whose tries handed nothing over; here they count as tried.
    """
    spent = world.budget._replace(moves=world.budget.moves - 1)
    for part in worker.parts:
        batch = row(world, part)
        is_mine = batch is not None and (batch.lease, batch.armed_to) == (worker.lease, None)
        if batch is None or not (is_mine or Rule.READDRESS_LEASE not in rules):
            continue
        for position in _waiting(world, batch.lo, batch.hi):
            delivery = world.deliveries[position]
            was_tried = delivery.was_armed or delivery.attempts or delivery.doubts
            if not delivery.values and not (was_tried and Rule.READDRESS_UNTRIED in rules):
                moved = delivery._replace(values=1)
                after = with_delivery(world, position, moved, world.truths[position])
                label = f"worker of lease {worker.lease} readdresses {position}"
                yield label, after._replace(budget=spent)


def _begin(rules: ledger.Rules, world: World, part: Part, batch: Batch, *, is_whole: bool) -> Part:
    lo = batch.lo
    if Rule.WINDOW not in rules and batch.armed_to is not None:
        lo = batch.armed_to
    to = batch.hi if is_whole else min(lo + 1, batch.hi)
    if Rule.VERSION_FIRST in rules:
        return part._replace(lo=lo, to=to, version=batch.version)
    return part._replace(lo=lo, to=to, sends=_waiting(world, lo, to))


def compose(rules: ledger.Rules, world: World, worker: Worker) -> Iterator[Step]:
    parts = tuple(_compose_part(rules, world, part) for part in worker.parts)
    composed = worker._replace(phase=Phase.COMPOSED, parts=parts)
    label = f"worker of lease {worker.lease} composes {spans(worker)}"
    if world.poison is not None:
        sends = {position for part in parts for position in part.sends}
        if sends & world.poison.positions:
            yield f"{label}, and its process dies of it", poison.die(world, worker)
            return
    yield label, with_worker(world, worker, composed)
    first = next((part for part in parts if part.sends), None)
    if first is not None and world.budget.verdicts:
        for verdict in VERDICTS:
            barred = f"{label}, the gates bar {first.sends[0]}: {verdict}"
            yield barred, _bar(rules, world, worker, composed, first, verdict)


def _compose_part(rules: ledger.Rules, world: World, part: Part) -> Part:
    if Rule.VERSION_FIRST in rules:
        return part._replace(sends=_waiting(world, part.lo, part.to))
    batch = row(world, part)
    return part._replace(version=batch.version if batch else 0)


def _waiting(world: World, lo: int, to: int) -> tuple[int, ...]:
    return tuple(p for p in range(lo, to) if world.deliveries[p].state is State.WAITING)


def _bar(
    rules: ledger.Rules,
    world: World,
    worker: Worker,
    composed: Worker,
    part: Part,
    verdict: State,
) -> World:
    barred = ((part.sends[0], verdict),)
    left = part._replace(sends=part.sends[1:])
    if Rule.ARM_GATES in rules:
        left = left._replace(barred=barred)
    after = with_worker(world, worker, with_part(composed, part, left))
    if Rule.ARM_GATES not in rules:
        after = ledger.bar(rules, after, part.key.try_no, barred)
    return after._replace(budget=after.budget._replace(verdicts=after.budget.verdicts - 1))


def arm(rules: ledger.Rules, world: World, worker: Worker) -> Step:
    """Arm a window of every batch in one transaction, each under its own conditions."""
    label = f"worker of lease {worker.lease} arms {spans(worker)}"
    notes: dict[str, None] = {}
    after, left = world, []
    for part in worker.parts:
        after, kept, note = _arm_part(rules, after, worker, part)
        notes[note] = None
        left += [] if kept is None else [kept]
    label += "".join(f": {note}" for note in notes if note)
    if not left:
        return label, drop(after, worker)
    is_armed = any(part.lo < part.to for part in left)
    phase = Phase.ARMED if is_armed else Phase.CLAIMED
    is_alone = worker.is_alone and (not is_armed or Rule.ALONE_ENDS not in rules)
    armed = worker._replace(phase=phase, parts=tuple(left), is_alone=is_alone)
    return label, with_worker(after, worker, armed)


def _arm_part(
    rules: ledger.Rules, world: World, worker: Worker, part: Part
) -> tuple[World, Part | None, str]:
    """Arm one window; what is left of the part is without a window, or nothing."""
    batch = row(world, part)
    if batch is None or not _may_arm(rules, world, worker, part, batch):
        return world, None, "refused, it lets go"
    if batch.version != part.version:
        return world, Part(part.key, part.in_time), "refused, it composes anew"
    after = ledger.bar(rules, world, part.key.try_no, part.barred)
    renewed = poison.forgive(rules, batch._replace(is_fresh=batch.lease != 0))
    if part.barred and Rule.PASS_OVER in rules and not _waiting(after, part.lo, part.to):
        moved = renewed._replace(lo=part.to)
        after = with_batch(after, batch, moved if moved.lo < moved.hi else None)
        return after, Part(part.key) if moved.lo < moved.hi else None, "nothing is left to send"
    after = with_batch(after, batch, renewed._replace(armed_to=part.to))
    after = poison.forget_deaths(after, part)
    if world.is_stopped:
        after = after._replace(wrong="a window was armed after a hold or a cancel")
    if any(world.deliveries[p].state is not State.WAITING for p in part.sends):
        after = after._replace(wrong="a delivery that already has its result was armed")
    return after, part._replace(in_time=True, barred=()), ""


def _may_arm(rules: ledger.Rules, world: World, worker: Worker, part: Part, batch: Batch) -> bool:
    if Rule.ARM_LEASE in rules and batch.lease != worker.lease:
        return False
    if Rule.ARM_FRESH in rules and not batch.is_fresh:
        return False
    if Rule.ARM_HOLD in rules and world.is_stopped:
        return False
    if Rule.EPOCH_ARM in rules and worker.epoch != world.era.epoch:
        return False
    if not epochs.is_gate_open(rules, world):
        return False
    is_window = batch.lo == part.lo and batch.armed_to is None
    return (is_window and part.to <= batch.hi) or Rule.WINDOW not in rules


def row(world: World, part: Part) -> Batch | None:
    return next((batch for batch in world.batches if batch.key == part.key), None)


def drop(world: World, worker: Worker) -> World:
    return with_worker(world, worker, idle(worker))


def spans(worker: Worker) -> str:
    return " and ".join(f"[{part.lo},{part.to})" for part in worker.parts)
