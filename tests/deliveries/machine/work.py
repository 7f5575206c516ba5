"""What workers do: claim batches, compose windows, arm them, settle them, give batches back."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise

from postledger.deliveries import entries, ledger, queries, states
from postledger.deliveries.entries import Batch, Claim, Entry, Piece, Window
from postledger.deliveries.reasons import Reason
from postledger.deliveries.states import State, Verb
from tests import cast
from tests.deliveries.machine import rows
from tests.deliveries.machine.rows import Fact, LiveBatch, Place
from tests.deliveries.machine.world import Worker, World

HOUR = timedelta(hours=1)
NOW = timedelta()
MOST_BATCHES = 5

ANSWERS: Mapping[str, Callable[[int], Entry]] = {
    "accepted": lambda at: entries.accepted(at, message_id=f"m{at}"),
    "refused": lambda at: entries.refused(at, code="bad"),
    "try_later": lambda at: entries.try_later(at, delay=NOW, code="busy"),
    "try_much_later": lambda at: entries.try_later(at, delay=HOUR, code="busy"),
    "throttled": lambda at: entries.throttled(at, delay=NOW),
    "throttled_for_long": lambda at: entries.throttled(at, delay=HOUR),
    "out_of_quota": lambda at: entries.throttled(at, delay=HOUR, is_quota=True),
    "not_sent": entries.not_sent,
    "lost": lambda at: entries.in_doubt(at, detail="the answer was lost"),
    "broken": lambda at: entries.in_doubt(at, detail="the line broke"),
}
TAKEN = ("accepted", "lost")
# By these the provider has nothing of the mail, and will say nothing of it.
HARMLESS = ("throttled", "throttled_for_long", "out_of_quota", "not_sent")
# What the provider did with a mail, and what the worker will be told; the likely ones more often.
LIKELY = [*ANSWERS, "accepted", "accepted", "try_later", "not_sent"]


def idle(world: World) -> list[Worker]:
    return [worker for worker in world.workers if worker.claim and not worker.armed]


def composed(world: World) -> list[Worker]:
    return [worker for worker in world.workers if worker.composed]


def armed(world: World) -> list[Worker]:
    return [worker for worker in world.workers if worker.armed]


def claim_and_compose(world: World) -> None:
    is_alone = bool(world.inside.suspects) and world.coin()
    # Also of streams that must not send.
    ready = world.ready_streams() if world.random.randint(0, 3) else world.streams
    claim = take(world, world.random.choice(ready or world.streams), is_alone=is_alone)
    if claim:
        # Whoever had this worker's place before is killed: it forgets, its lease does not.
        number = world.random.randint(0, len(world.workers) - 1)
        worker = world.workers[number] = Worker(claim)
        _compose(world, worker, is_fresh=False)
        if world.coin():
            _arm(world, worker)


def work_a_little(world: World, claim: Claim) -> None:
    """A worker gets as far as it does before it dies."""
    worker = Worker(claim)
    if world.coin():
        _compose(world, worker, is_fresh=False)
        _arm(world, worker)
    if worker.armed and world.coin():
        _settle(world, worker)


def take(world: World, stream_id: int, *, is_alone: bool) -> Claim | None:
    """Claims several healthy batches, or one suspect alone."""
    with world.step():
        if is_alone:
            claim = ledger.claim_suspect(stream_id, holder="w", lease_time=cast.LEASE)
        else:
            limit = world.random.randint(1, MOST_BATCHES)
            claim = ledger.claim(stream_id, holder="w", limit=limit, lease_time=cast.LEASE)
    if claim:
        _check_claim(world, stream_id, claim, is_alone=is_alone)
    return claim


def _check_claim(world: World, stream_id: int, claim: Claim, *, is_alone: bool) -> None:
    assert world.may_send(stream_id), "work was claimed although its stream is held or fenced"
    assert claim.epoch == world.fence.epoch
    world.outside.note_token(claim.lease)
    for batch in claim.batches:
        _check_tries(world, batch)
    taken = {batch.id for batch in claim.batches}
    suspects = taken & world.inside.suspects
    if is_alone:
        assert len(taken) == 1, "a suspect was claimed beside others"
        assert suspects == taken, "a batch that lost nobody was claimed alone"
        world.inside.lone_leases.add(claim.lease)
    else:
        assert not suspects, "a suspect was claimed among others"


def _check_tries(world: World, batch: Batch) -> None:
    """Numbers of tries start after all those that a lost time may have given out."""
    for position in range(batch.lo, batch.hi):
        place = (batch.stream_id, position)
        fact = world.inside.facts.get(place)
        if fact is not None and fact.state is State.WAITING:
            lost = world.fence.lost_tries.get(place, 0)
            assert batch.try_number > lost, f"try {batch.try_number} of {place} may come again"


def compose_the_next_windows(world: World) -> None:
    _compose(world, world.random.choice(idle(world)), is_fresh=world.coin())


def _compose(world: World, worker: Worker, *, is_fresh: bool) -> None:
    assert worker.claim is not None
    size = world.random.choice([1, 2, 3, 8])
    batches = queries.read_leased(worker.claim) if is_fresh else worker.claim.batches
    windows = [Window(batch, min(batch.lo + size, batch.hi)) for batch in batches]
    waiting = [recipient.position for recipient in queries.read_waiting(windows)]
    worker.composed = [
        (window, [at for at in waiting if window.batch.lo <= at < window.to]) for window in windows
    ]


def arm(world: World) -> None:
    worker = world.random.choice(composed(world))
    _arm(world, worker)
    if worker.armed and world.coin():
        _settle(world, worker)


def _arm(world: World, worker: Worker) -> None:
    """Arms some of the composed windows of one claim, with what the gates say of their mails."""
    assert worker.claim is not None
    chosen = world.some(worker.composed)
    worker.composed = [each for each in worker.composed if each not in chosen]
    verdicts, sends = _judge(world, chosen)
    given = verdicts or (None if all(sends.values()) else [])
    windows = [window for window, _ in chosen]
    starts = _starts(world)
    with world.step(Verb.ARM):
        allowed = ledger.arm(worker.claim, windows, lease_time=cast.LEASE, verdicts=given)
    if allowed:
        assert world.may_send(windows[0].batch.stream_id), "a held or fenced window was armed"
        assert worker.claim.epoch == world.fence.epoch, "a claim of an earlier epoch was armed"
        world.outside.note_arm(allowed.token)
        _end_alone(world, worker.claim)
    if given is not None:
        _forgive(world, allowed, starts)
    for window in allowed:
        _hand_over(world, worker, window, sends[window.batch.id])


def _judge(
    world: World, chosen: Sequence[tuple[Window, list[int]]]
) -> tuple[list[Entry], dict[int, list[int]]]:
    """The verdicts of the gates, and the positions that are sent, by batch."""
    verdicts: list[Entry] = []
    sends: dict[int, list[int]] = {}
    for window, positions in chosen:
        judged = [at for at in positions if world.random.randint(0, 5) == 0]
        verdict = world.random.choice([entries.suppressed, entries.invalid])
        verdicts += [verdict(at, code="no") for at in judged]
        sends[window.batch.id] = [at for at in positions if at not in judged]
    return verdicts, sends


def _end_alone(world: World, claim: Claim) -> None:
    if claim.is_alone:
        ledger.end_alone(claim)
        world.inside.lone_leases.discard(claim.lease)


def _starts(world: World) -> dict[int, int]:
    """Where each suspect begins."""
    suspects = world.inside.suspects
    if not suspects:
        return {}
    batches = rows.read_batches(world.streams)
    return {batch.id: batch.lo for batch in batches if batch.id in suspects}


def _forgive(world: World, allowed: Sequence[Window], before: Mapping[int, int]) -> None:
    """Batches whose window was armed with verdicts, or passed over, are suspects no more."""
    after = _starts(world)
    passed_over = {id_ for id_, lo in before.items() if after.get(id_) != lo}
    for id_ in passed_over | {window.batch.id for window in allowed}:
        world.inside.forgive(id_)


def _hand_over(world: World, worker: Worker, window: Window, positions: Sequence[int]) -> None:
    """The provider acts at once; what it did reaches the ledger later, or never."""
    results = []
    for position in positions:
        place = (window.batch.stream_id, position)
        attempt = (*place, window.batch.try_number)
        fact = world.inside.facts[place]
        assert fact.state is State.WAITING, f"sent {place}: {fact}"
        world.outside.note_try(attempt, world.fence.epoch)
        answer = world.random.choice(LIKELY)
        if answer not in HARMLESS:
            world.outside.handed_over.add(place)
        if answer in TAKEN:
            world.outside.note_taken(attempt, world.mail(place))
        results.append(ANSWERS[answer](position))
    worker.armed.append((window, results))


def settle(world: World) -> None:
    _settle(world, world.random.choice(armed(world)))


def _settle(world: World, worker: Worker) -> None:
    """Settles some of the windows that a worker has armed, or only the first mails of one."""
    assert worker.claim is not None
    chosen = world.some(worker.armed)
    windows = [window for window, _ in chosen]
    settled_to = _first_mails(world, windows)
    cut = next(iter(settled_to.values()), None)
    results = [
        entry for _, given in chosen for entry in given if cut is None or entry.position < cut
    ]
    is_late = worker.claim.epoch < world.fence.epoch
    before = world.inside.facts
    with world.step(*((Verb.RECORD, Verb.FENCE) if is_late else (Verb.SETTLE, Verb.RECORD))):
        settled = ledger.settle(worker.claim, windows, results=results, settled_to=settled_to)
    assert not is_late or settled.lost == windows, "a window of an earlier epoch was settled"
    _check_lost(world, before, settled.lost, results)
    _check_earlier_denials(world, before, is_late=is_late)
    lost = {window.batch.id for window in settled.lost}
    for window in windows:
        if window.batch.id not in lost:
            world.inside.forgive(window.batch.id)
    _go_on(worker, windows, lost, settled_to)


def _first_mails(world: World, windows: Sequence[Window]) -> dict[int, int]:
    """Sometimes only the first mails have an answer yet: a prefix is settled."""
    prefix = world.random.randint(0, 4)
    batch = windows[0].batch
    if prefix and len(windows) == 1 and batch.lo + prefix < windows[0].to:
        return {batch.id: batch.lo + prefix}
    return {}


def _check_lost(
    world: World, before: Mapping[Place, Fact], lost: Sequence[Window], results: Sequence[Entry]
) -> None:
    """Positions of a lost window change by evidence only, and acceptances count."""
    accepted = {entry.position for entry in results if entry.state is State.ACCEPTED}
    for window in lost:
        for position in range(window.batch.lo, window.to):
            place = (window.batch.stream_id, position)
            old, new = before.get(place), world.inside.facts.get(place)
            if old is None or new is None:
                continue
            is_evidence = states.allows(Verb.RECORD, old.state, new.state)
            is_fenced = states.allows(Verb.FENCE, old.state, new.state)
            assert new.state is old.state or is_evidence or is_fenced
            assert position not in accepted or new.state is State.ACCEPTED


def _check_earlier_denials(world: World, before: Mapping[Place, Fact], *, is_late: bool) -> None:
    """What an earlier epoch denies ends no doubt."""
    if is_late:
        for place, old in before.items():
            new = world.inside.facts[place]
            assert new == old or new.state in {State.ACCEPTED, State.IN_DOUBT}, f"{place}: {new}"


def _go_on(
    worker: Worker,
    windows: Collection[Window],
    lost: Collection[int],
    settled_to: Mapping[int, int],
) -> None:
    """The worker keeps what is left of its batches, and what of them is still armed."""
    assert worker.claim is not None
    moved = {
        window.batch.id: settled_to.get(window.batch.id, window.to)
        for window in windows
        if window.batch.id not in lost
    }
    kept = [batch for batch in worker.claim.batches if batch.id not in lost]
    starts = [replace(batch, lo=moved.get(batch.id, batch.lo)) for batch in kept]
    worker.claim = replace(worker.claim, batches=[batch for batch in starts if batch.lo < batch.hi])
    rest = []
    for window, answers in worker.armed:
        cut = moved.get(window.batch.id, window.batch.lo)
        if window.batch.id not in lost and cut < window.to:
            later = [entry for entry in answers if entry.position >= cut]
            rest.append((Window(replace(window.batch, lo=cut), window.to), later))
    worker.armed = rest


def go_on_after_a_restore(world: World, worker: Worker) -> None:
    """A worker of an earlier epoch does what it was about to do; none of it changes work."""
    if worker.armed:
        _settle(world, worker)
    elif worker.composed and world.coin():
        _arm(world, worker)
    else:
        _give_back(world, worker)


def give_back(world: World) -> None:
    _give_back(world, world.random.choice(idle(world)))


def _give_back(world: World, worker: Worker) -> None:
    """Gives some batches back, sometimes as suspects."""
    claim = worker.claim
    assert claim is not None
    if not claim.batches:
        return
    is_suspect = world.random.randint(0, 3) == 0
    with world.step():
        given = ledger.wait(
            claim, world.some(claim.batches), reason=Reason.HANDED_BACK, is_suspect=is_suspect
        )
    assert not (given and claim.epoch < world.fence.epoch), "an earlier epoch gave work back"
    if is_suspect:
        world.inside.suspects.update(given)
    # A worker that goes on after it gave its work back: what it composed must not be armed.
    if world.coin():
        worker.claim, worker.composed = None, []


def follow_to_new_addresses(world: World) -> None:
    """Recipients of a topic have got other addresses; a worker reads that before it composes."""
    worker = world.random.choice(idle(world))
    claim = worker.claim
    assert claim is not None
    batches = [batch for batch in claim.batches if batch.stream_id == world.planned]
    positions = [at for batch in batches for at in range(batch.lo, batch.hi)]
    if not positions:
        return
    wanted = {at: f"moved{at}@example.com" for at in world.some(positions)}
    before = _addresses(world)
    with world.step():
        moved = ledger.readdress(claim, world.planned, wanted)
    assert not moved or world.is_topic, "the mail of a run went to another address than its key"
    assert not moved or claim.epoch == world.fence.epoch, "an earlier epoch changed addresses"
    for position in moved:
        _check_moved(world, (world.planned, position))
    changed = {at: address for at, address in _addresses(world).items() if address != before[at]}
    assert changed.items() <= {at: wanted[at] for at in moved}.items()


def _check_moved(world: World, place: Place) -> None:
    """Nothing of it is with a provider, and nothing ever was."""
    assert place not in world.outside.handed_over, f"{place} was handed over to another address"
    [batch] = [each for each in rows.read_batches([place[0]]) if place in each.places()]
    assert batch.armed_to is None, f"{place} is armed, and got another address"
    world.outside.moved.add(place)


def _addresses(world: World) -> dict[int, str]:
    return {place[1]: address for place, _, address in rows.read_lines([world.planned])}


def give_back_in_pieces(world: World) -> None:
    """Some mails of a batch have to wait by themselves; the others are claimed again."""
    worker = world.random.choice(idle(world))
    claim = worker.claim
    assert claim is not None
    if not claim.batches:
        return
    batch = world.random.choice(claim.batches)
    pieces = _cut(world, batch)
    before = {each.id: each for each in rows.read_batches([batch.stream_id])}.get(batch.id)
    with world.step():
        given = ledger.wait_apart(claim, batch, pieces)
    if given:
        assert claim.epoch == world.fence.epoch, "an earlier epoch gave work back"
        assert before is not None
        _check_pieces(world, before, pieces, given)
    if world.coin():
        worker.claim, worker.composed = None, []


def _cut(world: World, batch: Batch) -> list[Piece]:
    inner = range(batch.lo + 1, batch.hi)
    cuts = sorted(world.random.sample(inner, k=world.random.randint(0, len(inner))))
    ends = [batch.lo, *cuts, batch.hi]
    now = datetime.now(UTC)
    waits = [(None, None), (now + HOUR, Reason.OUTSIDE_HOURS), (now, Reason.SCHEDULED)]
    return [Piece(lo, hi, *world.random.choice(waits)) for lo, hi in pairwise(ends)]


def _check_pieces(
    world: World, whole: LiveBatch, pieces: Sequence[Piece], given: Collection[int]
) -> None:
    """A piece is a suspect if its batch was; one mail alone has killed nobody yet."""
    left = [each for each in rows.read_batches([whole.stream_id]) if each.id in given]
    assert [(each.lo, each.hi) for each in left] == [(each.lo, each.hi) for each in pieces]
    inside = world.inside
    is_suspect = whole.id in inside.suspects
    deaths = inside.lone_deaths[whole.id]
    for batch, piece in zip(left, pieces, strict=True):
        assert batch.lease is None
        assert batch.reason == (piece.reason or whole.reason)
        assert batch.due_at == (piece.due_at or whole.due_at)
        if is_suspect:
            is_new_one = piece.hi - piece.lo == 1 < whole.hi - whole.lo
            inside.suspects.add(batch.id)
            inside.lone_deaths[batch.id] = 0 if is_new_one else deaths
            assert batch.lone_losses == inside.lone_deaths[batch.id]
