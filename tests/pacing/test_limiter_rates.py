"""Rates: no burst, no wasted moments, and a share for mail that somebody waits for."""

import random
from datetime import timedelta
from itertools import chain

import pytest

from postledger.pacing.limits import MICROSECONDS, Granted, Limit, Outcome, Request, Tuning
from tests.pacing.paced import (
    NOON,
    Paced,
    ask_for,
    fullest_second,
    granted,
    least_interval,
    refusals,
)

pytestmark = pytest.mark.server


def _moments(outcome: Outcome) -> tuple[int, ...]:
    return outcome.moments if isinstance(outcome, Granted) else ()


def _take_all(pace: Paced, request: Request) -> None:
    """Asks until no moment is left within the horizon."""
    assert not all(_moments(pace.ask(request)) for _ in range(100))


def _ask_for_seconds(
    pace: Paced, seconds: float, requests: list[Request], step: float = 0.1
) -> list[list[int]]:
    """The moments of each request, all asked again and again in random order."""
    moments: list[list[int]] = [[] for _ in requests]
    choose = random.Random(1)
    ends_at = pace.now + timedelta(seconds=seconds)
    while pace.now < ends_at:
        for number in choose.sample(range(len(requests)), len(requests)):
            worker = choose.randrange(len(pace.limiters))
            moments[number] += _moments(pace.take(requests[number], worker=worker))
        pace.move(seconds=choose.random() * step)
    return moments


@pytest.mark.parametrize("rate", [5, 14, 100, 500])
def test_two_workers_keep_the_interval_and_reach_the_rate(two: Paced, rate: int) -> None:
    request = ask_for(50, rate=rate)
    two.prepare(request)
    [moments] = _ask_for_seconds(two, 10, [request])
    assert least_interval(moments) >= MICROSECONDS / rate
    assert fullest_second(moments) <= rate + max(1, rate * 0.02)
    mean = len(moments) / (max(moments) - min(moments)) * MICROSECONDS
    assert mean == pytest.approx(rate, rel=0.03)


def test_a_fraction_of_a_mail_per_second_is_a_rate(one: Paced) -> None:
    request = ask_for(50, rate=0.1)
    one.prepare(request)
    assert granted(one.ask(request)).count == 1
    assert refusals(one.ask(request)) == {
        Limit.SENDER_RATE: one.now + timedelta(seconds=10) - timedelta(seconds=0.5)
    }


def test_without_a_rate_all_mails_go_now(one: Paced) -> None:
    request = ask_for(50)
    one.prepare(request)
    block = granted(one.ask(request))
    assert set(block.moments) == {block.now}
    assert block.count == 50


def test_senders_of_one_account_share_its_rate(two: Paced) -> None:
    requests = [ask_for(50, sender_id=number, account_rate=100) for number in (1, 2, 3)]
    two.prepare(requests[0])
    moments = list(chain(*_ask_for_seconds(two, 5, requests)))
    assert least_interval(moments) >= MICROSECONDS / 100


def test_a_slow_sender_leaves_the_moments_between_its_own_to_others(two: Paced) -> None:
    slow = ask_for(50, sender_id=1, rate=2, account_rate=100)
    fast = ask_for(50, sender_id=2, account_rate=100)
    two.prepare(slow)
    of_slow, of_fast = _ask_for_seconds(two, 10, [slow, fast])
    assert least_interval(of_slow + of_fast) >= MICROSECONDS / 100
    # Which of the two gets more is for the fairness of turns to say; nothing is wasted.
    assert least_interval(of_slow) >= MICROSECONDS / 2
    assert len(of_slow) >= 5
    assert len(of_slow) + len(of_fast) >= 0.97 * 0.8 * 100 * 10


def test_bulk_mail_alone_leaves_a_fifth_of_the_account_and_none_of_a_slower_sender(
    two: Paced,
) -> None:
    fast = ask_for(50, sender_id=1, account_rate=100)
    slower = ask_for(50, sender_id=2, rate=60, account_rate=100)
    two.prepare(fast)
    [moments] = _ask_for_seconds(two, 5, [fast])
    assert len(moments) == pytest.approx(0.8 * 100 * 5.5, rel=0.1)
    two.move(seconds=5)
    [moments] = _ask_for_seconds(two, 5, [slower])
    assert len(moments) == pytest.approx(60 * 5.5, rel=0.1)


@pytest.mark.parametrize("account_rate", [None, 14])
def test_a_single_mail_goes_within_two_seconds_beside_bulk_mail_that_asks_all_the_time(
    two: Paced, account_rate: float | None
) -> None:
    bulk = ask_for(50, rate=14, account_rate=account_rate)
    single = ask_for(1, rate=14, account_rate=account_rate, is_reserved=True)
    two.prepare(bulk)
    for _ in range(50):
        _take_all(two, bulk)
        block = granted(two.ask(single))
        assert block.moments[0] - block.now < 2 * MICROSECONDS
        two.move(seconds=0.5)


def test_reserved_mail_of_another_sender_gets_its_fifth_at_once(two: Paced) -> None:
    bulk = ask_for(50, account_rate=100)
    single = ask_for(1, sender_id=2, account_rate=100, is_reserved=True)
    two.prepare(bulk)
    two.take(single)
    two.move(seconds=1)
    _take_all(two, bulk)
    waits = [block.moments[0] - block.now for block in (granted(two.ask(single)) for _ in "12345")]
    assert max(waits) <= 5 * 5 * 10_000


def test_a_tuned_rate_slows_every_sender_of_the_account(two: Paced) -> None:
    request = ask_for(50, account_rate=100, is_reserved=True)
    two.prepare(request)
    tuning = two.run(two.limiters[0].read_tuning(7))
    assert tuning == Tuning()
    assert two.run(two.limiters[0].write_tuning(7, Tuning(10.0, "clean since noon", 0)))
    assert least_interval(granted(two.ask(request, worker=1)).moments) == 100_000
    assert two.run(two.limiters[1].read_tuning(7)) == Tuning(10.0, "clean since noon", 1)


def test_of_two_workers_that_tune_at_once_one_has_to_read_again(two: Paced) -> None:
    two.prepare(ask_for(1))
    assert two.run(two.limiters[0].write_tuning(7, Tuning(10.0, "", 0)))
    assert not two.run(two.limiters[1].write_tuning(7, Tuning(7.0, "", 0)))


def test_moments_given_back_are_granted_again(one: Paced) -> None:
    request = ask_for(10, rate=14)
    one.prepare(request)
    block = granted(one.ask(request))
    one.give_back(block, block.moments[3:])
    assert granted(one.ask(request)).moments[0] == block.moments[3]


def test_no_block_reaches_into_the_next_hour(one: Paced) -> None:
    request = ask_for(50, rate=14)
    one.prepare(request)
    one.move_to(NOON + timedelta(minutes=59, seconds=59.5))
    block = granted(one.ask(request))
    assert block.count == 7
    one.move(seconds=0.1)
    assert block.hour + 1 == granted(one.ask(request)).hour
