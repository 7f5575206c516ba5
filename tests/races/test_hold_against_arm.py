import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest
from django.db import transaction

from postledger.deliveries import ledger, queries
from postledger.deliveries.entries import Batch, Claim, Window
from postledger.deliveries.ledger import LimitCause, sql
from postledger.deliveries.reasons import Reason
from postledger.deliveries.states import State
from tests import cast
from tests.races import collide

pytestmark = [pytest.mark.race, pytest.mark.django_db(transaction=True)]


WORKERS = 4


@dataclass(frozen=True, slots=True)
class Brake:
    """A way to stop a stream, and to let it go on."""

    hold: Callable[[int], bool]
    release: Callable[[int], bool]


def _sender() -> int:
    return cast.sender().pk


def _hour_is_full() -> LimitCause:
    return LimitCause(Reason.RATE_PER_HOUR, datetime.now(UTC) + timedelta(hours=1))


BRAKES = [
    pytest.param(
        Brake(
            lambda stream: ledger.hold(stream, reason=Reason.PAUSED, actor="alice"), ledger.release
        ),
        id="stream",
    ),
    pytest.param(
        Brake(
            lambda _: ledger.hold_sender(_sender(), reason=Reason.SENDER_BLOCKED, actor="ses"),
            lambda _: ledger.release_sender(_sender()),
        ),
        id="sender",
    ),
    pytest.param(
        Brake(
            lambda stream: ledger.hold_for_limits(stream, [_hour_is_full()]),
            lambda _: bool(ledger.end_limit_holds(sender_ids=[_sender()])),
        ),
        id="limits",
    ),
]


@pytest.mark.parametrize("brake", BRAKES)
def test_a_hold_waits_for_the_arm_under_way(brake: Brake) -> None:
    stream = cast.stream(mails=10)
    claim = cast.claim(stream)
    [window] = collide.whole(claim)

    with collide.uncommitted(partial(collide.arm, claim, window)) as arm:
        hold = collide.waiting(partial(brake.hold, stream))
        assert arm.answer()

    assert hold.answer()
    results = collide.accept_all(window)
    assert ledger.settle(claim, [window], results=results).counts == {State.ACCEPTED: 10}


@pytest.mark.parametrize("brake", BRAKES)
def test_an_arm_waits_for_the_hold_under_way_and_refuses_then(brake: Brake) -> None:
    stream = cast.stream(mails=10)
    claim = cast.claim(stream)
    [window] = collide.whole(claim)

    with collide.uncommitted(partial(brake.hold, stream)):
        arm = collide.waiting(partial(collide.arm, claim, window))

    assert not arm.answer()
    assert collide.batch_column(stream, "armed_to") == {0: None}


@pytest.mark.parametrize("brake", BRAKES)
def test_a_hold_does_not_wait_for_a_claim_and_what_it_took_is_not_armed(brake: Brake) -> None:
    stream = cast.stream(mails=10)

    with collide.uncommitted(partial(cast.claim, stream)) as claiming:
        assert collide.start(partial(brake.hold, stream)).answer()
        claim = claiming.answer()

    [window] = collide.whole(claim)
    assert not collide.arm(claim, window)
    assert collide.claim(stream) is None


@pytest.mark.parametrize("brake", BRAKES)
def test_after_a_hold_no_window_becomes_armed_whoever_tries(brake: Brake) -> None:
    stream = cast.stream(mails=2_000)
    claims = [cast.claim(stream) for _ in range(WORKERS)]
    taken: list[Window] = []

    with collide.meanwhile([partial(_press, claim, taken) for claim in claims]):
        for _ in range(12):
            _work_goes_on(taken)
            with transaction.atomic():
                assert brake.hold(stream)
                # The hold is about to commit: these windows may still go, and no other.
                before = _windows(stream)
            for _ in range(3):
                after = _windows(stream)
                assert [id_ for id_ in after if not _follows(before[id_], after[id_])] == []
                time.sleep(0.004)
            assert brake.release(stream)

    assert queries.read_books([stream])[stream].counts[State.ACCEPTED] == len(taken)


def _work_goes_on(taken: list[Window]) -> None:
    """A gap between two holds, as long as it takes until something was armed in it."""
    before, until = len(taken), time.monotonic() + collide.PATIENCE
    time.sleep(random.uniform(0.01, 0.03))
    while len(taken) <= before + WORKERS:  # each may have had one from before
        assert time.monotonic() < until, "nothing was armed between the holds"
        time.sleep(0.002)


def _press(claim: Claim, taken: list[Window], ends: threading.Event) -> None:
    """Arms and settles one mail after the other, as often as it is let."""
    batch: Batch = claim.batches[0]
    while not ends.is_set() and batch.lo < batch.hi:
        window = Window(batch, batch.lo + 1)
        if not collide.arm(claim, window):
            continue
        ledger.settle(claim, [window], results=collide.accept_all(window))
        batch = cast.again(batch, lo=window.to)
        taken.append(window)


type Cursor = tuple[int, int | None]


def _windows(stream: int) -> dict[int, Cursor]:
    rows = sql.rows(
        "SELECT id, lo, armed_to FROM deliveries_batch WHERE stream_id = %(stream)s",
        {"stream": stream},
    )
    return {id_: (lo, armed_to) for id_, lo, armed_to in rows}


def _follows(before: Cursor, after: Cursor) -> bool:
    """Whether nothing was armed in between: as it was, or the one armed window settled."""
    _, armed_to = before
    return after == before or (armed_to is not None and after == (armed_to, None))
