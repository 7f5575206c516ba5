import time
from datetime import timedelta
from functools import partial

import pytest

from postledger.deliveries import ledger, queries
from postledger.deliveries.entries import Claim, StreamKind, Window
from postledger.deliveries.ledger import Swept, sql, upkeep
from postledger.deliveries.reasons import Reason
from postledger.deliveries.states import State
from tests import cast
from tests.races import collide

pytestmark = [pytest.mark.race, pytest.mark.django_db(transaction=True)]

NOTHING = Swept(given_back=0, in_doubt=0, halved=0, poisoned=0)


def _wait(claim: Claim) -> list[int]:
    later = timedelta(hours=1)
    return ledger.wait(claim, claim.batches, delay=later, reason=Reason.OUTSIDE_HOURS)


def test_a_second_sweep_finds_nothing_where_the_first_is_at_work() -> None:
    stream = cast.stream(mails=20)
    claim, _ = cast.armed(stream)
    cast.run_out(claim.lease)

    with collide.uncommitted(ledger.sweep) as first:
        second = collide.start(ledger.sweep)
        time.sleep(0.05)
        assert first.answer().in_doubt == 10

    assert second.answer() == NOTHING
    assert [collide.column(stream, "attempts")[n] for n in range(20)] == [1] * 10 + [0] * 10
    assert cast.batches(stream) == [(10, 20, 1, "lease_lost")]


def test_two_sweeps_that_share_the_lost_leases_do_not_deadlock_over_the_directory() -> None:
    stream = cast.stream(StreamKind.TRANSACTIONAL, mails=2)
    leases = [cast.claim(stream).lease for _ in range(2)]
    for lease in leases:
        cast.run_out(lease)

    with collide.uncommitted(partial(_lock, leases[1])):
        with collide.uncommitted(partial(_lock, leases[0])):
            sweeps = [collide.start(partial(ledger.sweep, limit=1)) for _ in leases]
            for sweep in sweeps:
                sweep.comes_to_rest()
        for sweep in sweeps:
            sweep.comes_to_rest()

    assert [sweep.answer().given_back for sweep in sweeps] == [1, 1]
    ledger.sweep()
    assert sql.rows("SELECT token FROM deliveries_lease", {}) == []


def _lock(lease: int) -> None:
    sql.rows("SELECT token FROM deliveries_lease WHERE token = %(l)s FOR UPDATE", {"l": lease})


@pytest.mark.slow
@pytest.mark.sample
def test_three_sweeps_at_once_share_the_lost_leases_and_book_each_window_once() -> None:
    streams = []

    for _ in range(8):
        stream = cast.stream(StreamKind.TRANSACTIONAL, mails=120)
        claims = [cast.claim(stream, limit=6) for _ in range(20)]
        for claim in claims:
            windows = collide.whole(claim)[:4]
            assert len(collide.arm(claim, *windows)) == 4
            cast.run_out(claim.lease)
        swept = collide.together([partial(ledger.sweep, limit=50)] * 3)
        while (rest := ledger.sweep(limit=50)) != NOTHING:
            swept.append(rest)

        assert sum(one.in_doubt for one in swept) == 80
        assert sum(one.given_back for one in swept) == 120
        books = queries.read_books([stream])[stream]
        assert (books.counts[State.IN_DOUBT], books.waiting) == (80, 40)
        assert sorted(map(str, collide.column(stream, "attempts").values())) == (
            ["0"] * 40 + ["1"] * 80
        )
        streams.append(stream)

    assert sql.rows("SELECT token FROM deliveries_lease", {}) == []


def test_two_sweeps_at_once_halve_a_batch_that_kills_its_workers_once() -> None:
    streams = []

    for _ in range(6):
        stream = cast.stream(mails=16)
        for _ in range(upkeep.HALVE_AFTER):
            cast.run_out(cast.claim(stream).lease)
            assert ledger.sweep().given_back == 1
            cast.bring_forward(stream)
        cast.run_out(cast.claim(stream).lease)
        swept = collide.together([ledger.sweep] * 2)

        assert sum(one.halved for one in swept) == 1
        assert [(lo, hi) for lo, hi, _, _ in cast.batches(stream)] == [(0, 8), (8, 16)]
        streams.append(stream)


def test_a_wait_after_the_sweep_changes_nothing() -> None:
    stream = cast.stream(mails=20)
    claim = cast.claim(stream)
    cast.run_out(claim.lease)
    ledger.sweep()
    rival = cast.claim(stream, holder="rival")

    assert _wait(claim) == []

    assert collide.batch_column(stream, "lease") == {0: rival.lease}
    assert cast.batches(stream) == [(0, 20, 1, "lease_lost")]


def test_a_wait_that_comes_while_the_sweep_is_at_work_changes_nothing() -> None:
    stream = cast.stream(mails=20)
    claim = cast.claim(stream)
    cast.run_out(claim.lease)

    with collide.uncommitted(ledger.sweep):
        wait = collide.waiting(partial(_wait, claim))

    assert wait.answer() == []
    assert cast.batches(stream) == [(0, 20, 1, "lease_lost")]


def test_a_sweep_passes_over_a_batch_that_is_being_given_back() -> None:
    stream = cast.stream(mails=20)
    claim = cast.claim(stream)
    cast.run_out(claim.lease)

    with collide.uncommitted(partial(_wait, claim)):
        assert collide.start(ledger.sweep).answer() == NOTHING

    assert ledger.sweep() == NOTHING
    assert cast.batches(stream) == [(0, 20, 1, "outside_hours")]


@pytest.mark.slow
@pytest.mark.sample
def test_a_sweep_passes_over_a_batch_that_is_being_armed_and_finds_its_lease_renewed() -> None:
    stream = cast.stream(mails=20)
    moment = timedelta(seconds=5)
    claim = ledger.claim(stream, holder="slow", limit=1, lease_time=moment)
    assert claim is not None
    window = Window(claim.batches[0], 10)

    with collide.uncommitted(partial(collide.arm, claim, window)) as arm:
        while not _is_over(claim):
            time.sleep(0.1)
        assert collide.start(ledger.sweep).answer() == NOTHING
        assert arm.answer() == [window]

    assert ledger.sweep() == NOTHING
    assert ledger.settle(claim, [window], results=collide.accept_all(window)).lost == []


def _is_over(claim: Claim) -> bool:
    """Whether the lease has run out, for all who do not see what is not committed."""
    [(is_over,)] = sql.rows(
        "SELECT max(lease_until) < clock_timestamp() FROM deliveries_batch WHERE lease = %(l)s",
        {"l": claim.lease},
    )
    return bool(is_over)


def test_an_arm_that_waits_for_the_sweep_is_refused() -> None:
    stream = cast.stream(mails=20)
    claim = cast.claim(stream)
    cast.run_out(claim.lease)

    with collide.uncommitted(ledger.sweep):
        arm = collide.start(partial(collide.arm, claim))
        assert arm.answer() == []

    assert cast.batches(stream) == [(0, 20, 1, "lease_lost")]
