from collections.abc import Sequence
from datetime import timedelta
from functools import partial

import pytest

from postledger.deliveries import entries, ledger, queries
from postledger.deliveries.entries import Claim, Entry, Settled, Window
from postledger.deliveries.ledger import Swept
from postledger.deliveries.states import State
from tests import cast
from tests.races import collide

pytestmark = [pytest.mark.race, pytest.mark.django_db(transaction=True)]

SOON = timedelta(seconds=30)


def _mixed(window: Window) -> list[Entry]:
    """Three accepted, one refused, one to be tried later."""
    lo = window.batch.lo
    return [
        *(entries.accepted(lo + n, message_id=f"m{lo + n}") for n in range(3)),
        entries.refused(lo + 3, code="550"),
        entries.try_later(lo + 4, delay=SOON, code="450"),
    ]


def test_a_settle_that_had_to_wait_for_the_sweep_counts_as_evidence() -> None:
    stream = cast.stream(mails=8)
    claim, window = cast.armed(stream, size=5)
    cast.run_out(claim.lease)

    with collide.uncommitted(ledger.sweep) as sweep:
        settle = collide.waiting(lambda: ledger.settle(claim, [window], results=_mixed(window)))
        assert sweep.answer() == Swept(given_back=1, in_doubt=5, halved=0, poisoned=0)
    settled = settle.answer()

    assert settled == Settled(counts={}, retried=0, lost=[window])
    assert cast.states(stream) == {
        **dict.fromkeys((0, 1, 2), State.ACCEPTED),
        3: State.FAILED,
        **dict.fromkeys((4, 5, 6, 7), State.WAITING),
    }
    assert cast.batches(stream) == [(4, 5, 2, "disproved"), (5, 8, 1, "lease_lost")]
    assert [collide.column(stream, "attempts")[n] for n in range(8)] == [1] * 5 + [0] * 3
    assert queries.read_books([stream])[stream].counts[State.IN_DOUBT] == 0


def test_a_sweep_passes_over_a_window_that_is_being_settled() -> None:
    stream = cast.stream(mails=8)
    claim, window = cast.armed(stream, size=5)
    cast.run_out(claim.lease)

    with collide.uncommitted(
        lambda: ledger.settle(claim, [window], results=_mixed(window))
    ) as settle:
        swept = collide.start(ledger.sweep).answer()
        settled = settle.answer()

    assert swept == Swept(given_back=0, in_doubt=0, halved=0, poisoned=0)
    assert settled.lost == []
    assert settled.counts == {State.ACCEPTED: 3, State.FAILED: 1}
    assert ledger.sweep() == Swept(given_back=1, in_doubt=0, halved=0, poisoned=0)
    assert cast.batches(stream) == [(4, 5, 2, "retry"), (5, 8, 1, "lease_lost")]


@pytest.mark.slow
@pytest.mark.sample
def test_of_settle_and_sweep_at_once_exactly_one_books_the_window() -> None:
    streams = []

    for n in range(20):
        stream = cast.stream(mails=20)
        claim, window = cast.armed(stream)
        cast.run_out(claim.lease)
        settle = _settler(claim, window, collide.accept_all(window))
        pair = (settle, ledger.sweep) if n % 2 else (ledger.sweep, settle)
        outcomes = collide.together(pair)
        settled = next(outcome for outcome in outcomes if isinstance(outcome, Settled))
        swept = next(outcome for outcome in outcomes if isinstance(outcome, Swept))

        is_lost = settled.lost == [window]
        assert swept.in_doubt == (10 if is_lost else 0)
        assert settled.counts == ({} if is_lost else {State.ACCEPTED: 10})
        assert [cast.states(stream)[p] for p in range(10)] == [State.ACCEPTED] * 10
        assert [collide.column(stream, "attempts")[p] for p in range(10)] == [1] * 10
        ledger.sweep()
        assert cast.batches(stream) == [(10, 20, 1, "lease_lost")]
        streams.append(stream)


def _settler(
    claim: Claim, window: Window, results: Sequence[Entry]
) -> collide.Verb[Settled | Swept]:
    return lambda: ledger.settle(claim, [window], results=results)


@pytest.mark.slow
@pytest.mark.sample
def test_a_late_wish_to_try_again_makes_one_retry_whoever_is_first() -> None:
    streams = []

    for _ in range(15):
        stream = cast.stream(mails=10)
        claim, window = cast.armed(stream)
        cast.run_out(claim.lease)
        later = [entries.try_later(p, delay=SOON, code="450") for p in range(10)]
        pair: list[collide.Verb[Settled | Swept]] = [
            _settler(claim, window, later),
            ledger.sweep,
        ]
        collide.together(pair)

        assert set(cast.states(stream).values()) == {State.WAITING}
        assert {number for _, _, number, _ in cast.batches(stream)} == {2}
        assert set(collide.column(stream, "attempts").values()) == {1}
        streams.append(stream)


def test_a_window_swept_without_an_answer_is_in_doubt_and_nothing_sends_it_again() -> None:
    stream = cast.stream(mails=10)
    claim, _ = cast.armed(stream)
    cast.run_out(claim.lease)

    with collide.uncommitted(ledger.sweep):
        assert collide.start(partial(collide.claim, stream)).answer() is None

    assert set(cast.states(stream).values()) == {State.IN_DOUBT}
    assert cast.batches(stream) == []
