"""A ledger that goes back in time: backup, restore, and the fence that falls between epochs."""

from collections.abc import Iterator

from tools.model import ledger
from tools.model.rules import Rule
from tools.model.world import (
    UNSENT,
    Backup,
    Batch,
    Block,
    Delivery,
    Due,
    Fence,
    Part,
    State,
    Truth,
    Worker,
    World,
    with_batch,
    with_delivery,
    with_new_batch,
)

Step = tuple[str, World]

# Farther than any number that the lost time can have given out.
TRIES = 10
POSITIONS = 2


def may_ask(rules: ledger.Rules, world: World) -> bool:
    """Whether a process may use its connection: not before it has compared what it is with."""
    return world.era.fence is not Fence.UNSEEN or Rule.EPOCH_NOTICE not in rules


def is_gate_open(rules: ledger.Rules, world: World) -> bool:
    return world.era.fence is Fence.LIFTED or Rule.EPOCH_GATE not in rules


def may_tidy(rules: ledger.Rules, world: World) -> bool:
    """Whether sweep and drain may act: not on deliveries that were restored and not judged."""
    is_judged = world.era.fence in (Fence.LIFTED, Fence.JUDGED)
    return is_judged or Rule.EPOCH_UPKEEP not in rules


def is_due(world: World, batch: Batch) -> bool:
    return batch.due is Due.NOW or world.era.has_come


def tokens(rules: ledger.Rules, world: World) -> set[int]:
    """The leases that were given out; a sequence that went back has forgotten some of them."""
    era = world.era
    if Rule.EPOCH_TOKEN not in rules:
        return {worker.lease for worker in world.workers if worker.epoch == era.epoch}
    used = {worker.lease for worker in world.workers}
    return used if era.backup is None else used | {row.lease for row in era.backup.batches}


def upkeep(rules: ledger.Rules, world: World) -> Iterator[Step]:
    era = world.era
    if era.fence is Fence.UNSEEN:
        yield "the fence falls", _fall(rules, world)
    if era.fence is Fence.FALLEN:
        yield "what may have gone in the lost time becomes in doubt", _judge(rules, world)
    if not era.has_come and any(batch.due is not Due.NOW for batch in world.batches):
        come = world._replace(era=era._replace(has_come=True))
        yield "the time comes that later batches wait for", come
    if may_ask(rules, world):
        yield from _plan(rules, world)


def faults(rules: ledger.Rules, world: World) -> Iterator[Step]:
    """Backup and restore, and the time after which no byte of an earlier epoch can leave."""
    era, budget = world.era, world.budget
    if budget.backups and era.fence is Fence.LIFTED:
        spent = budget._replace(backups=budget.backups - 1)
        yield (
            "a backup is taken",
            world._replace(budget=spent, era=era._replace(backup=_copy(world))),
        )
    if era.backup is not None and budget.restores:
        spent = budget._replace(restores=budget.restores - 1)
        yield "the backup is restored", _restore(world._replace(budget=spent), era.backup)
    if era.in_grace and era.fence is not Fence.UNSEEN and budget.clicks:
        yield "no byte of the earlier epoch can leave any more", _end_grace(world)
    if budget.waits:
        spent = budget._replace(waits=budget.waits - 1)
        for label, after in _waits(rules, world):
            yield label, after._replace(budget=spent)


def people(world: World) -> Iterator[Step]:
    era, budget = world.era, world.budget
    if era.fence is Fence.JUDGED:
        yield "a person lifts the fence", world._replace(era=era._replace(fence=Fence.LIFTED))
    if budget.releases:
        spent = budget._replace(releases=budget.releases - 1)
        for batch in world.batches:
            if batch.due in (Due.THROTTLED, Due.SNOOZED) and not batch.lease:
                after = with_batch(world, batch, batch._replace(due=Due.NOW))
                yield f"a {batch.due} batch is brought forward", after._replace(budget=spent)


def _copy(world: World) -> Backup:
    return Backup(
        world.deliveries,
        world.batches,
        tuple(_keep_heard(truth) for truth in world.truths),
        world.is_held,
        world.is_cancelled,
        world.plan,
        world.era.epoch,
        world.block,
        world.drains_to,
    )


def _restore(world: World, backup: Backup) -> World:
    """Put the ledger back; workers, the provider and bytes under way know nothing of it."""
    truths = zip(world.truths, backup.deliveries, backup.told, strict=True)
    plan = backup.plan
    if not plan.is_run:
        # Requests are not made again because the database forgot them.
        plan = plan._replace(recipients=world.plan.recipients)
    is_last = not world.budget.restores
    era = world.era._replace(
        epoch=backup.epoch, fence=Fence.UNSEEN, backup=None if is_last else backup, in_grace=True
    )
    return world._replace(
        deliveries=backup.deliveries,
        truths=tuple(_forget(truth, delivery, heard) for truth, delivery, heard in truths),
        batches=backup.batches,
        is_held=backup.is_held,
        is_cancelled=backup.is_cancelled,
        # The clock of a block begins anew.
        block=Block.STANDS if backup.block is Block.OVERDUE else backup.block,
        drains_to=backup.drains_to,
        plan=plan,
        era=era,
    )


def _keep_heard(truth: Truth) -> Truth:
    """What the ledger has heard and been told, apart from what really happened."""
    return Truth(
        disowned=truth.disowned,
        ended=truth.ended,
        is_heard=truth.is_heard,
        by_word=truth.by_word,
        is_excused=truth.is_excused,
    )


