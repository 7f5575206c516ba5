"""A Redis that was emptied, restarted, replaced, set back or lost never grants too much."""

import random
from collections import Counter
from dataclasses import replace
from datetime import timedelta
from math import inf
from pathlib import Path

import pytest

from postledger.pacing.limiter import Limiter
from postledger.pacing.limits import (
    MICROSECONDS,
    Away,
    Figures,
    Granted,
    Horizon,
    Limit,
    LocalPace,
    MemberLimit,
    Quota,
    Unfilled,
    divide_rates,
    to_datetime,
)
from tests.cli import installations
from tests.pacing.paced import (
    NOON,
    NOTHING_SENT,
    Paced,
    ask_for,
    granted,
    least_interval,
    paced,
    refusals,
)

pytestmark = pytest.mark.server

LIFETIME = timedelta(seconds=3)


def test_an_empty_redis_grants_nothing_while_earlier_grants_may_be_used(one: Paced) -> None:
    request = ask_for(10)
    assert refusals(one.ask(request)) == {Limit.REFILL: NOON + LIFETIME}
    one.move(seconds=2.9)
    assert refusals(one.ask(request)) == {Limit.REFILL: NOON + LIFETIME}
    one.move(seconds=0.1)
    assert isinstance(one.ask(request), Unfilled)
    assert isinstance(one.ask(request), Unfilled)


def test_after_a_fill_the_rate_starts_with_a_full_interval(one: Paced) -> None:
    request = ask_for(10, rate=5)
    one.settle()
    block = granted(one.take(request))
    assert block.moments[0] - block.now == MICROSECONDS / 5


def test_a_fill_waits_for_a_mail_that_is_sent_in_a_moment(one: Paced) -> None:
    request = ask_for(10, rate=5)
    one.settle()
    figures = replace(NOTHING_SENT, last_sent_at=one.now + timedelta(seconds=0.3))
    block = granted(one.take(request, figures))
    assert block.moments[0] - block.now == 0.5 * MICROSECONDS


def test_a_fill_counts_what_the_ledger_says(one: Paced) -> None:
    request = ask_for(
        100,
        per_hour=50,
        per_day=60,
        quota=Quota(70, 0, 1, None, NOON),
        member=MemberLimit(3, per_day=80),
    )
    one.settle()
    figures = Figures(used_this_hour=50, used_today=60, member_used_today=80, sent_since_sync=70)
    assert len(refusals(one.take(request, figures))) == 4


def test_the_second_of_two_fills_changes_nothing(two: Paced) -> None:
    request = ask_for(10, per_hour=10)
    two.settle()
    unfilled = two.ask(request)
    assert isinstance(unfilled, Unfilled)
    assert two.fill(unfilled, request, NOTHING_SENT, worker=0)
    assert granted(two.ask(request, worker=0)).count == 10
    assert two.fill(unfilled, request, NOTHING_SENT, worker=1)
    assert Limit.SENDER_HOUR in refusals(two.ask(request, worker=1))


def test_figures_read_before_redis_was_emptied_once_more_are_not_taken(one: Paced) -> None:
    request = ask_for(10)
    one.settle()
    unfilled = one.ask(request)
    assert isinstance(unfilled, Unfilled)
    one.empty()
    assert not one.fill(unfilled, request, NOTHING_SENT)
    one.move(seconds=3)
    assert isinstance(one.ask(request), Unfilled)


def test_what_was_granted_before_redis_was_emptied_cannot_be_given_back(one: Paced) -> None:
    request = ask_for(10, per_hour=10)
    one.prepare(request)
    block = granted(one.ask(request))
    one.empty()
    assert set(refusals(one.ask(request))) == {Limit.REFILL}
    one.move(seconds=3)
    one.take(request, Figures(used_this_hour=10, used_today=10))
    one.give_back(block, block.moments)
    assert refusals(one.ask(request)) == {Limit.SENDER_HOUR: NOON + timedelta(hours=1)}


def test_the_data_of_another_run_of_redis_count_as_empty(one: Paced) -> None:
    """A restart from an old snapshot, or a replica that took over."""
    request = ask_for(10)
    one.prepare(request)
    granted(one.ask(request))
    one.redis.set("postledger:pacing:server", "0123456789abcdef:1")
    assert set(refusals(one.ask(request))) == {Limit.REFILL}
    one.move(seconds=3)
    assert isinstance(one.ask(request), Unfilled)


def test_a_clock_that_was_set_back_counts_as_empty(one: Paced) -> None:
    request = ask_for(10, rate=5)
    one.prepare(request)
    granted(one.ask(request))
    one.move(minutes=-10)
    assert refusals(one.ask(request)) == {Limit.REFILL: one.now + LIFETIME}
    one.move(seconds=3)
    assert granted(one.take(request)).count == 5


