"""When mail may go: working hours in a zone, and the next moment at which all of them are open."""

from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from postledger.pacing import hours
from postledger.pacing.hours import Span, WorkingHours

BERLIN, NEW_YORK = "Europe/Berlin", "America/New_York"
MONDAY_TO_FRIDAY = frozenset(range(5))
OFFICE = WorkingHours(BERLIN, (Span(time(9), time(17)),), MONDAY_TO_FRIDAY)
NIGHT = WorkingHours(BERLIN, (Span(time(22), time(6)),), frozenset({4}))
CLOSED = WorkingHours(BERLIN, OFFICE.spans, frozenset())


def at(text: str, zone: str = BERLIN, *, fold: int = 0) -> datetime:
    """This local time, unless the text says itself that it is in UTC."""
    moment = datetime.fromisoformat(text)
    local = moment if moment.tzinfo else moment.replace(tzinfo=ZoneInfo(zone), fold=fold)
    return local.astimezone(UTC)


def open_daily(opens: time, closes: time, zone: str = BERLIN) -> WorkingHours:
    return WorkingHours(zone, (Span(opens, closes),))


SHOP = WorkingHours(BERLIN, (Span(time(14), time(18)), Span(time(8), time(12))))
NINE = open_daily(time(9), time(17))
EARLY = open_daily(time(2, 30), time(17))


def test_the_next_opening_is_exact() -> None:
    for given_hours, now, opening in (
        (OFFICE, "2026-11-17 08:59:59.999999", "2026-11-17 09:00"),
        (OFFICE, "2026-11-17 09:00", "2026-11-17 09:00"),
        (OFFICE, "2026-11-17 16:59:59.999999", "2026-11-17 16:59:59.999999"),
        (OFFICE, "2026-11-17 17:00", "2026-11-18 09:00"),
        (OFFICE, "2026-11-20 17:00", "2026-11-23 09:00"),
        (OFFICE, "2028-02-28 18:00", "2028-02-29 09:00"),
        (OFFICE, "2028-02-29 18:00", "2028-03-01 09:00"),
        (NIGHT, "2026-11-20 21:59", "2026-11-20 22:00"),
        (NIGHT, "2026-11-21 05:59", "2026-11-21 05:59"),
        (NIGHT, "2026-11-21 06:00", "2026-11-27 22:00"),
        (NIGHT, "2026-11-20 05:00", "2026-11-20 22:00"),  # Thursday's night has no span
        # Several spans in any order.
        (SHOP, "2026-11-17 12:00", "2026-11-17 14:00"),
        (SHOP, "2026-11-17 18:00", "2026-11-18 08:00"),
        # The local time stays over both changes of the clock.
        (NINE, "2026-03-28 18:00", "2026-03-29T07:00Z"),
        (NINE, "2026-10-24 18:00", "2026-10-25T08:00Z"),
        # A time that the clock skips comes when it has moved on, and a whole span not at all.
        (EARLY, "2026-03-29 01:59", "2026-03-29 03:00"),
        (open_daily(time(2, 15), time(2, 45)), "2026-03-29 01:59", "2026-03-30 02:15"),
    ):
        assert hours.find_next_opening([given_hours], at(now)) == at(opening), (given_hours, now)
        assert hours.is_open([given_hours], at(now)) is (now == opening)
    assert not hours.is_open([EARLY], at("2026-03-29 03:00") - timedelta.resolution)


def test_equal_times_are_24_hours() -> None:
    always = open_daily(time(9), time(9))
    weekdays = WorkingHours(BERLIN, (Span(time(), time()),), MONDAY_TO_FRIDAY)
    saturday = at("2026-11-21 00:00")
    assert hours.is_open([always], saturday)
    assert hours.is_open([weekdays], saturday - timedelta.resolution)
    assert hours.find_next_opening([weekdays], saturday) == at("2026-11-23 00:00")


def test_hours_without_weekdays_never_open_and_no_hours_are_always_open() -> None:
    assert hours.find_next_opening([CLOSED], at("2026-11-17 12:00")) is None
    assert hours.find_next_opening([OFFICE, CLOSED], at("2026-11-17 12:00")) is None
    assert not hours.is_open([CLOSED], at("2026-11-17 12:00"))
    assert hours.is_open([], at("2026-11-22 03:00"))


def test_weekdays_that_do_not_exist_are_refused() -> None:
    with pytest.raises(ValueError, match="weekdays are numbers"):
        WorkingHours(BERLIN, OFFICE.spans, frozenset({7}))


def test_an_opening_that_the_clock_shows_twice_comes_once() -> None:
    first = at("2026-10-25 02:30")
    assert hours.find_next_opening([EARLY], at("2026-10-25 01:00")) == first
    assert hours.is_open([EARLY], at("2026-10-25 02:10", fold=1))
    assert hours.is_open([EARLY], at("2026-10-25 02:30", fold=1))


def test_a_closing_that_the_clock_shows_twice_comes_once() -> None:
    late = open_daily(time(20), time(2, 30))
    closing = at("2026-10-25 02:30")
    assert hours.is_open([late], closing - timedelta.resolution)
    assert hours.find_next_opening([late], closing) == at("2026-10-25 20:00")
    assert not hours.is_open([late], at("2026-10-25 02:10", fold=1))