def _forget(truth: Truth, delivery: Delivery, heard: Truth) -> Truth:
    return truth._replace(
        disowned=heard.disowned,
        ended=heard.ended,
        is_heard=heard.is_heard,
        by_word=heard.by_word,
        is_excused=heard.is_excused or delivery.state in UNSENT,
        early=truth.handed,
    )


def _fall(rules: ledger.Rules, world: World) -> World:
    """Begin a new epoch, far behind every number the lost time can have used."""
    era = world.era
    highest = era.last_epoch if Rule.EPOCH_NUMBER in rules else era.epoch
    epoch, leaps = highest + 1, highest + 1 - era.epoch
    for position, delivery in enumerate(world.deliveries):
        if delivery.state in (State.FAILED, State.IN_DOUBT) and Rule.EPOCH_TRY_ENDED in rules:
            leapt = delivery._replace(last_try=delivery.last_try + leaps * TRIES)
            world = with_delivery(world, position, leapt, world.truths[position])
    plan = world.plan
    if Rule.EPOCH_POSITION in rules:
        plan = plan._replace(next_position=plan.next_position + leaps * POSITIONS)
    last_epoch = max(epoch, era.last_epoch)
    era = era._replace(epoch=epoch, last_epoch=last_epoch, leaps=leaps, fence=Fence.FALLEN)
    truths = tuple(truth._replace(early=truth.handed) for truth in world.truths)
    return world._replace(truths=truths, plan=plan, era=era)


def _judge(rules: ledger.Rules, world: World) -> World:
    """Put every waiting delivery in doubt that may have gone, leased or not; its batch is over."""
    for batch in world.batches if Rule.EPOCH_FENCE in rules else ():
        if batch.epoch >= world.era.epoch or not _was_due(rules, world, batch):
            continue
        for position in range(batch.lo, batch.hi):
            if world.deliveries[position].state is State.WAITING:
                world = _doubt(rules, world, position, batch.key.try_no)
        world = with_batch(world, batch, None)
    return world._replace(era=world.era._replace(fence=Fence.JUDGED))


def _was_due(rules: ledger.Rules, world: World, batch: Batch) -> bool:
    if batch.due is Due.THROTTLED and Rule.EPOCH_FORWARD in rules:
        return True
    if batch.due is Due.SNOOZED and Rule.EPOCH_SNOOZE in rules:
        return True
    return batch.due is Due.NOW or (world.era.has_come and Rule.EPOCH_GAP in rules)


def _doubt(rules: ledger.Rules, world: World, position: int, try_no: int) -> World:
    world = ledger.doubt(world, position, try_no)
    delivery = world.deliveries[position]._replace(in_grace=False)
    if Rule.EPOCH_TRY in rules:
        delivery = delivery._replace(last_try=try_no + world.era.leaps * TRIES)
    return with_delivery(world, position, delivery, world.truths[position])


def _plan(rules: ledger.Rules, world: World) -> Iterator[Step]:
    """Give one more recipient a delivery; if a run lost its place, it may have had one before."""
    plan, position = world.plan, world.plan.next_position
    for recipient in sorted(plan.recipients):
        left = plan.recipients - {recipient}
        after = world._replace(plan=plan._replace(recipients=left, next_position=position + 1))
        delivery = Delivery(recipient=recipient, epoch=world.era.epoch)
        truth = world.truths[position]
        if not truth.handed:
            truth = truth._replace(recipient=recipient)
        label = f"recipient {recipient} is planned at position {position}"
        if plan.is_run and world.era.epoch > 1 and Rule.PLANNED_AFTER in rules:
            label += ", in doubt"
            yield label, ledger.doubt(with_delivery(after, position, delivery, truth), position, 0)
        else:
            after = with_delivery(after, position, delivery, truth)
            yield label, with_new_batch(after, position, position + 1, 1)


def _end_grace(world: World) -> World:
    """Lease and grace have passed since the restore: old calls are over, and so are their bytes."""
    epoch = world.era.epoch
    truths = tuple(_land(truth) for truth in world.truths)
    workers = tuple(sorted(it if it.epoch == epoch else _late(it) for it in world.workers))
    era = world.era._replace(in_grace=False)
    return world._replace(truths=truths, workers=workers, era=era)


def _land(truth: Truth) -> Truth:
    return truth._replace(wire=truth.wire - truth.early)


def _late(worker: Worker) -> Worker:
    return worker._replace(parts=tuple(part._replace(in_time=False) for part in worker.parts))


def _waits(rules: ledger.Rules, world: World) -> Iterator[Step]:
    """A worker gives its batch back until later, with the lease it had before the restore."""
    if not may_ask(rules, world):
        return
    for worker in dict.fromkeys(world.workers):
        if worker.epoch == world.era.epoch or Rule.EPOCH_WAIT in rules:
            continue
        for part in worker.parts:
            for batch in world.batches:
                if _is_held(batch, worker, part):
                    later = batch._replace(lease=0, is_fresh=False, epoch=world.era.epoch)
                    label = f"worker of lease {worker.lease} gives [{batch.lo},{batch.hi}) back"
                    yield f"{label} until later", with_batch(world, batch, later)


def _is_held(batch: Batch, worker: Worker, part: Part) -> bool:
    return (batch.key, batch.lease, batch.armed_to) == (part.key, worker.lease, None)
