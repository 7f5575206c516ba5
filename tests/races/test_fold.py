import threading
import time
from functools import partial

import pytest
from django.db import transaction

from postledger.deliveries import audit, entries, ledger, queries
from postledger.deliveries.entries import Batch, StreamKind, Window
from postledger.deliveries.ledger import sql
from postledger.deliveries.states import State
from tests import cast
from tests.races import collide

pytestmark = [pytest.mark.race, pytest.mark.django_db(transaction=True)]


@pytest.mark.slow
@pytest.mark.sample
def test_the_sums_equal_the_recount_at_every_moment_of_settling_and_folding() -> None:
    stream = cast.stream(mails=3_000)
    singles = cast.stream(StreamKind.TRANSACTIONAL, mails=1_000)
    seen: set[tuple[int, int]] = set()

    with (
        collide.meanwhile([_fold] * 2) as folders,
        collide.meanwhile([partial(_work, one) for one in (stream, stream, singles)]) as workers,
    ):
        began = time.monotonic()
        while (len(seen) < 5 or time.monotonic() < began + 3) and not all(
            worker.is_done() for worker in workers
        ):
            assert time.monotonic() < began + collide.PATIENCE, seen
            for id_, planned in ((stream, 3_000), (singles, 1_000)):
                assert collide.findings(id_) == []
                books = queries.read_books([id_])[id_]
                assert books.planned == planned
                seen.add((id_, books.waiting))
    folded = sum(folder.answer() for folder in folders)

    assert len(seen) > 4, "the books were not read while they moved"
    assert folded > 0
    while ledger.fold():
        pass
    assert _stream_row(stream) == audit.audit(stream).books.counts[State.ACCEPTED]
    assert _paced(stream) == _stream_row(stream)


def _fold(ends: threading.Event) -> int:
    count = 0
    while not ends.is_set():
        count += ledger.fold(limit=7)
    return count


def _work(stream: int, ends: threading.Event) -> None:
    while not ends.is_set():
        claim = collide.claim(stream, limit=2)
        if claim is None:
            return
        live: list[Batch] = list(claim.batches)
        while live:
            windows = [Window(batch, min(batch.lo + 10, batch.hi)) for batch in live]
            assert collide.arm(claim, *windows) == windows
            ledger.settle(claim, windows, results=[entry for w in windows for entry in _mixed(w)])
            live = [cast.again(w.batch, lo=w.to) for w in windows if w.to < w.batch.hi]


def _mixed(window: Window) -> list[entries.Entry]:
    results = []
    for at in range(window.batch.lo, window.to):
        match at % 25:
            case 7:
                results.append(entries.refused(at, code="550"))
            case 8:
                results.append(entries.in_doubt(at))
            case 9:
                results.append(entries.throttled(at, delay=cast.LEASE))
            case _:
                results.append(entries.accepted(at, message_id=f"m{at}"))
    return results


def _stream_row(stream: int) -> int:
    [(count,)] = sql.rows("SELECT accepted FROM deliveries_stream WHERE id = %(s)s", {"s": stream})
    return int(count)


def _paced(stream: int) -> int:
    [(count,)] = sql.rows(
        "SELECT sum(accepted) FROM deliveries_streampace WHERE stream_id = %(s)s", {"s": stream}
    )
    return int(count)


def test_a_fold_under_way_changes_no_sum_before_or_after_it_commits() -> None:
    stream = cast.stream(mails=10)
    claim, window = cast.armed(stream)
    ledger.settle(claim, [window], results=collide.accept_all(window))
    before = queries.read_books([stream])[stream]

    with collide.uncommitted(ledger.fold) as fold:
        assert queries.read_books([stream])[stream] == before
        assert collide.start(ledger.fold).answer() == 0
        assert fold.answer() == 1

    assert queries.read_books([stream])[stream] == before
    assert _stream_row(stream) == 10


def test_a_fold_that_meets_a_planner_adds_to_what_the_planner_left() -> None:
    stream = cast.stream(mails=10)
    claim, window = cast.armed(stream)
    ledger.settle(claim, [window], results=collide.accept_all(window))

    with collide.uncommitted(lambda: cast.enqueue(stream, range(10, 30))):
        fold = collide.start(ledger.fold)
        fold.comes_to_rest()
    fold.answer()
    ledger.fold()

    assert _stream_row(stream) == 10
    books = queries.read_books([stream])[stream]
    assert (books.planned, books.waiting) == (30, 20)


@pytest.mark.parametrize("is_upwards", [True, False])
def test_a_fold_does_not_deadlock_with_a_caller_that_plans_in_two_streams(
    *, is_upwards: bool
) -> None:
    streams = [cast.stream(mails=10), cast.stream(mails=10)]
    for stream in streams:
        claim, window = cast.armed(stream)
        ledger.settle(claim, [window], results=collide.accept_all(window))
    first, second = streams if is_upwards else reversed(streams)

    with transaction.atomic():
        cast.enqueue(first, range(10, 20))
        fold = collide.start(ledger.fold)
        fold.comes_to_rest()
        cast.enqueue(second, range(10, 20))
    fold.answer()
    ledger.fold()

    assert [_stream_row(stream) for stream in streams] == [10, 10]


def test_many_folds_at_once_over_many_streams_do_not_deadlock() -> None:
    streams = [cast.stream(StreamKind.TRANSACTIONAL, mails=20) for _ in range(6)]
    for stream in streams:
        claim = cast.claim(stream, limit=20)
        for window in collide.whole(claim):
            assert collide.arm(claim, window)
            ledger.settle(claim, [window], results=collide.accept_all(window))

    folded = collide.together([_fold_all] * 4)

    assert sum(folded) + _fold_all() == 120
    assert [_stream_row(stream) for stream in streams] == [20] * 6


def _fold_all() -> int:
    count = 0
    while folded := ledger.fold(limit=9):
        count += folded
    return count
