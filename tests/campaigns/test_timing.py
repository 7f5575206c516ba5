"""When mails are due: at once, at a moment, or at the same time of everybody's day."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from postledger.campaigns import timing
from postledger.campaigns.timing import At, AtOnce, Local, Wave

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)
NINE = Local(datetime(2026, 11, 16, 9))  # noqa: DTZ001  a time on everybody's own clock
ZONES = {"Asia/Tokyo", "Europe/Lisbon", "UTC", "America/New_York"}


def test_without_a_time_there_is_one_wave_that_is_due_at_once() -> None:
    assert timing.waves(AtOnce(), zones=ZONES, now=NOW) == [Wave(None)]


def test_a_moment_is_one_wave_and_a_past_one_is_at_once() -> None:
    tomorrow = NOW + timedelta(days=1)
    assert timing.waves(At(tomorrow), zones=ZONES, now=NOW) == [Wave(tomorrow)]
    assert timing.waves(At(NOW - timedelta(days=1)), zones=ZONES, now=NOW) == [Wave(None)]


def test_a_local_time_is_a_wave_for_each_clock_from_east_to_west() -> None:
    assert timing.waves(NINE, zones=ZONES, now=NOW) == [
        Wave(datetime(2026, 11, 16, 0, tzinfo=UTC), ("Asia/Tokyo",)),
        Wave(datetime(2026, 11, 16, 9, tzinfo=UTC), ("Europe/Lisbon", "UTC")),
        Wave(datetime(2026, 11, 16, 14, tzinfo=UTC), ("America/New_York",)),
    ]


def test_where_the_local_time_has_passed_mail_goes_at_once() -> None:
    noon = Local(datetime(2026, 11, 15, 12))  # noqa: DTZ001  a time on everybody's own clock
    waves = timing.waves(noon, zones={"Asia/Tokyo", "America/New_York"}, now=NOW)
    assert waves == [
        Wave(None, ("Asia/Tokyo",)),
        Wave(datetime(2026, 11, 15, 17, tzinfo=UTC), ("America/New_York",)),
    ]


def test_a_time_that_a_clock_skips_comes_and_does_not_get_lost() -> None:
    skipped = datetime(2026, 3, 29, 2, 30)  # noqa: DTZ001  Berlin goes from 02:00 to 03:00
    assert timing.moment_in("Europe/Berlin", skipped) == datetime(2026, 3, 29, 1, 30, tzinfo=UTC)


@given(
    st.sets(st.sampled_from(sorted(ZONES)), min_size=1),
    st.datetimes(datetime(2000, 1, 2), datetime(2100, 1, 1)),  # noqa: DTZ001  no zone is meant
)
def test_each_zone_is_in_one_wave_and_waves_come_in_order(zones: set[str], time: datetime) -> None:
    waves = timing.waves(Local(time), zones=zones, now=NOW)
    assert sorted(zone for wave in waves for zone in wave.zones or ()) == sorted(zones)
    moments = [wave.due_at or NOW for wave in waves]
    assert moments == sorted(moments)


@given(
    st.one_of(
        st.just(AtOnce()),
        st.builds(At, st.datetimes(timezones=st.just(UTC))),
        st.builds(Local, st.datetimes()),
    )
)
def test_what_is_written_is_read_again(when: timing.When) -> None:
    assert timing.read(timing.written(when)) == when
