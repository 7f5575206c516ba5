"""The verbs of the ledger that give results, each one transaction, under the rules chosen."""

from tools.model.rules import Rule
from tools.model.world import (
    NONE,
    Answer,
    Batch,
    Delivery,
    Part,
    State,
    Truth,
    Worker,
    World,
    with_batch,
    with_delivery,
    with_new_batch,
    with_truth,
)

Rules = frozenset[Rule]

# The policy's last attempt: a try later after it is a failure.
MAX_ATTEMPTS = 2


def settle(rules: Rules, world: World, worker: Worker, part: Part) -> World:
    """Write the window's answers; without the batch they are only evidence."""
    batch = _held_batch(rules, world, worker, part)
    if batch is None:
        return _late_truth(rules, world, worker, part)
    retries: list[int] = []
    for position, answer in zip(part.sends, part.answers, strict=False):
        world, again = _settle_one(rules, world, position, part.key.try_no, answer)
        if again:
            retries.append(position)
    # A delivery that was handed over and has no answer is in doubt.
    world = _doubt_rest(world, part.lo, part.to, part.key.try_no)
    moved = batch._replace(lo=part.to, armed_to=None)
    world = with_batch(world, batch, moved if moved.lo < moved.hi else None)
    for lo, hi in _runs(retries):
        world = with_new_batch(world, lo, hi, next_try(rules, world, lo), is_retry=True)
    return world


def accept(
    rules: Rules, world: World, position: int, try_no: int, *, is_early: bool = False
) -> World:
    """Record that the provider took this try, told by an event or by a lease that is gone."""
    delivery, truth = world.deliveries[position], world.truths[position]
    if delivery.state is State.ABSENT or (is_early and _is_unmatched(rules, world, delivery)):
        return world
    truth = truth._replace(is_heard=True)
    if is_early and delivery.state is not State.IN_DOUBT and Rule.EPOCH_ACCEPTED not in rules:
        return with_truth(world, position, truth)
    if delivery.state is State.ACCEPTED:
        return with_truth(world, position, truth)
    if delivery.state is not State.IN_DOUBT and Rule.LATE_ACCEPTED not in rules:
        return with_truth(world, position, truth)
    if delivery.state is State.WAITING and Rule.VERSION in rules:
        for batch in world.batches:
            if batch.lo <= position < batch.hi:
                world = with_batch(world, batch, batch._replace(version=batch.version + 1))
    # A requeue may have reset the count: the accepted try is one.
    counts = try_no > delivery.last_try or not delivery.attempts
    return _accepted(world, position, try_no, truth, counts=counts)


def sweep(rules: Rules, world: World, batch: Batch) -> World:
    """Take back a lease that has run out; nobody knows what became of its armed window."""
    free = batch._replace(armed_to=None, lease=0, is_fresh=False, is_alone=False)
    if batch.armed_to is None or Rule.SWEEP not in rules:
        return with_batch(world, batch, free)
    world = _doubt_rest(world, batch.lo, batch.armed_to, batch.key.try_no)
    free = free._replace(lo=batch.armed_to)
    return with_batch(world, batch, free if free.lo < free.hi else None)


def drain(rules: Rules, world: World, batch: Batch) -> World:
    """Settle what a cancelled stream has not handed over."""
    return close(rules, world, batch, world.drains_to)


def close(rules: Rules, world: World, batch: Batch, state: State) -> World:
    """End the mails of a batch that nobody will hand over."""
    for position in range(batch.lo, batch.hi):
        delivery = world.deliveries[position]
        if delivery.state is State.WAITING:
            world = end(rules, world, position, delivery, state)
    return with_batch(world, batch, None)


def cancel_mail(world: World, batch: Batch) -> World:
    """End one mail that waits in a batch of its own."""
    ended = world.deliveries[batch.lo]._replace(state=State.CANCELLED)
    return with_batch(with_delivery(world, batch.lo, ended, world.truths[batch.lo]), batch, None)


def supersede(rules: Rules, world: World, position: int) -> World:
    """Plan the recipient of a failure again; that is the end of the failure."""
    old, plan = world.deliveries[position], world.plan
    if Rule.SUPERSEDE_ENDS in rules:
        ended = old._replace(state=State.CANCELLED)
        world = with_delivery(world, position, ended, world.truths[position])
    new = plan.next_position
    delivery = Delivery(recipient=old.recipient, epoch=world.era.epoch)
    truth = world.truths[new]._replace(recipient=old.recipient)
    world = with_delivery(world, new, delivery, truth)
    world = world._replace(plan=plan._replace(next_position=new + 1))
    return with_new_batch(world, new, new + 1, 1)


def bar(rules: Rules, world: World, try_no: int, verdicts: tuple[tuple[int, State], ...]) -> World:
    """Write what the gates decided about deliveries that are still waiting; a verdict counts."""
    for position, verdict in verdicts:
        delivery = world.deliveries[position]
        if delivery.state is State.WAITING and delivery.last_try < try_no:
            delivery, truth = _counted(delivery, world.truths[position], try_no)
            world = with_truth(world, position, truth)
            world = end(rules, world, position, delivery, verdict)
    return world


def end(rules: Rules, world: World, position: int, delivery: Delivery, state: State) -> World:
    """Give a delivery its result, unless an older try of it is still in doubt."""
    if delivery.doubts and Rule.STICKY in rules:
        state = State.IN_DOUBT
    return with_delivery(world, position, delivery._replace(state=state), world.truths[position])


def doubt(world: World, position: int, try_no: int) -> World:
    """Put a delivery in doubt about one try; that counts as an attempt."""
    delivery, truth = _counted(world.deliveries[position], world.truths[position], try_no)
    delivery = delivery._replace(
        state=State.IN_DOUBT, doubts=delivery.doubts | {try_no}, in_grace=True, was_armed=True
    )
    return with_delivery(world, position, delivery, truth)


