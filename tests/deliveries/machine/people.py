"""What people do: ask for mail, hold, cancel, erase somebody, decide about doubts and failures."""

from collections.abc import Sequence
from datetime import UTC, datetime

from psycopg import sql as pg

from postledger.deliveries import ledger
from postledger.deliveries.entries import Cancellation, Decision, SeenDelivery
from postledger.deliveries.ledger import sql
from postledger.deliveries.reasons import Reason
from postledger.deliveries.states import State, Verb
from tests import cast, epochs
from tests.deliveries.machine import rows
from tests.deliveries.machine.rows import Place
from tests.deliveries.machine.world import World


def plan_all(world: World) -> None:
    """The first mails of both streams, the run's in two chunks: it has two batches."""
    first, second = world.random.randint(2, 8), world.random.randint(1, 4)
    with world.step():
        cast.plan(world.planned, range(first))
        cast.plan(world.planned, range(first, first + second))
        cast.enqueue(world.transactional, range(first + second))
    world.outside.keys = first + second


def ask_for_mail(world: World) -> None:
    """New recipients and some that the stream has, or had before a restore."""
    outside, stream_id = world.outside, world.stream()
    repeated = world.random.sample(range(outside.keys), min(outside.keys, 3))
    fresh = world.random.randint(0, 2)
    numbers = [*repeated, *range(outside.keys, outside.keys + fresh)]
    add = cast.plan if stream_id == world.planned else cast.enqueue
    with world.step():
        try:
            add(stream_id, numbers)
        except ledger.StreamClosedError:
            assert stream_id in world.inside.cancelled
    outside.keys += fresh


def bring_mail_forward(world: World) -> None:
    """Recipients end their snooze or open their window; nobody waits for anything else less long.

    Of a run, whose recipients cannot, nothing comes forward.
    """
    asked = set(world.some(world.waiting()))
    before = rows.read_batches(world.streams)
    with world.step():
        ledger.bring_forward([(place[0], _key(world, place)) for place in asked])
    for old, new in zip(before, rows.read_batches(world.streams), strict=True):
        may_come = (
            (world.is_topic and old.stream_id == world.planned)
            and (old.lease is None and not old.losses and not asked.isdisjoint(old.places()))
            and old.reason in rows.NAMED_BY_RECIPIENTS
        )
        is_due = new.due_at <= datetime.now(UTC)
        assert is_due if may_come else new == old, f"{old} became {new}"


def _key(world: World, place: Place) -> str:
    """The dedupe key with which it was planned."""
    return world.outside.addresses[place].partition("@")[0]


def hold_or_release(world: World) -> None:
    stream_id, held = world.stream(), world.inside.held
    with world.step():
        if stream_id in held:
            ledger.release(stream_id)
            held.remove(stream_id)
        elif ledger.hold(stream_id, reason=Reason.PAUSED, actor="bob"):
            held.add(stream_id)
        else:
            return  # it is cancelled
    world.inside.is_block_overdue = False


def block_or_release_the_sender(world: World) -> None:
    with world.step():
        if world.inside.is_sender_held:
            ledger.release_sender(cast.sender().pk)
        else:
            cast.block()
    world.inside.is_sender_held = not world.inside.is_sender_held
    world.inside.is_block_overdue = False


def nobody_acts_on_the_block(world: World) -> None:
    cast.let_block_run_out()
    world.inside.is_block_overdue = True


def cancel(world: World) -> None:
    stream_id = world.stream()
    with world.step():
        is_new = ledger.cancel(stream_id, actor="bob")
    world.inside.cancelled.add(stream_id)
    if is_new and world.inside.is_sender_held:
        world.inside.cancelled_while_blocked.add(stream_id)


def cancel_a_mail(world: World) -> None:
    """A caller cancels one mail, whatever state it is in; repeating it changes nothing."""
    stream_id = world.transactional
    place = world.random.choice(
        [each for each in sorted(world.inside.facts) if each[0] == stream_id]
    )
    with world.step(Verb.CANCEL_DELIVERY):
        done = ledger.cancel_delivery(*place, actor="bob")
        assert ledger.cancel_delivery(*place, actor="bob") is done
    is_cancelled = world.inside.facts[place].state is State.CANCELLED
    assert is_cancelled == (done is Cancellation.CANCELLED)


