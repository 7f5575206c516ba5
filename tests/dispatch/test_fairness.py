"""Who is carried next: urgent before bulk, and no workspace, stream or kind alone."""

import asyncio
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from postledger.deliveries.entries import StreamKind
from postledger.deliveries.states import State
from postledger.dispatch import dispatcher as dispatcher_module
from postledger.dispatch.capacity import Limits
from postledger.dispatch.db_threads import DbThreads
from postledger.dispatch.dispatcher import Dispatcher
from postledger.dispatch.options import Options
from postledger.dispatch.provider_pool import ProviderPool
from postledger.lib.ids import DeliveryId
from postledger.providers.base import Accepted, OutgoingMessage
from tests.dispatch import office, vendors
from tests.dispatch.vendors import Answers
from tests.races import collide

pytestmark = pytest.mark.django_db(transaction=True)


def limited(**limits: int) -> Options:
    return replace(office.OPTIONS, limits=replace(Limits(), **limits))


@pytest.mark.slow
@pytest.mark.sample
def test_single_mails_are_quick_while_a_campaign_of_20000_goes_out(tmp_path: Path) -> None:
    acme, globex = (office.open_office(tmp_path, name) for name in ("acme", "globex"))
    bulk = office.stream(acme)
    collide.plan(bulk, 1, 10_000)
    collide.plan(bulk, 10_001, 20_000)
    single = office.stream(globex, kind=StreamKind.TRANSACTIONAL)
    waits: list[float] = []

    with office.dispatching() as dispatcher:
        office.until(lambda: len(acme.taken()) > 100)
        for number in range(15):
            office.enqueue(single, [f"r{number}@example.com"])
            began = time.monotonic()
            dispatcher.wake(single)
            office.until(lambda: not office.waiting(single))
            waits.append(time.monotonic() - began)
        meanwhile = office.waiting(bulk)
        office.until(lambda: not office.waiting(bulk), patience=300)

    assert meanwhile > 0, "the campaign was over before"
    # Behind the whole campaign they would have waited until it is over.
    assert sorted(waits)[len(waits) // 2] < 2
    assert max(waits) < 20
    assert office.counts(bulk) == {State.ACCEPTED: 20_000}
    assert office.counts(single) == {State.ACCEPTED: 15}
    assert office.sent_once(acme, bulk)


def test_five_streams_of_one_workspace_get_no_more_turns_than_one_of_another(
    tmp_path: Path,
) -> None:
    async def noting(window: Sequence[OutgoingMessage], deadline: float) -> Answers:
        order.extend(message.sender.partition("@")[2] for message in window)
        await asyncio.sleep(0.02)
        for index, message in enumerate(window):
            yield index, Accepted(message.id)

    order: list[str] = []
    with vendors.registered(noting, window_size=500):
        acme, globex = (
            office.open_office(tmp_path, name, kind=vendors.KIND) for name in ("acme", "globex")
        )
        many = [office.stream(acme, ["r@example.com"]) for _ in range(5)]
        one = office.stream(globex)
        # As many turns as the five: each takes four batches, and a chunk is at least one.
        for _ in range(20):
            office.enqueue(one, ["r@example.com"])
        with office.dispatching(limited(slots=1)):
            office.until(lambda: not office.waiting(one, *many), patience=30)

    turns = [
        sender for sender, before in zip(order, [None, *order], strict=False) if sender != before
    ]
    assert Counter(order) == {"acme.example": 5, "globex.example": 20}
    assert len(turns) >= 9  # they took turns, and neither had two in a row while both had work


class Door:
    """A provider that keeps its calls until somebody lets them go on."""

    def __init__(self) -> None:
        self.inside: Counter[int] = Counter()  # calls of each stream
        self.peak: list[int] = []
        self.is_open = False

    async def keep(self, window: Sequence[OutgoingMessage], deadline: float) -> Answers:
        delivery_id = DeliveryId.parse(window[0].id)
        assert delivery_id is not None
        self.inside[delivery_id.stream_id] += 1
        self.peak.append(sum(self.inside.values()))
        while not self.is_open:  # noqa: ASYNC110  the test says so from another thread
            await asyncio.sleep(0.01)
        self.inside[delivery_id.stream_id] -= 1
        for index, message in enumerate(window):
            yield index, Accepted(message.id)


def test_one_workspace_never_takes_all_places(tmp_path: Path) -> None:
    door = Door()
    with vendors.registered(door.keep):
        acme, globex = (
            office.open_office(tmp_path, name, kind=vendors.KIND) for name in ("acme", "globex")
        )
        many = [office.stream(acme, office.people(1), kind=StreamKind.TOPIC) for _ in range(12)]
        with office.dispatching() as dispatcher:
            office.until(lambda: len(door.peak) >= 8, dispatcher)
            late = office.stream(globex, office.people(1), kind=StreamKind.TOPIC)
            office.until(lambda: door.inside[late] == 1, dispatcher)
            taken = sum(door.inside.values()) - 1
            door.is_open = True
            office.until(lambda: not office.waiting(late, *many), dispatcher)

    assert taken == Limits().workspace


@pytest.mark.slow
@pytest.mark.sample
def test_test_mail_that_hangs_leaves_slots_to_the_live_mail_of_its_workspace(
    acme: office.Office,
) -> None:
    tests = [
        office.stream(acme, ["hang@example.com"], kind=StreamKind.TOPIC, is_test=True)
        for _ in range(9)
    ]
    served: list[int] = []  # test streams at the same time

    def are_served() -> bool:
        served.append(sum(map(office.is_leased, tests)))
        return served[-1] >= Limits().tests

    with office.dispatching() as dispatcher:
        office.until(are_served, dispatcher)
        live = office.stream(acme, office.people(1), kind=StreamKind.TRANSACTIONAL)
        office.until(lambda: not are_served() or not office.waiting(live), dispatcher)
        office.until(lambda: not office.waiting(live, *tests), dispatcher)

    assert max(served) == Limits().tests
    assert office.counts(live) == {State.ACCEPTED: 1}


def has_looked(dispatcher: Dispatcher) -> bool:
    """Whether the poll that every dispatcher begins with is over."""
    return dispatcher._polled_at > 0


def test_a_bell_is_answered_at_once_and_by_a_claim_of_its_own(
    acme: office.Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No tick is heard here, and the next look is far away: only the bell finds the work."""
    monkeypatch.setattr(dispatcher_module, "POLL_EVERY", 600.0)
    stream = office.stream(acme, kind=StreamKind.TRANSACTIONAL)

    with office.dispatching() as dispatcher:
        office.until(lambda: has_looked(dispatcher))
        for number in range(60):
            office.enqueue(stream, [f"r{number}@example.com"])
            dispatcher.wake(stream)
        office.until(lambda: not office.waiting(stream))

    assert office.counts(stream) == {State.ACCEPTED: 60}
    assert office.sent_once(acme, stream)


def test_a_bell_that_rings_during_a_claim_is_answered_after_it(acme: office.Office) -> None:
    """The claim may have looked before the work was there that the bell rings for."""
    stream = office.stream(acme, kind=StreamKind.TRANSACTIONAL)

    facts = office.facts(stream)

    async def journey() -> None:
        db = DbThreads(1)
        dispatcher = Dispatcher("worker", office.OPTIONS)
        providers = ProviderPool(db, office.OPTIONS.shortest_lease)
        context = office.context(db, providers)
        dispatcher._start(facts, context)
        [(claiming, carrier)] = dispatcher._workers.items()
        dispatcher._wake(stream)
        await dispatcher._serve_woken(context)
        assert carrier.is_claiming
        assert list(dispatcher._woken) == [stream]

        dispatcher._woken_up.clear()
        await claiming
        assert dispatcher._woken_up.is_set()
        await dispatcher._serve_woken(context)
        assert not dispatcher._woken
        assert len(dispatcher._workers) == 1
        await asyncio.wait(dispatcher._workers)
        await providers.close()
        db.close()

    asyncio.run(journey())


def test_a_bell_for_a_stream_that_does_not_exist_is_forgotten(acme: office.Office) -> None:
    stream = office.stream(acme, office.people(1))

    with office.dispatching() as dispatcher:
        for number in range(100):
            dispatcher.wake(number)
        office.until(lambda: not office.waiting(stream))
        office.until(lambda: not dispatcher._woken)


def test_a_bell_without_room_is_answered_when_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatcher_module, "POLL_EVERY", 600.0)
    door = Door()
    with vendors.registered(door.keep):
        acme = office.open_office(tmp_path, kind=vendors.KIND)
        slow = office.stream(acme, ["slow@example.com"], kind=StreamKind.TRANSACTIONAL)
        with office.dispatching(limited(slots=1)) as dispatcher:
            office.until(lambda: bool(door.peak))
            quick = office.stream(acme, ["r@example.com"], kind=StreamKind.TRANSACTIONAL)
            dispatcher.wake(quick)
            office.until(lambda: quick in dispatcher._woken)
            door.is_open = True
            office.until(lambda: not office.waiting(slow, quick))
            office.until(lambda: not dispatcher._woken)  # and not by a look alone

    assert office.counts(slow) == office.counts(quick) == {State.ACCEPTED: 1}