def is_covered(world: World, position: int) -> bool:
    return any(batch.lo <= position < batch.hi for batch in world.batches)


def next_try(rules: Rules, world: World, position: int) -> int:
    delivery = world.deliveries[position]
    return (delivery.last_try if Rule.TRY in rules else delivery.attempts) + 1


def _held_batch(rules: Rules, world: World, worker: Worker, part: Part) -> Batch | None:
    if Rule.EPOCH_SETTLE in rules and worker.epoch != world.era.epoch:
        return None
    for batch in world.batches:
        if batch.key != part.key:
            continue
        if Rule.SETTLE_BATCH not in rules:
            return batch
        is_window = (batch.lo, batch.armed_to) == (part.lo, part.to)
        if batch.lease == worker.lease and (is_window or Rule.WINDOW not in rules):
            return batch
    return None


def _settle_one(
    rules: Rules, world: World, position: int, try_no: int, answer: Answer
) -> tuple[World, bool]:
    """Settle one delivery of the window; the flag asks for another batch."""
    delivery, truth = world.deliveries[position], world.truths[position]
    if answer is Answer.ACCEPTED:
        truth = truth._replace(is_heard=True)
        world = with_truth(world, position, truth)
    is_open = delivery.state is State.WAITING and delivery.last_try < try_no
    if not is_open and Rule.SETTLE_WAITING in rules:
        return world, False
    delivery = delivery._replace(was_armed=True)
    match answer:
        case Answer.ACCEPTED:
            return _accepted(world, position, try_no, truth, counts=True), False
        case Answer.IN_DOUBT:
            return doubt(world, position, try_no), False
        case Answer.THROTTLED | Answer.NOT_SENT:
            delivery = delivery._replace(state=State.WAITING, last_try=try_no)
            return with_delivery(world, position, delivery, truth), True
        case Answer.REFUSED | Answer.TRY_LATER:
            delivery, truth = _counted(delivery, truth, try_no)
            if answer is Answer.TRY_LATER and delivery.attempts < MAX_ATTEMPTS:
                delivery = delivery._replace(state=State.WAITING)
                return with_delivery(world, position, delivery, truth), True
            world = with_truth(world, position, truth)
            return end(rules, world, position, delivery, State.FAILED), False


def _is_unmatched(rules: Rules, world: World, delivery: Delivery) -> bool:
    """Whether evidence of an earlier epoch finds a delivery here that was planned since."""
    return delivery.epoch >= world.era.epoch and Rule.EPOCH_EVIDENCE in rules


def _late_truth(rules: Rules, world: World, worker: Worker, part: Part) -> World:
    is_early = worker.epoch != world.era.epoch
    for position, answer in zip(part.sends, part.answers, strict=False):
        if answer is Answer.ACCEPTED:
            world = accept(rules, world, position, part.key.try_no, is_early=is_early)
        elif answer is not Answer.IN_DOUBT and not (is_early and Rule.EPOCH_DENIED in rules):
            world = _deny(rules, world, position, part.key.try_no, answer)
    return world


def _deny(rules: Rules, world: World, position: int, try_no: int, answer: Answer) -> World:
    """Take one try out of doubt: it certainly never reached the recipient."""
    delivery, truth = world.deliveries[position], world.truths[position]
    if delivery.state is not State.IN_DOUBT:
        return world
    if Rule.COVERED_DENIED in rules and is_covered(world, position):
        return world
    left = delivery.doubts - {try_no}
    if Rule.LATE_DENIED not in rules:
        left = NONE
    elif left == delivery.doubts:
        return world
    delivery = delivery._replace(doubts=left)
    if answer in (Answer.THROTTLED, Answer.NOT_SENT):
        # The doubt was counted as an attempt; a throttle or a call never started is none.
        delivery = delivery._replace(attempts=max(delivery.attempts - 1, 0))
        truth = truth._replace(ended=truth.ended - {try_no})
    if left:
        return with_delivery(world, position, delivery, truth)
    state = State.FAILED if answer is Answer.REFUSED else State.WAITING
    delivery = delivery._replace(state=state, in_grace=False)
    world = with_delivery(world, position, delivery, truth)
    if state is State.FAILED:
        return world
    try_after = next_try(rules, world, position)
    return with_new_batch(world, position, position + 1, try_after, is_retry=True)


def _accepted(world: World, position: int, try_no: int, truth: Truth, *, counts: bool) -> World:
    delivery = world.deliveries[position]
    if counts:
        delivery, truth = _counted(delivery, truth, try_no)
    delivery = delivery._replace(state=State.ACCEPTED, doubts=NONE, in_grace=False, was_armed=True)
    return with_delivery(world, position, delivery, truth._replace(by_word=False))


def _doubt_rest(world: World, lo: int, to: int, try_no: int) -> World:
    for position in range(lo, to):
        delivery = world.deliveries[position]
        if delivery.state is State.WAITING and delivery.last_try < try_no:
            world = doubt(world, position, try_no)
    return world


def _counted(delivery: Delivery, truth: Truth, try_no: int) -> tuple[Delivery, Truth]:
    delivery = delivery._replace(
        last_try=max(delivery.last_try, try_no), attempts=delivery.attempts + 1
    )
    return delivery, truth._replace(ended=truth.ended | {try_no})


def _runs(positions: list[int]) -> list[tuple[int, int]]:
    """Neighbours that go again together share one batch."""
    runs: list[tuple[int, int]] = []
    for position in positions:
        if runs and runs[-1][1] == position:
            runs[-1] = (runs[-1][0], position + 1)
        else:
            runs.append((position, position + 1))
    return runs