def plan_failures_elsewhere(world: World) -> None:
    """A later run takes over the recipients of failures that were never armed."""
    keys = [f"r{number}" for number in range(world.outside.keys)]
    source = pg.SQL("SELECT key AS dedupe_key FROM unnest(%(keys)s::text[]) AS key")
    with world.step(Verb.SUPERSEDE):
        ledger.supersede([world.planned], source=source, params={"keys": keys}, actor="bob")


def erase_somebody(world: World) -> None:
    address = f"r{world.random.randint(0, world.outside.keys)}@example.com"
    with world.step(Verb.ERASE):
        erased = ledger.erase(cast.sender().workspace_id, address=address)
    if erased.emptied:
        # Nobody knows any more that they had mail of this run: it may be planned once more.
        world.outside.mails_asked_again[world.planned, address] += 1


def open_cases(world: World) -> list[tuple[int, SeenDelivery]]:
    return [
        (stream_id, SeenDelivery(position, fact.last_try))
        for (stream_id, position), fact in sorted(world.inside.facts.items())
        if fact.state in {State.IN_DOUBT, State.FAILED}
    ]


def cases(world: World) -> list[tuple[int, SeenDelivery]]:
    """What a person may click on: an old page, also of before a restore, or a new one."""
    return [*world.outside.pages, *open_cases(world)]


def open_the_page(world: World) -> None:
    """What is seen now may be clicked much later."""
    world.outside.pages = open_cases(world)


def decide(world: World) -> None:
    """Ends the doubt about some mails of one stream, in one click."""
    decision = world.random.choice([*Decision, Decision.SEND_AGAIN, Decision.SEND_AGAIN])
    stream_id, seen = _click(world)
    late = _with_late_bytes(world, stream_id, seen)
    with world.step(Verb.RESOLVE):
        done = ledger.resolve(stream_id, seen, decision=decision, actor="bob")
        assert ledger.resolve(stream_id, seen, decision=decision, actor="bob") == []
    places = {(stream_id, position) for position in done}
    if decision is Decision.SEND_AGAIN:
        assert not places & late, f"{places & late} are sent again while bytes of them may leave"
        world.outside.mails_asked_again.update(world.mail(place) for place in places)
    else:
        world.inside.by_word |= places


def requeue(world: World) -> None:
    """Gives some failures of one stream another chance, in one click."""
    stream_id, seen = _click(world)
    late = _with_late_bytes(world, stream_id, seen)
    # Counted as not sent, or perhaps sent in a lost time: a second mail is asked for knowingly.
    risky = world.inside.by_word | world.fence.failed
    with world.step(Verb.REQUEUE):
        done = ledger.requeue(stream_id, seen, actor="bob")
    places = {(stream_id, position) for position in done}
    assert not places & late, f"{places & late} are requeued while bytes of them may leave"
    world.inside.by_word |= places & risky
    world.outside.mails_asked_again.update(world.mail(place) for place in places & risky)


def _click(world: World) -> tuple[int, list[SeenDelivery]]:
    """Some mails of one stream as a person saw them, each once; often after a while."""
    if world.coin():
        let_grace_pass(world)
    stream_id, _ = world.random.choice(cases(world))
    seen = {case.position: case for at, case in world.some(cases(world)) if at == stream_id}
    return stream_id, list(seen.values())


def let_grace_pass(world: World) -> None:
    """Lets the time pass in which bytes of lost tries, and of a lost time, may still leave."""
    for stream_id in world.streams:
        cast.pass_grace(stream_id)
    epochs.pass_grace(world.streams)
    world.fence.let_grace_pass()


def _with_late_bytes(world: World, stream_id: int, seen: Sequence[SeenDelivery]) -> set[Place]:
    """Those of which bytes of a doubtful try, or of a lost time, may still leave."""
    doubtful = sql.rows(
        "SELECT position FROM deliveries_delivery WHERE stream_id = %(stream)s"
        " AND position = ANY(%(positions)s::bigint[]) AND resend_after > clock_timestamp()",
        {"stream": stream_id, "positions": sql.Bigints(case.position for case in seen)},
    )
    return {(stream_id, position) for (position,) in doubtful} | world.fence.with_late_bytes