def test_a_worker_that_sent_without_redis_makes_all_workers_start_over(two: Paced) -> None:
    request = ask_for(10)
    two.prepare(request)
    two.run(two.limiters[0].start_over())
    assert set(refusals(two.ask(request, worker=1))) == {Limit.REFILL}


def test_ten_times_emptied_no_limit_is_exceeded(two: Paced) -> None:
    """Two workers arm their grants late, give some back, and let some expire."""
    choose = random.Random(3)
    request = ask_for(10, rate=14, per_hour=250)
    ledger: list[int] = []
    under_way: list[Granted] = []
    emptied_at = choose.sample(range(360), 10)
    two.move(minutes=58)
    for step in range(360):
        if step in emptied_at:
            two.empty()
        outcome = two.ask(request, worker=choose.randrange(2))
        if isinstance(outcome, Unfilled):
            starts = outcome.hour * 3600 * MICROSECONDS
            used = sum(moment >= starts for moment in ledger)
            two.fill(outcome, request, Figures(used_this_hour=used, used_today=len(ledger)))
        if isinstance(outcome, Granted):
            under_way.append(outcome)
        for block in [block for block in under_way if choose.random() < 0.4]:
            under_way.remove(block)
            is_late = two.now >= to_datetime(block.expires_at)
            sent = 0 if is_late else choose.choice([0, block.count, block.count])
            ledger += block.moments[:sent]
            two.give_back(block, block.moments[sent:])
        two.move(seconds=choose.random())
    assert least_interval(ledger) >= MICROSECONDS / 14
    by_hour = Counter(moment // (3600 * MICROSECONDS) for moment in ledger)
    assert len(by_hour) == 2
    assert max(by_hour.values()) <= 250
    assert sum(by_hour.values()) >= 400


def test_without_redis_the_outcome_says_so_and_soon_asks_again(one: Paced) -> None:
    lost = Limiter(f"redis://{installations.DEAD}/0")
    assert isinstance(one.run(lost.grant(ask_for(1))), Away)
    assert isinstance(one.run(lost.grant(ask_for(1))), Away)
    assert one.run(lost.mark(7)) is None
    assert one.run(lost.read_tuning(7)) is None
    one.run(lost.close())


def test_another_server_with_the_same_data_is_filled_before_it_grants(
    one: Paced, tmp_path: Path
) -> None:
    """A replica that took over, or a server that was restored from a copy."""
    one.prepare(ask_for(1))
    granted(one.ask(ask_for(1)))
    with installations.redis(tmp_path) as url, paced(url) as other:
        for key in one.redis.scan_iter():
            dumped = one.redis.dump(key)
            assert dumped is not None
            other.redis.restore(key, 0, dumped, replace=True)
        assert set(refusals(other.ask(ask_for(1)))) == {Limit.REFILL}
        other.move(minutes=1)
        assert isinstance(other.ask(ask_for(1)), Unfilled)


def test_without_redis_workers_divide_the_rate_and_counted_limits_make_mail_wait() -> None:
    request = ask_for(1, rate=12, account_rate=100)
    assert divide_rates(request, 4) == LocalPace(sender=3, account=20)
    assert divide_rates(replace(request, is_reserved=True), 4) == LocalPace(sender=3, account=25)
    assert divide_rates(ask_for(1), 4) == LocalPace(sender=inf, account=inf)
    assert divide_rates(request, 0) == divide_rates(request, 1)
    for counted in (
        ask_for(1, per_hour=1),
        ask_for(1, per_day=1),
        ask_for(1, member=MemberLimit(3, per_day=1)),
        ask_for(1, quota=Quota(1, 1, 1, None, NOON)),
    ):
        assert divide_rates(counted, 4) is None, counted


def test_what_was_sent_before_a_limit_was_added_counts(two: Paced) -> None:
    """Workers that have not read the change are waited for, and then refused."""
    before = ask_for(1, per_day=None, rate=10)
    two.prepare(before)
    granted(two.ask(before))
    added = replace(
        before, limits=replace(before.limits, per_day=50, counted_since=two.now), count=40
    )

    settling = refusals(two.ask(added))
    granted(two.ask(before, worker=1))
    two.move(seconds=Horizon().settling)
    unfilled = two.ask(added)
    assert isinstance(unfilled, Unfilled)
    two.fill(unfilled, added, Figures(used_this_hour=0, used_today=45))
    two.move(seconds=30)

    assert settling == {Limit.REFILL: two.now - timedelta(seconds=30)}
    assert granted(two.ask(added)).count == 5
    assert set(refusals(two.ask(before, worker=1))) == {Limit.REFILL}
