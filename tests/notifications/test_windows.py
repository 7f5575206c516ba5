"""Claims about delivery windows and snoozes, over zones and changes of clocks."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st

from postledger.deliveries.reasons import Reason
from postledger.notifications.subscriptions.windows import (
    Departure,
    Expired,
    GoNow,
    WaitUntil,
    Window,
    decide_departure,
    find_opening,
)

# Changes by an hour and by half an hour, at midnight, on both sides of the equator, and a zone that
# skipped a day.
ZONES = (
    *("UTC", "Europe/Lisbon", "America/New_York", "America/Sao_Paulo", "Australia/Lord_Howe"),
    *("Asia/Kathmandu", "Africa/Casablanca", "Pacific/Apia", "Asia/Beirut", "America/Havana"),
)
MINUTE = timedelta(minutes=1)
zones = st.sampled_from(ZONES)
minutes = st.integers(0, 1440)
windows = st.builds(Window, minutes, minutes)
FIRST = datetime(2011, 1, 1, tzinfo=UTC)
# Days on which one of these zones changes its clocks.
CHANGES = (
    *("2026-03-08", "2026-03-29", "2026-04-04", "2026-10-03", "2026-10-25", "2026-11-01"),
    *("2011-12-29", "2018-02-17", "2018-11-03"),
)
changes = st.sampled_from([datetime.fromisoformat(f"{day}T00:00:00Z") for day in CHANGES])
aware = st.builds(
    lambda day, seconds: day + timedelta(seconds=seconds), changes, st.integers(0, 2 * 86_400)
) | st.integers(0, 25 * 365 * 86_400).map(lambda seconds: FIRST + timedelta(seconds=seconds))
snoozes = st.none() | st.timedeltas(timedelta(days=-3), timedelta(days=40))


def is_open(window: Window, zone: str, moment: datetime) -> bool:
    """As a person reads it off a clock on the wall."""
    local = moment.astimezone(ZoneInfo(zone))
    minute, start, end = local.hour * 60 + local.minute, window.start % 1440, window.end % 1440
    if start == end:
        return True
    return start <= minute < end if start < end else minute >= start or minute < end


@given(windows, zones, snoozes, aware)
def test_no_opening_is_outside_the_window_or_before_the_snooze_ends_or_in_the_past(
    window: Window, zone: str, snooze: timedelta | None, now: datetime
) -> None:
    snooze_until = None if snooze is None else now + snooze

    opening = find_opening(window, zone, snooze_until, now)

    assert is_open(window, zone, opening)
    assert opening >= now
    assert snooze_until is None or opening >= snooze_until


@given(st.integers(0, 1439), st.integers(1, 1439), zones, aware)
def test_the_opening_is_the_first_minute_that_a_walk_finds(
    start: int, length: int, zone: str, now: datetime
) -> None:
    window = Window(start, (start + length) % 1440)
    now = now.replace(second=0, microsecond=0)
    walk = now
    while not is_open(window, zone, walk):
        walk += MINUTE

    assert find_opening(window, zone, None, now) == walk


def test_without_a_window_it_is_always_open() -> None:
    now = datetime(2026, 11, 18, 3, tzinfo=UTC)

    assert find_opening(None, "UTC", None, now) == now
    assert find_opening(Window(600, 600), "UTC", None, now) == now
    assert find_opening(None, "UTC", now + MINUTE, now) == now + MINUTE


def test_a_window_follows_the_clock_on_the_wall_in_lisbon() -> None:
    cases: list[tuple[Window, str, str]] = [
        # Clocks go from 01:00 to 02:00 on 29 March, and from 02:00 to 01:00 on 25 October.
        (Window(90, 150), "2026-03-29T00:30:00+00:00", "2026-03-29T01:00:00+00:00"),
        (Window(70, 110), "2026-03-29T00:30:00+00:00", "2026-03-30T00:10:00+00:00"),
        (Window(90, 120), "2026-10-25T00:40:00+00:00", "2026-10-25T00:40:00+00:00"),
        (Window(90, 120), "2026-10-25T01:10:00+00:00", "2026-10-25T01:30:00+00:00"),
        (Window(30, 90), "2026-10-25T00:45:00+00:00", "2026-10-25T01:00:00+00:00"),
        (Window(1320, 360), "2026-06-01T12:00:00+00:00", "2026-06-01T21:00:00+00:00"),
    ]
    for window, now, opening in cases:
        found = find_opening(window, "Europe/Lisbon", None, datetime.fromisoformat(now))

        assert found == datetime.fromisoformat(opening), window


NOON = datetime(2026, 11, 18, 12, tzinfo=UTC)
AFTERNOON, HOUR = Window(840, 1080), timedelta(hours=1)


def test_a_notification_goes_waits_or_expires() -> None:
    cases: list[tuple[Window | None, datetime | None, datetime, Departure]] = [
        (None, None, NOON + MINUTE, GoNow()),
        (None, NOON - HOUR, NOON + MINUTE, GoNow()),
        (None, None, NOON, Expired()),
        (None, NOON + HOUR, NOON + 2 * HOUR, WaitUntil(NOON + HOUR, Reason.SCHEDULED)),
        (None, NOON + HOUR, NOON + HOUR, Expired()),
        (AFTERNOON, None, NOON + 3 * HOUR, WaitUntil(NOON + 2 * HOUR, Reason.OUTSIDE_HOURS)),
        (AFTERNOON, NOON + HOUR, NOON + 3 * HOUR, WaitUntil(NOON + 2 * HOUR, Reason.OUTSIDE_HOURS)),
        (AFTERNOON, NOON + 3 * HOUR, NOON + 4 * HOUR, WaitUntil(NOON + 3 * HOUR, Reason.SCHEDULED)),
        (AFTERNOON, None, NOON + 2 * HOUR, Expired()),
    ]
    for window, snooze_until, expires_at, departure in cases:
        decided = decide_departure(window, "UTC", snooze_until, expires_at=expires_at, now=NOON)

        assert decided == departure, window


def test_a_snooze_until_the_end_of_the_calendar_has_no_window_after_it() -> None:
    far = datetime(9999, 12, 31, 23, 59, tzinfo=UTC)

    for zone in ("Pacific/Auckland", "UTC", "America/New_York"):
        assert find_opening(Window(540, 600), zone, far, FIRST) == far


@given(windows, zones, snoozes, aware, st.floats(0, 1))
def test_no_moment_before_the_opening_would_have_done(
    window: Window, zone: str, snooze: timedelta | None, now: datetime, share: float
) -> None:
    earliest = now if snooze is None else max(now, now + snooze)
    opening = find_opening(window, zone, earliest, now)

    if opening > earliest:
        between = earliest + (opening - earliest) * share
        if between < opening:
            assert not is_open(window, zone, between)
        assert not is_open(window, zone, max(earliest, opening - timedelta(microseconds=1)))
