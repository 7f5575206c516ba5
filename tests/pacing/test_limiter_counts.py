"""Hours, days and quotas: counted with the rates, all together or not at all."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from postledger.pacing.limits import (
    Day,
    Figures,
    Limit,
    Mark,
    MemberLimit,
    Quota,
    Request,
    Unfilled,
    WrongDay,
    to_moment,
)
from tests.pacing.paced import NOON, TODAY, Paced, ask_for, granted, refusals

pytestmark = pytest.mark.server

NEXT_SYNC = NOON + timedelta(minutes=5)
TOMORROW = Day("2026-11-04 UTC", TODAY.ends_at, TODAY.ends_at + timedelta(days=1), TODAY.resumes_at)


def _quota(remaining: int, sync_id: int = 1, mark: Mark | None = None, size: int = 0) -> Quota:
    return Quota(remaining, size, sync_id, mark, NEXT_SYNC)


def _count_all(pace: Paced, request: Request, asks: int = 20) -> int:
    """How many mails are granted until none is, without a step of the clock."""
    total = 0
    for _ in range(asks):
        outcome = pace.take(request)
        if not hasattr(outcome, "moments"):
            break
        total += granted(outcome).count
    return total


def test_of_150_mails_at_100_an_hour_50_wait_for_the_next_clock_hour(one: Paced) -> None:
    request = ask_for(50, per_hour=100)
    one.prepare(request)
    assert [granted(one.ask(request)).count for _ in range(2)] == [50, 50]
    assert refusals(one.ask(request)) == {Limit.SENDER_HOUR: NOON + timedelta(hours=1)}
    one.move_to(NOON + timedelta(hours=1))
    assert granted(one.ask(request)).count == 50


def test_an_hour_is_counted_before_its_limit_is_set(one: Paced) -> None:
    one.prepare(ask_for(50))
    granted(one.ask(ask_for(50)))
    assert granted(one.ask(ask_for(50, per_hour=60))).count == 10


def test_the_counter_of_an_hour_lives_two_hours(one: Paced) -> None:
    request = ask_for(1)
    one.prepare(request)
    hour = granted(one.ask(request)).hour
    assert 7_000 < one.redis.ttl(f"postledger:pacing:sender:1:hour:{hour}") <= 7_200


def test_a_daily_limit_holds_until_the_opening_and_the_next_day_starts_at_nothing(
    one: Paced,
) -> None:
    request = ask_for(80, per_day=100)
    one.prepare(request)
    assert _count_all(one, request) == 100
    assert refusals(one.ask(request)) == {Limit.SENDER_DAY: TODAY.resumes_at}
    one.move_to(TOMORROW.starts_at)
    assert one.ask(request) == WrongDay(to_moment(one.now))
    request = replace(request, limits=replace(request.limits, day=TOMORROW))
    assert _count_all(one, request) == 100


def test_a_member_has_one_daily_limit_over_all_senders(one: Paced) -> None:
    member = MemberLimit(3, per_day=100)
    first, second = (ask_for(80, sender_id=number, member=member) for number in (1, 2))
    one.prepare(first)
    assert granted(one.ask(first)).count == 80
    assert granted(one.take(second, Figures(0, 0, member_used_today=0))).count == 20
    assert refusals(one.ask(second)) == {Limit.MEMBER_DAY: TODAY.resumes_at}


def test_a_day_of_another_zone_is_filled_anew(one: Paced) -> None:
    request = ask_for(10, per_day=100)
    one.prepare(request)
    granted(one.ask(request))
    berlin = Day(
        "2026-11-03 Europe/Berlin",
        datetime(2026, 11, 2, 23, tzinfo=UTC),
        datetime(2026, 11, 3, 23, tzinfo=UTC),
        datetime(2026, 11, 4, 8, tzinfo=UTC),
    )
    moved = replace(request, count=100, limits=replace(request.limits, day=berlin))
    assert granted(one.take(moved, Figures(used_this_hour=10, used_today=95))).count == 5


def test_an_empty_quota_refuses_the_first_mail_until_the_next_sync(one: Paced) -> None:
    one.prepare(ask_for(1, quota=_quota(0)))
    for remaining in (0, -20):
        request = ask_for(1, quota=_quota(remaining))
        assert refusals(one.ask(request)) == {Limit.QUOTA: NEXT_SYNC}


def test_a_later_sync_counts_from_its_mark_and_an_older_one_changes_nothing(one: Paced) -> None:
    request = ask_for(50, quota=_quota(60))
    one.prepare(request)
    assert _count_all(one, request) == 60
    mark = one.run(one.limiters[0].mark(7))
    later = ask_for(50, quota=_quota(30, sync_id=2, mark=mark))
    assert granted(one.ask(later)).count == 30
    assert refusals(one.ask(request)) == {Limit.QUOTA: NEXT_SYNC}
    assert refusals(one.ask(later)) == {Limit.QUOTA: NEXT_SYNC}


def test_mails_granted_after_the_mark_are_taken_from_the_later_sync(one: Paced) -> None:
    request = ask_for(10, quota=_quota(60))
    one.prepare(request)
    mark = one.run(one.limiters[0].mark(7))
    granted(one.ask(request))
    assert _count_all(one, ask_for(50, quota=_quota(30, sync_id=2, mark=mark))) == 20


def test_a_mark_of_a_redis_that_was_emptied_since_raises_no_quota(one: Paced) -> None:
    request = ask_for(50, quota=_quota(60))
    one.prepare(request)
    mark = one.run(one.limiters[0].mark(7))
    one.empty()
    one.settle()
    later = ask_for(50, quota=_quota(1_000, sync_id=2, mark=mark))
    one.take(request, Figures(0, 0, sent_since_sync=55))
    assert refusals(one.ask(later)) == {Limit.QUOTA: NEXT_SYNC}


def test_a_twentieth_of_the_quota_is_left_to_reserved_mail(one: Paced) -> None:
    quota = _quota(100, size=1_000)
    bulk, single = ask_for(200, quota=quota), ask_for(200, quota=quota, is_reserved=True)
    one.prepare(bulk)
    assert _count_all(one, bulk) == 50
    assert _count_all(one, single) == 50


def test_limits_that_refuse_at_once_are_all_named(one: Paced) -> None:
    request = ask_for(
        10,
        rate=1,
        account_rate=1,
        per_hour=1,
        per_day=1,
        quota=_quota(1),
        member=MemberLimit(3, per_day=1),
    )
    one.prepare(request)
    granted(one.ask(request))
    assert set(refusals(one.ask(request))) == set(Limit) - {Limit.REFILL}


@pytest.mark.parametrize(
    "limits",
    [
        {"per_hour": 0},
        {"per_day": 0},
        {"quota": _quota(0)},
        {"member": MemberLimit(3, per_day=0)},
    ],
)
def test_one_limit_that_refuses_leaves_every_count_as_it_was(
    one: Paced, limits: dict[str, object]
) -> None:
    request = ask_for(10, rate=14, account_rate=14, **limits)  # type: ignore[arg-type]
    one.prepare(request)
    before = one.stored()
    assert len(refusals(one.ask(request))) == 1
    assert one.stored() == before


def test_what_was_not_sent_is_counted_nowhere(one: Paced) -> None:
    request = ask_for(
        10, per_hour=10, per_day=10, quota=_quota(10), member=MemberLimit(3, per_day=10)
    )
    one.prepare(request)
    block = granted(one.ask(request))
    one.give_back(block, block.moments[:4])
    assert granted(one.ask(request)).count == 4
    assert len(refusals(one.ask(request))) == 4


def test_an_evicted_counter_is_filled_again(one: Paced) -> None:
    request = ask_for(10, per_hour=100)
    one.prepare(request)
    hour = granted(one.ask(request)).hour
    one.redis.delete(f"postledger:pacing:sender:1:hour:{hour}")
    assert isinstance(one.ask(request), Unfilled)
    assert granted(one.take(request, Figures(used_this_hour=95, used_today=95))).count == 5


def test_what_comes_back_after_a_mark_frees_nothing_of_the_quota_read_then(one: Paced) -> None:
    """The provider's figure knows that it was not sent; the mark does not."""
    before = Quota(1000, 1000, 1, None, NOON, reserved_share=0)
    one.prepare(ask_for(1, quota=before))
    block = granted(one.ask(ask_for(100, quota=before)))
    mark = one.run(one.limiters[0].mark(7))
    one.give_back(block, block.moments[-20:])
    one.move(seconds=10)
    after = Quota(10, 1000, 2, mark, NOON, reserved_share=0)

    assert granted(one.ask(ask_for(500, quota=after))).count == 10


def test_a_worker_that_is_behind_midnight_is_told_the_day_before_redis_is_filled(
    one: Paced,
) -> None:
    one.move_to(TODAY.ends_at + timedelta(hours=2))
    one.settle()

    assert isinstance(one.ask(ask_for(10, per_day=10, day=TODAY)), WrongDay)
