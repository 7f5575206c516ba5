import threading
import time
from functools import partial

import pytest

from postledger.deliveries import entries, ledger, queries
from postledger.deliveries.entries import Batch, Settled, Window
from postledger.deliveries.reasons import Reason
from postledger.deliveries.states import State
from tests import cast
from tests.races import collide

pytestmark = [pytest.mark.race, pytest.mark.django_db(transaction=True)]


def _cancel(stream: int) -> bool:
    return ledger.cancel(stream, actor="alice")


def test_a_cancel_waits_for_the_arm_under_way_and_spares_its_window() -> None:
    stream = cast.stream(mails=10)
    claim = cast.claim(stream)
    window = Window(claim.batches[0], 4)

    with collide.uncommitted(partial(collide.arm, claim, window)):
        cancel = collide.waiting(partial(_cancel, stream))
    assert cancel.answer()
    assert ledger.drain(stream) == 0

    results = collide.accept_all(window)
    assert ledger.settle(claim, [window], results=results).counts == {State.ACCEPTED: 4}
    ledger.wait(claim, claim.batches, reason=Reason.HANDED_BACK)
    assert ledger.drain(stream) == 6
    books = queries.read_books([stream])[stream]
    assert (books.counts[State.ACCEPTED], books.counts[State.CANCELLED]) == (4, 6)


def test_an_arm_waits_for_the_cancel_under_way_and_refuses_then() -> None:
    stream = cast.stream(mails=10)
    claim = cast.claim(stream)
    [window] = collide.whole(claim)

    with collide.uncommitted(partial(_cancel, stream)):
        arm = collide.waiting(partial(collide.arm, claim, window))

    assert arm.answer() == []


def test_a_drain_passes_over_what_is_being_claimed() -> None:
    stream = cast.stream(mails=10)

    with collide.uncommitted(partial(cast.claim, stream)) as claiming:
        assert _cancel(stream)
        assert collide.start(partial(ledger.drain, stream)).answer() == 0
        claim = claiming.answer()

    [window] = collide.whole(claim)
    assert collide.arm(claim, window) == []
    ledger.wait(claim, claim.batches, reason=Reason.HANDED_BACK)
    assert ledger.drain(stream) == 10


def test_a_drain_passes_over_what_is_being_settled_and_ends_its_retry_later() -> None:
    stream = cast.stream(mails=3)
    claim, window = cast.armed(stream)
    _cancel(stream)
    results = [
        entries.accepted(0, message_id="m0"),
        entries.try_later(1, delay=cast.LEASE, code="450"),
        entries.in_doubt(2),
    ]

    with collide.uncommitted(lambda: ledger.settle(claim, [window], results=results)):
        assert collide.start(partial(ledger.drain, stream)).answer() == 0

    assert ledger.drain(stream) == 1
    assert cast.states(stream) == {0: State.ACCEPTED, 1: State.CANCELLED, 2: State.IN_DOUBT}


def test_a_claim_passes_over_what_is_being_drained() -> None:
    stream = cast.stream(mails=10)
    _cancel(stream)

    with collide.uncommitted(partial(ledger.drain, stream)) as drain:
        assert collide.start(partial(collide.claim, stream)).answer() is None
        assert drain.answer() == 10


def test_an_event_that_waits_for_the_drain_still_turns_cancelled_into_accepted() -> None:
    stream = cast.stream(mails=3)
    claim, window = cast.armed(stream)
    later = [entries.try_later(n, delay=cast.LEASE, code="450") for n in range(3)]
    ledger.settle(claim, [window], results=later)
    _cancel(stream)

    with collide.uncommitted(partial(ledger.drain, stream)) as drain:
        event = collide.waiting(lambda: ledger.record(stream, [collide.proof(1)]))
        assert drain.answer() == 3

    assert event.answer() == 1
    books = queries.read_books([stream])[stream]
    assert (books.counts[State.ACCEPTED], books.counts[State.CANCELLED]) == (1, 2)


def test_two_drains_and_four_workers_share_a_cancelled_stream_without_touching_armed_mail() -> None:
    stream = cast.stream(mails=6_000)
    is_cancelled = threading.Event()

    *sent, first, second = collide.together(
        [partial(_work, stream, is_cancelled, cancels_at=60 if n == 0 else None) for n in range(4)]
        + [partial(_drain_all, stream, is_cancelled)] * 2
    )
    while ledger.drain(stream):
        pass

    handed_over = {position for positions in sent for position in positions}
    states = cast.states(stream)
    assert {at for at, state in states.items() if state is State.ACCEPTED} == handed_over
    assert {at for at, state in states.items() if state is State.CANCELLED} == set(
        range(6_000)
    ) - handed_over
    assert 60 <= len(handed_over) < 6_000
    assert first or second
    assert cast.batches(stream) == []


def _work(stream: int, is_cancelled: threading.Event, *, cancels_at: int | None) -> list[int]:
    sent: list[int] = []
    while claim := collide.claim(stream, limit=1):
        batch: Batch | None = claim.batches[0]
        while batch:
            window = Window(batch, min(batch.lo + 20, batch.hi))
            if not collide.arm(claim, window):
                ledger.wait(claim, [batch], reason=Reason.HANDED_BACK)
                break
            positions = range(batch.lo, window.to)
            sent += positions
            if cancels_at is not None and len(sent) >= cancels_at and not is_cancelled.is_set():
                _cancel(stream)
                is_cancelled.set()
                # The drains have their chance while this window is with the provider.
                time.sleep(0.1)
            settled: Settled = ledger.settle(claim, [window], results=collide.accept_all(window))
            assert settled.counts == {State.ACCEPTED: len(positions)}
            batch = cast.again(batch, lo=window.to) if window.to < batch.hi else None
    return sent


def _drain_all(stream: int, is_cancelled: threading.Event) -> list[int]:
    assert is_cancelled.wait(collide.PATIENCE)
    drained = []
    while count := ledger.drain(stream):
        drained.append(count)
    return drained
