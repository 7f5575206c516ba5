"""A database that goes back in time, the fence that falls, and the person who lifts it."""

from copy import deepcopy
from datetime import UTC, datetime, timedelta

import pytest

from postledger.deliveries import ledger, queries
from postledger.deliveries.ledger import Epoch, Witness, sql
from postledger.deliveries.reasons import Reason
from postledger.deliveries.states import State, Verb
from tests import cast, epochs
from tests.deliveries.machine import rows, work
from tests.deliveries.machine.fence import Fence
from tests.deliveries.machine.rows import Place
from tests.deliveries.machine.world import Saved, World


def take_a_backup(world: World) -> None:
    tables = epochs.Backup(world.streams)
    outside = world.outside
    world.backup = Saved(tables, deepcopy(world.inside), outside.minutes, len(outside.tries))


def restore_the_backup(world: World) -> None:
    """Takes the database back, by another one or by a copy of its disk; its workers live on."""
    assert world.backup is not None
    world.backup.tables.restore()
    world.inside = deepcopy(world.backup.inside)
    facts = {place: fact for place, fact, _ in rows.read_lines(world.streams)}
    assert facts == world.inside.facts
    is_below_witness = ledger.current_epoch().token < world.outside.token
    if not is_below_witness or world.coin():
        epochs.pretend_restored()
        _nothing_goes_unnoticed(world)
    _fall(world)
    for worker in world.workers:
        if worker.claim and world.coin():
            work.go_on_after_a_restore(world, worker)


def _nothing_goes_unnoticed(world: World) -> None:
    """Nobody claims or arms in a database that its epoch does not name."""
    for stream_id in world.streams:
        assert ledger.claim(stream_id, holder="w", limit=1, lease_time=cast.LEASE) is None
    for worker in work.composed(world):
        assert worker.claim is not None
        windows = [window for window, _ in worker.composed]
        assert ledger.arm(worker.claim, windows, lease_time=cast.LEASE) == []


def _fall(world: World) -> None:
    """The first process that looks lets the fence fall, once."""
    outside = world.outside
    assert world.backup is not None
    lost_time = timedelta(minutes=outside.minutes - world.backup.minutes)
    lost_until = datetime.now(UTC) + lost_time
    witness = Witness(outside.token, outside.epoch, lost_until)
    epoch = ledger.check_epoch(witness)
    assert epoch.number > outside.epoch, f"epoch {epoch.number} began twice"
    assert ledger.check_epoch(witness) == epoch
    outside.epoch = epoch.number
    if epoch.cause == "identity":
        outside.token = epoch.token
    world.fence = _build_fence(world, epoch, lost_until)
    world.inside.is_block_overdue = False


def _build_fence(world: World, epoch: Epoch, lost_until: datetime) -> Fence:
    facts = world.inside.facts
    due = _due(world, max(lost_until, epoch.began_at))
    failed = {place for place, fact in facts.items() if fact.state is State.FAILED}
    doubtful = {place for place, fact in facts.items() if fact.state is State.IN_DOUBT}
    return Fence(
        epoch=epoch.number,
        closed=set(world.streams),
        due=due,
        failed=failed,
        lost_tries={
            place: facts[place].last_try + sql.TRY_LEAP for place in due | failed | doubtful
        },
        is_grace_over=False,
        with_late_bytes=failed | doubtful,
    )


def _due(world: World, lost_until: datetime) -> set[Place]:
    """The waiting lines that the lost time may have sent: due, or brought forward by a release or,
    in a topic, by a recipient.
    """
    by_release = {Reason.THROTTLED, Reason.QUOTA_EXHAUSTED}
    forward = {
        world.transactional: by_release,
        world.planned: by_release | (rows.NAMED_BY_RECIPIENTS if world.is_topic else set()),
    }
    return {
        place
        for batch in rows.read_batches(world.streams)
        if batch.due_at < lost_until or batch.reason in forward[batch.stream_id]
        for place in batch.places()
        if place in world.inside.facts and world.inside.facts[place].state is State.WAITING
    }


def judge(world: World) -> None:
    """What the lost time may have sent becomes in doubt, before anybody lifts the fence."""
    with world.step(Verb.FENCE):
        ledger.put_in_doubt(world.stream())


def lift_a_stream(world: World) -> None:
    stream_id = world.random.choice(sorted(world.fence.closed))
    with world.step(Verb.FENCE):
        with pytest.raises(ledger.FellAgainError):
            ledger.lift_stream(stream_id, epoch=world.fence.epoch - 1)
        ledger.lift_stream(stream_id, epoch=world.fence.epoch)
    _note_lifted(world, stream_id)
    _check_lifted(world)


def lift_all(world: World) -> None:
    campaigns = world.coin()
    with world.step(Verb.FENCE):
        ledger.lift_all(campaigns=campaigns, epoch=world.fence.epoch)
    _note_lifted(world, world.transactional)
    if campaigns or world.is_topic:
        _note_lifted(world, world.planned)
    _check_lifted(world)


def _note_lifted(world: World, stream_id: int) -> None:
    """Before a stream sends again, nothing waits that the lost time may have sent."""
    due = {place for place in world.fence.due if place[0] == stream_id}
    assert not due, f"{due} may have been sent, and are not in doubt"
    world.fence.closed.discard(stream_id)


def _check_lifted(world: World) -> None:
    """The fence was lifted for no other stream."""
    facts = queries.find_streams(world.streams)
    fenced = {stream_id for stream_id, stream in facts.items() if stream.fenced_since is not None}
    assert fenced == world.fence.closed, f"{fenced} are fenced, and not {world.fence.closed}"
