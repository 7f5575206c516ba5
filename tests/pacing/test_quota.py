"""When a provider is asked for its quota, and what the answer changes."""

from datetime import UTC, datetime, timedelta

from postledger.pacing import quota
from postledger.pacing.limits import Mark
from postledger.pacing.quota import Known
from postledger.providers.base import QuotaReading

NOW = datetime(2026, 11, 17, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def known(
    remaining: int | None = 100,
    *,
    granted: int | None = None,
    ago: timedelta | None = MINUTE,
    failing: timedelta | None = None,
) -> Known:
    return Known(
        remaining,
        None if granted is None else Mark("a", granted),
        None if ago is None else NOW - ago,
        None if failing is None else NOW - failing,
    )


def test_a_quota_is_read_each_minute_while_mail_waits_and_less_often_otherwise() -> None:
    mark = Mark("a", 40)

    assert quota.find_interval(known(), mark, is_busy=True) == MINUTE
    assert quota.find_interval(known(), mark, is_busy=False) == 5 * MINUTE
    assert quota.find_interval(known(), None, is_busy=False) == 5 * MINUTE


def test_a_reading_without_a_mark_is_soon_followed_by_one_if_mail_may_have_begun() -> None:
    assert quota.find_interval(known(), None, is_busy=True) < MINUTE
    assert quota.find_interval(known(ago=None), None, is_busy=False) < MINUTE


def test_waits_after_failures_double_up_to_a_quarter_of_an_hour() -> None:
    failing, waits = timedelta(), []
    for _ in range(7):
        wait = quota.find_retry(known(failing=failing), NOW)
        waits.append(wait / MINUTE)
        failing += wait

    assert waits == [1, 1, 2, 4, 8, 15, 15]
    assert quota.find_retry(known(), NOW) == MINUTE


def test_a_refusal_for_the_quota_is_followed_by_one_reading_a_minute() -> None:
    for before, seconds in (
        (known(ago=None), 0),
        (known(ago=5 * MINUTE), 0),
        (known(ago=timedelta(seconds=20)), 40),
        (known(ago=5 * MINUTE, failing=2 * MINUTE), 60),
    ):
        assert quota.find_early_sync(before, NOW) == NOW + timedelta(seconds=seconds), before


def test_a_provider_is_asked_once_the_mail_granted_before_has_come() -> None:
    mark = Mark("a", 40)

    assert not quota.is_settled(known(), mark, is_busy=True)
    assert not quota.is_settled(known(granted=39), mark, is_busy=True)
    assert not quota.is_settled(known(), None, is_busy=True)
    assert quota.is_settled(known(granted=40), mark, is_busy=True)
    assert quota.is_settled(known(), Mark("b", 0), is_busy=True)
    assert quota.is_settled(known(), mark, is_busy=False)


def test_mail_goes_on_when_more_is_left_than_before() -> None:
    for before, remaining, is_more in (
        (known(100, granted=10), 100, True),  # 30 of these were sent
        (known(100, granted=10), 70, False),
        (known(30, granted=10), 1, True),  # all were sent, and one left the 24 hours
        (known(30, granted=10), 0, False),
        (known(10, granted=10), 0, False),  # other systems sent, too
        (known(0, granted=40), 0, False),
        (known(0, granted=40), 5, True),
        (known(0, granted=40), None, True),
        (known(None, granted=40), 5, False),  # it was unlimited
        (known(None, granted=40), None, False),
        (known(100), 5, True),  # nobody knows what was sent
        (known(100), 0, False),
        (known(None, ago=None), 5, True),  # the provider may have refused mail before
        (known(None, ago=None), 0, False),
    ):
        shown = quota.shows_more(before, QuotaReading(remaining), Mark("a", 40))
        assert shown is is_more, (before, remaining)
