"""A single mail is cancelled or sent, whoever comes first, and never both."""

from functools import partial

import pytest

from postledger.deliveries import entries, ledger
from postledger.deliveries.entries import Cancellation, StreamKind
from postledger.deliveries.states import State
from tests import cast
from tests.races import collide

pytestmark = [pytest.mark.race, pytest.mark.django_db(transaction=True)]


def _single() -> tuple[int, int]:
    stream = cast.stream(StreamKind.TRANSACTIONAL)
    [position] = cast.enqueue(stream, [0])
    return stream, position


def _cancel(stream: int, position: int) -> Cancellation | None:
    return ledger.cancel_delivery(stream, position, actor="alice")


def test_a_cancel_waits_for_the_arm_under_way_and_is_too_late() -> None:
    stream, position = _single()
    claim = cast.claim(stream)

    with collide.uncommitted(partial(collide.arm, claim)) as arm:
        cancel = collide.waiting(partial(_cancel, stream, position))
        windows = arm.answer()

    assert cancel.answer() is Cancellation.ARMED
    settled = ledger.settle(claim, windows, results=collide.accept_all(*windows))
    assert settled.counts == {State.ACCEPTED: 1}


@pytest.mark.parametrize("verdicts", [None, []], ids=["plain", "with verdicts"])
def test_an_arm_waits_for_the_cancel_under_way_and_finds_nothing(
    verdicts: list[entries.Entry] | None,
) -> None:
    stream, position = _single()
    claim = cast.claim(stream)

    with collide.uncommitted(partial(_cancel, stream, position)) as cancel:
        arm = collide.waiting(
            lambda: ledger.arm(
                claim, collide.whole(claim), lease_time=cast.LEASE, verdicts=verdicts
            )
        )
        assert cancel.answer() is Cancellation.CANCELLED

    assert arm.answer() == []
    assert cast.states(stream) == {position: State.CANCELLED}


def test_a_cancel_waits_for_the_claim_under_way_and_takes_the_mail_from_it() -> None:
    stream, position = _single()

    with collide.uncommitted(partial(cast.claim, stream)) as claiming:
        cancel = collide.waiting(partial(_cancel, stream, position))
        claim = claiming.answer()

    assert cancel.answer() is Cancellation.CANCELLED
    assert collide.arm(claim) == []


def test_a_claim_passes_over_a_mail_that_is_being_cancelled() -> None:
    stream, position = _single()

    with collide.uncommitted(partial(_cancel, stream, position)):
        assert collide.start(partial(collide.claim, stream)).answer() is None


def test_a_cancel_that_waits_for_a_settle_cancels_the_retry_that_it_made() -> None:
    stream, position = _single()
    claim, window = cast.armed(stream)
    results = [entries.try_later(position, delay=cast.LEASE, code="450")]

    with collide.uncommitted(lambda: ledger.settle(claim, [window], results=results)):
        cancel = collide.waiting(partial(_cancel, stream, position))

    assert cancel.answer() is Cancellation.CANCELLED
    assert cast.batches(stream) == []


def test_a_cancel_that_waits_for_an_event_leaves_the_mail_accepted() -> None:
    stream, position = _single()
    cast.book(stream, lambda at: entries.try_later(at, delay=cast.LEASE, code="450"))

    with collide.uncommitted(lambda: ledger.record(stream, [collide.proof(position)])):
        cancel = collide.waiting(partial(_cancel, stream, position))

    assert cancel.answer() is Cancellation.ENDED
    assert cast.states(stream) == {position: State.ACCEPTED}


def test_of_four_workers_and_two_callers_exactly_one_has_each_of_400_mails() -> None:
    stream = cast.stream(StreamKind.TRANSACTIONAL)
    positions = cast.enqueue(stream, range(400))

    *sent, first, second = collide.together(
        [
            *[partial(_work, stream)] * 4,
            partial(_cancel_all, stream, positions[::-1]),
            partial(_cancel_all, stream, positions[::-1]),
        ]
    )

    handed_over = {position for part in sent for position in part}
    states = cast.states(stream)
    assert {at for at, state in states.items() if state is State.ACCEPTED} == handed_over
    assert {at for at, state in states.items() if state is State.CANCELLED} == first | second
    assert handed_over | first | second == set(positions)
    assert not handed_over & (first | second)


def _work(stream: int) -> set[int]:
    sent: set[int] = set()
    while claim := collide.claim(stream, limit=5):
        windows = collide.arm(claim)
        if windows:
            sent |= {window.batch.lo for window in windows}
            ledger.settle(claim, windows, results=collide.accept_all(*windows))
    return sent


def _cancel_all(stream: int, positions: list[int]) -> set[int]:
    return {at for at in positions if _cancel(stream, at) is Cancellation.CANCELLED}
