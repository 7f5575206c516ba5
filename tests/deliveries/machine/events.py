"""What providers say outside a lease."""

from postledger.deliveries import entries, ledger, queries
from postledger.deliveries.entries import Evidence
from postledger.deliveries.states import State, Verb
from tests.deliveries.machine.rows import Attempt
from tests.deliveries.machine.world import World


def an_event_proves_acceptance(world: World) -> None:
    """Of a mail that was taken in this epoch or in an earlier one; perhaps its line is lost."""
    attempt = world.random.choice(sorted(world.outside.tries_taken))
    place, address = attempt[:2], world.outside.addresses[attempt[:2]]
    named = [None, address, address.upper()] if place not in world.outside.moved else [None]
    evidence = _acceptance(world, attempt, world.random.choice(named))
    is_earlier = evidence.epoch is not None and evidence.epoch < world.fence.epoch
    if is_earlier and place not in world.inside.facts:
        _check_kept(world, place[0], evidence)
        return
    with world.step(*((Verb.RECORD, Verb.FENCE) if is_earlier else (Verb.RECORD,))):
        if is_earlier and world.coin():
            ledger.record_log(place[0], [evidence])
        else:
            ledger.record(place[0], [evidence] * world.random.randint(1, 2))
    fact = world.inside.facts[place]
    assert fact.state is State.ACCEPTED, f"{evidence} left {place} as {fact}"


def _check_kept(world: World, stream_id: int, evidence: Evidence) -> None:
    """What names a line that a restore has lost is kept for people, and changes nothing."""
    before = queries.count_unmatched()
    with world.step(Verb.FENCE):
        assert ledger.record(stream_id, [evidence]) == 0
    assert queries.count_unmatched() == before + 1


def an_event_names_another_address(world: World) -> None:
    """It changes nothing, whichever epoch it is of; an erased line has no address to compare."""
    attempt = world.random.choice(sorted(world.outside.tries_taken))
    if attempt[:2] in world.inside.erased:
        return
    evidence = _acceptance(world, attempt, "somebody@example.com")
    before = world.inside.facts.get(attempt[:2])
    with world.step(Verb.RECORD, Verb.FENCE):
        ledger.record(attempt[0], [evidence])
    after = world.inside.facts.get(attempt[:2])
    assert after == before or (after and after.state is State.IN_DOUBT)


def _acceptance(world: World, attempt: Attempt, address: str | None) -> Evidence:
    _, position, number = attempt
    epoch: int | None = world.outside.tries[attempt]
    if epoch == world.fence.epoch and world.coin():
        epoch = None
    entry = entries.accepted(position, message_id="e")
    return Evidence(number, entry, "event", epoch, address)
