"""What must hold in every world, and what every world must still be able to reach."""

from tests.model.world import Delivery, State, Truth, World

UNSENT = (State.FAILED, State.CANCELLED, State.SUPPRESSED)


def broken(world: World) -> str:
    """Name the first claim this world breaks; empty if it keeps them all."""
    if world.wrong:
        return world.wrong
    for position, line in enumerate(world.deliveries):
        fault = _wrong_line(line, world.truths[position]) or _uncovered(world, position, line)
        if fault:
            return f"position {position}: {fault}"
    return ""


def is_at_rest(world: World) -> bool:
    """Nothing waits, or a person holds the stream: what live work must be able to reach."""
    return world.is_held or all(line.state is not State.WAITING for line in world.deliveries)


def _wrong_line(line: Delivery, truth: Truth) -> str:
    # One mail may be out. Every further one needs a person who let it go again while the
    # earlier one stood in the provider's journal; a click made before bytes arrive asks for
    # nothing, because nobody could have seen them.
    if len(truth.taken - truth.known) > 1:
        return "the provider took it twice and nobody asked for it"
    if truth.is_heard and line.state is not State.ACCEPTED:
        return f"its acceptance was heard, yet it is {line.state}"
    if line.state is State.ACCEPTED and not truth.taken and not truth.by_word:
        return "it is accepted, yet the provider never took it"
    if line.state in UNSENT and not truth.taken <= truth.disowned:
        return f"it is {line.state}, yet the provider took it"
    return _miscounted(line, truth)


def _miscounted(line: Delivery, truth: Truth) -> str:
    # A doubt counts as an attempt until it turns out to be a throttle or a call never started.
    if line.attempts != len(truth.ended):
        return f"{len(truth.ended)} attempts were completed, {line.attempts} counted"
    if line.state is State.ACCEPTED and not line.attempts:
        return "it is accepted, yet no attempt was counted"
    return ""


def _uncovered(world: World, position: int, line: Delivery) -> str:
    if line.state is not State.WAITING:
        return ""
    batches = sum(batch.lo <= position < batch.hi for batch in world.batches)
    if batches == 1:
        return ""
    return "it waits in two batches" if batches else "it waits and no batch will ever send it"
