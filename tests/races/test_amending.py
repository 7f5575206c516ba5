"""Waiting notifications that are changed while others work on them."""

from collections.abc import Iterable
from functools import partial

import pytest

from postledger.deliveries import ledger
from postledger.deliveries.entries import Claim, StreamKind
from postledger.deliveries.reasons import Reason
from tests import cast
from tests.races import collide

pytestmark = [pytest.mark.race, pytest.mark.django_db(transaction=True)]


def _topic(*, mails: int) -> int:
    return cast.stream(StreamKind.TOPIC, mails=mails)


def _readdress(claim: Claim, stream_id: int) -> set[int]:
    return ledger.readdress(claim, stream_id, {0: "moved@example.com"})


def _bring_forward(stream_id: int, numbers: Iterable[int]) -> set[int]:
    return ledger.bring_forward([(stream_id, f"r{number}") for number in numbers])


def _snooze(stream_id: int) -> None:
    """Everything that can be claimed waits for a later time, which its recipients named."""
    claim = cast.claim(stream_id, limit=100)
    ledger.wait(claim, claim.batches, reason=Reason.SCHEDULED, delay=cast.LEASE)


def test_a_new_address_that_waits_for_the_sweep_comes_too_late() -> None:
    stream = _topic(mails=2)
    claim = cast.claim(stream)
    cast.run_out(claim.lease)

    with collide.uncommitted(ledger.sweep):
        readdress = collide.waiting(partial(_readdress, claim, stream))

    assert readdress.answer() == set()
    assert collide.column(stream, "address")[0] == "r0@example.com"


def test_who_lost_the_lease_changes_no_address_while_the_next_worker_sends() -> None:
    stream = _topic(mails=2)
    lost = cast.claim(stream)
    cast.run_out(lost.lease)
    ledger.sweep()
    cast.bring_forward(stream)
    claim = cast.claim(stream, holder="rival")
    [window] = collide.whole(claim)

    with collide.uncommitted(partial(collide.arm, claim, window)):
        assert collide.start(partial(_readdress, lost, stream)).answer() == set()
    assert _readdress(claim, stream) == set(), "it is armed"
    ledger.settle(claim, [window], results=collide.accept_all(window))

    assert collide.column(stream, "address")[0] == "r0@example.com"


def test_mail_that_is_brought_forward_is_claimed_once_it_is_committed() -> None:
    stream = _topic(mails=2)
    _snooze(stream)
    claim = partial(collide.claim, stream)

    with collide.uncommitted(partial(_bring_forward, stream, [1])) as forward:
        assert collide.start(claim).answer() is None
        assert forward.answer() == {stream}

    assert claim() is not None
    assert _bring_forward(stream, [1]) == set(), "it is leased"


def test_two_who_bring_the_same_batches_forward_do_not_deadlock() -> None:
    stream = _topic(mails=2_000)
    _snooze(stream)
    numbers = range(0, 2_000, 100)

    verbs = [partial(_bring_forward, stream, order) for order in (numbers, reversed(numbers))]
    moved = collide.together(verbs)

    assert {stream} in moved
    assert len(cast.claim(stream, limit=100).batches) == len(cast.batches(stream)) > 1