def test_several_hours_open_when_the_last_of_them_does() -> None:
    sender = open_daily(time(9), time(17), NEW_YORK)
    now = at("2026-11-21 10:00")  # Saturday
    assert hours.find_next_opening([OFFICE, sender], now) == at("2026-11-23 09:00", NEW_YORK)
    evening = open_daily(time(18), time(20), "Asia/Tokyo")
    assert hours.find_next_opening([OFFICE, evening], now) == at("2026-11-23 18:00", "Asia/Tokyo")


def test_hours_that_meet_only_in_summer_open_in_summer() -> None:
    sender = open_daily(time(9), time(10), NEW_YORK)
    workspace = open_daily(time(13, 30), time(14), "UTC")
    opening = hours.find_next_opening([sender, workspace], at("2026-11-17 12:00"))
    assert opening == datetime(2027, 3, 14, 13, 30, tzinfo=UTC)


def test_hours_that_never_meet_have_no_opening() -> None:
    morning, evening = open_daily(time(9), time(12)), open_daily(time(18), time(20))
    assert hours.find_next_opening([morning, evening], at("2026-11-17 12:00")) is None


def test_the_next_day_starts_with_its_first_moment() -> None:
    newfoundland = "America/St_Johns"
    for zone, now, start in (
        (BERLIN, "2026-11-17T22:59:59Z", "2026-11-18 00:00"),
        (BERLIN, "2026-11-17T23:00:00Z", "2026-11-19 00:00"),
        (BERLIN, "2028-02-28T12:00:00Z", "2028-02-29 00:00"),
        ("Asia/Beirut", "2026-03-28T12:00:00Z", "2026-03-29 01:00"),  # no midnight that day
        (newfoundland, "2010-11-07T02:30:30Z", "2010-11-08 00:00"),  # the first 00:00:30
    ):
        assert hours.find_next_day(zone, at(now)) == at(start, zone)
    # It is ahead after clocks were set back to the day before.
    set_back = at("2010-11-06 23:30", newfoundland, fold=1)
    assert hours.find_next_day(newfoundland, set_back) == at(
        "2010-11-07 00:00", newfoundland, fold=1
    )


def test_a_daily_limit_ends_with_the_next_days_opening_or_at_nine() -> None:
    rows: list[tuple[list[WorkingHours], str, str]] = [
        ([SHOP], "2026-11-17 11:00", "2026-11-18 08:00"),
        ([OFFICE], "2026-11-20 11:00", "2026-11-23 09:00"),
        ([], "2026-11-17 00:30", "2026-11-18 09:00"),
        ([CLOSED], "2026-11-17 00:30", "2026-11-18 09:00"),
        ([NIGHT], "2026-11-20 23:00", "2026-11-21 00:00"),  # open as the day begins
    ]
    for given_hours, now, resumes in rows:
        assert hours.find_daily_resume(given_hours, BERLIN, at(now)) == at(resumes), given_hours


_ZONES = st.sampled_from(
    [BERLIN, NEW_YORK, "UTC", "Australia/Lord_Howe", "Africa/Cairo", "America/Nuuk"]
)
_TIMES = st.times().map(lambda moment: moment.replace(second=0, microsecond=0))
_HOURS = st.builds(
    WorkingHours,
    zone=_ZONES,
    spans=st.lists(st.builds(Span, _TIMES, _TIMES), min_size=1, max_size=2).map(tuple),
    weekdays=st.frozensets(st.integers(0, 6), min_size=1),
)
_MOMENTS = st.datetimes(
    datetime(2026, 1, 1),  # noqa: DTZ001  the zone follows
    datetime(2028, 12, 31),  # noqa: DTZ001
    timezones=st.just(UTC),
)


@given(st.lists(_HOURS, min_size=1, max_size=3), _MOMENTS)
@example([NIGHT, OFFICE], datetime(2026, 11, 20, 21, tzinfo=UTC))
def test_nothing_is_open_before_the_opening_and_all_is_open_then(
    given_hours: list[WorkingHours], now: datetime
) -> None:
    opening = hours.find_next_opening(given_hours, now)
    end = min(opening or now + timedelta(days=3), now + timedelta(days=3))
    assert opening is None or all(hours.is_open([each], opening) for each in given_hours)
    moment = now
    while moment < end:
        assert not all(hours.is_open([each], moment) for each in given_hours)
        moment += timedelta(hours=2, minutes=7)


@given(_HOURS, _MOMENTS)
def test_hours_agree_with_the_clock_on_days_without_a_change(
    given_hours: WorkingHours, now: datetime
) -> None:
    zone = ZoneInfo(given_hours.zone)
    local = now.astimezone(zone)
    offsets = {(now + timedelta(days=days)).astimezone(zone).utcoffset() for days in range(-3, 4)}
    if len(offsets) > 1:
        return
    clock = local.time()
    yesterday = (local.weekday() - 1) % 7
    expected = any(
        (local.weekday() in given_hours.weekdays and span.opens <= clock < span.closes)
        if span.opens < span.closes
        else (local.weekday() in given_hours.weekdays and span.opens <= clock)
        or (yesterday in given_hours.weekdays and clock < span.closes)
        for span in given_hours.spans
    )
    assert hours.is_open([given_hours], now) is expected
