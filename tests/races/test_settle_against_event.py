from datetime import timedelta
from functools import partial

import pytest

from postledger.deliveries import entries, ledger, queries
from postledger.deliveries.entries import Claim, Entry, Settled, StreamKind, Window
from postledger.deliveries.states import State
from tests import cast
from tests.races import collide

pytestmark = [pytest.mark.race, pytest.mark.django_db(transaction=True)]


def test_an_event_that_waits_for_the_settle_finds_nothing_left_to_say() -> None:
    stream = cast.stream(mails=20)
    claim, window = cast.armed(stream)

    with collide.uncommitted(partial(_accept, claim, window)) as settle:
        event = collide.waiting(lambda: ledger.record(stream, [collide.proof(3)]))
        assert settle.answer().counts == {State.ACCEPTED: 10}

    assert event.answer() == 0
    assert [collide.column(stream, "attempts")[n] for n in range(10)] == [1] * 10
    assert queries.read_books([stream])[stream].counts[State.ACCEPTED] == 10


def _accept(claim: Claim, window: Window) -> Settled:
    return ledger.settle(claim, [window], results=collide.accept_all(window))


def test_a_settle_that_waits_for_the_event_books_only_the_others() -> None:
    stream = cast.stream(mails=20)
    claim, window = cast.armed(stream)

    with collide.uncommitted(lambda: ledger.record(stream, [collide.proof(3)])) as event:
        settle = collide.waiting(partial(_accept, claim, window))
        assert event.answer() == 1

    assert settle.answer() == Settled(counts={State.ACCEPTED: 9}, retried=0, lost=[])
    assert [collide.column(stream, "attempts")[n] for n in range(10)] == [1] * 10
    assert queries.read_books([stream])[stream].counts[State.ACCEPTED] == 10


def test_a_settle_that_waits_for_the_event_retries_nothing_that_was_accepted() -> None:
    stream = cast.stream(mails=5)
    claim, window = cast.armed(stream)

    with collide.uncommitted(lambda: ledger.record(stream, [collide.proof(2)])):
        settle = collide.waiting(partial(_try_later, claim, window))

    assert settle.answer().retried == 4
    assert cast.states(stream)[2] is State.ACCEPTED
    assert cast.batches(stream) == [(0, 2, 2, "retry"), (3, 5, 2, "retry")]


def _later(window: Window) -> list[Entry]:
    positions = range(window.batch.lo, window.to)
    delay = timedelta()
    return [entries.try_later(at, delay=delay, code="450") for at in positions]


def _try_later(claim: Claim, window: Window) -> Settled:
    return ledger.settle(claim, [window], results=_later(window))


def test_settles_and_events_over_many_batches_count_each_mail_once_and_never_deadlock() -> None:
    streams = []

    for _ in range(12):
        stream = cast.stream(StreamKind.TRANSACTIONAL, mails=60)
        claim = cast.claim(stream, limit=60)
        windows = collide.whole(claim)
        assert collide.arm(claim, *windows) == windows
        backwards = [collide.proof(window.batch.lo) for window in reversed(windows)]
        collide.together(
            [
                partial(_settle_whole, claim, windows),
                partial(ledger.record, stream, backwards),
                partial(ledger.record, stream, backwards[20:] + backwards[:20]),
            ]
        )

        assert set(cast.states(stream).values()) == {State.ACCEPTED}
        assert set(collide.column(stream, "attempts").values()) == {1}
        assert queries.read_books([stream])[stream].counts[State.ACCEPTED] == 60
        streams.append(stream)


def _settle_whole(claim: Claim, windows: list[Window]) -> int:
    return len(ledger.settle(claim, windows, results=collide.accept_all(*windows)).lost)


def test_arm_waits_for_an_event_under_way_and_refuses_then() -> None:
    stream = cast.stream(mails=5)
    claim = cast.claim(stream)
    [window] = collide.whole(claim)

    with collide.uncommitted(lambda: ledger.record(stream, [collide.proof(2)])):
        assert len(queries.read_waiting([window])) == 5
        arm = collide.waiting(partial(collide.arm, claim, window))

    assert arm.answer() == []


def test_an_event_that_waits_for_an_arm_leaves_the_window_to_its_settle() -> None:
    stream = cast.stream(mails=5)
    claim = cast.claim(stream)
    [window] = collide.whole(claim)

    with collide.uncommitted(partial(collide.arm, claim, window)):
        event = collide.waiting(lambda: ledger.record(stream, [collide.proof(2)]))

    assert event.answer() == 1
    assert _accept(claim, window).counts == {State.ACCEPTED: 4}


@pytest.mark.parametrize("kind", [StreamKind.CAMPAIGN, StreamKind.TRANSACTIONAL])
def test_an_event_that_waits_for_a_settle_outdates_the_retry_that_replaced_the_batch(
    kind: StreamKind,
) -> None:
    stream = cast.stream(kind, mails=1)
    claim, window = cast.armed(stream)
    at = window.batch.lo

    with (
        collide.uncommitted(partial(_try_later, claim, window)) as settle,
        collide.stopping(lambda: ledger.record(stream, [collide.proof(at)])) as event,
    ):
        event.must_wait()
        assert settle.answer().retried == 1
        event.must_stop()
        # The retry is there and the event has not committed: nobody may compose from it.
        assert cast.batches(stream) == [(at, at + 1, 2, "retry")]
        early = collide.claim(stream)
        assert early is None
        assert event.answer() == 1

    late = cast.claim(stream)
    assert late.batches[0].version == 1
    [retry] = collide.whole(late)
    assert queries.read_waiting([retry]) == []
    assert ledger.arm(late, [retry], lease_time=cast.LEASE, verdicts=[]) == []
    assert cast.batches(stream) == []
    assert cast.states(stream) == {at: State.ACCEPTED}


def test_an_event_outdates_a_retry_that_was_claimed_before_it_got_its_lock() -> None:
    stream = cast.stream(mails=3)
    claim, window = cast.armed(stream)
    ledger.settle(claim, [window], results=_later(window))
    retry = cast.claim(stream)
    [second] = collide.whole(retry)

    with collide.uncommitted(lambda: ledger.record(stream, [collide.proof(1)])):
        assert [one.position for one in queries.read_waiting([second])] == [0, 1, 2]

    assert collide.arm(retry, second) == []
    assert cast.states(stream)[1] is State.ACCEPTED
