"""What must hold in every world, and what every world must still be able to reach."""

from tools.model.world import NONE, UNSENT, Delivery, Fence, Poison, State, Truth, World


def broken(world: World) -> str:
    """Name the first claim this world breaks; empty if it keeps them all."""
    if world.wrong:
        return world.wrong
    twice = _twice(world)
    if twice:
        return twice
    for position, delivery in enumerate(world.deliveries):
        fault = _wrong_delivery(delivery, world.truths[position]) or _uncovered(
            world, position, delivery
        )
        if fault:
            return f"position {position}: {fault}"
    return _wronged(world, world.poison) if world.poison is not None else ""


def is_at_rest(world: World) -> bool:
    """Nothing waits, or a person must act: what live work must be able to reach."""
    is_closed = world.is_held or world.era.fence is Fence.JUDGED
    return is_closed or all(delivery.state is not State.WAITING for delivery in world.deliveries)


def _wronged(world: World, poison: Poison) -> str:
    for position, delivery in enumerate(world.deliveries):
        is_innocent = poison.spares_others and position not in poison.positions
        if is_innocent and delivery.state is State.FAILED:
            return f"position {position}: it failed, yet another mail is the poison"
    return ""


def _twice(world: World) -> str:
    # One mail may be out. Every further one needs a person who let it go again while the
    # earlier one stood in the provider's journal; a click made before bytes arrive asks for
    # nothing, because nobody could have seen them.
    if sum([len(truth.taken) for truth in world.truths]) <= 1:
        return ""
    unasked = [(truth.recipient, len(truth.taken - truth.known)) for truth in world.truths]
    for position, (recipient, _) in enumerate(unasked):
        if sum(mails for other, mails in unasked if other == recipient) > 1:
            return f"position {position}: the provider took it twice and nobody asked for it"
    return ""


def _wrong_delivery(delivery: Delivery, truth: Truth) -> str:
    if truth.is_heard and delivery.state is not State.ACCEPTED:
        return f"its acceptance was heard, yet it is {delivery.state}"
    is_other = delivery.recipient != truth.recipient
    if delivery.state is State.ACCEPTED and not truth.by_word and (is_other or not truth.taken):
        return "it is accepted, yet the provider never took it"
    # Nobody can know what became in the lost time of a delivery that had its result before.
    excused = truth.early if truth.is_excused else NONE
    if delivery.state in UNSENT and not truth.taken <= truth.disowned | excused:
        return f"it is {delivery.state}, yet the provider took it"
    if not truth.early and truth.values - {delivery.values}:
        return "it was handed over with other values than the books have"
    return _miscounted(delivery, truth)


def _miscounted(delivery: Delivery, truth: Truth) -> str:
    # A doubt counts as an attempt until it turns out to be a throttle or a call never started.
    if delivery.attempts != len(truth.ended):
        return f"{len(truth.ended)} attempts were completed, {delivery.attempts} counted"
    if delivery.state is State.ACCEPTED and not delivery.attempts:
        return "it is accepted, yet no attempt was counted"
    return ""


def _uncovered(world: World, position: int, delivery: Delivery) -> str:
    if delivery.state is not State.WAITING:
        return ""
    batches = sum(batch.lo <= position < batch.hi for batch in world.batches)
    if batches == 1:
        return ""
    return "it waits in two batches" if batches else "it waits and no batch will ever send it"
