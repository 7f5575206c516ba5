"""When mails are due: at once, at a moment, at a local time, and within a delivery window."""

import json
from datetime import UTC, datetime, time, timedelta

from hypothesis import given
from hypothesis import strategies as st

from postledger.mailing import send_times
from postledger.mailing.send_times import SendTime, Wave
from postledger.pacing.hours import Span, WorkingHours

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)
NINE = SendTime(local_time=datetime(2026, 11, 16, 9))  # noqa: DTZ001  in everybody's own zone
ZONES = {"Asia/Tokyo", "Europe/Lisbon", "UTC", "America/New_York"}


def test_without_a_time_there_is_one_wave_that_is_due_at_once() -> None:
    assert send_times.split_waves(SendTime(), zones=ZONES, now=NOW) == [Wave(None)]


def test_a_moment_is_one_wave_and_a_past_one_is_at_once() -> None:
    tomorrow = NOW + timedelta(days=1)
    assert send_times.split_waves(SendTime(tomorrow), zones=ZONES, now=NOW) == [Wave(tomorrow)]
    assert send_times.split_waves(SendTime(NOW - timedelta(days=1)), zones=ZONES, now=NOW) == [
        Wave(None)
    ]


def test_a_local_time_is_a_wave_for_each_clock_from_east_to_west() -> None:
    last = datetime(2026, 11, 16, 14, tzinfo=UTC)
    assert send_times.split_waves(NINE, zones=ZONES, now=NOW) == [
        Wave(datetime(2026, 11, 16, 0, tzinfo=UTC), ("Asia/Tokyo",)),
        Wave(datetime(2026, 11, 16, 9, tzinfo=UTC), ("Europe/Lisbon", "UTC")),
        Wave(last, ("America/New_York",)),
        Wave(last, is_last_look=True),
    ]


def test_where_the_local_time_has_passed_mail_goes_at_once() -> None:
    noon = SendTime(local_time=datetime(2026, 11, 15, 12))  # noqa: DTZ001  in everybody's own zone
    zone, new_york = "Asia/Tokyo", "America/New_York"
    waves = send_times.split_waves(noon, zones={new_york}, default_zone=zone, now=NOW)
    last = datetime(2026, 11, 15, 17, tzinfo=UTC)
    assert waves == [
        Wave(None, (zone,), zone),
        Wave(last, (new_york,), zone),
        Wave(last, is_last_look=True),
    ]


def test_a_time_that_a_clock_skips_comes_and_does_not_get_lost() -> None:
    skipped = datetime(2026, 3, 29, 2, 30)  # noqa: DTZ001  Berlin goes from 02:00 to 03:00
    assert send_times.moment_in("Europe/Berlin", skipped) == datetime(
        2026, 3, 29, 1, 30, tzinfo=UTC
    )


def test_a_time_that_a_clock_shows_twice_comes_once_and_the_first_time() -> None:
    twice = datetime(2026, 10, 25, 2, 30)  # noqa: DTZ001  Berlin goes from 03:00 to 02:00
    autumn = datetime(2026, 10, 24, 12, tzinfo=UTC)
    zones = {"Europe/Berlin", "Africa/Lagos"}  # Lagos always has Berlin's winter time
    waves = send_times.split_waves(SendTime(local_time=twice), zones=zones, now=autumn)
    assert [(wave.due_at, wave.zones) for wave in waves if not wave.is_last_look] == [
        (datetime(2026, 10, 25, 0, 30, tzinfo=UTC), ("Europe/Berlin",)),
        (datetime(2026, 10, 25, 1, 30, tzinfo=UTC), ("Africa/Lagos",)),
        (datetime(2026, 10, 25, 2, 30, tzinfo=UTC), ("UTC",)),
    ]


def test_a_leap_day_is_a_day_like_others() -> None:
    leap_day = SendTime(local_time=datetime(2028, 2, 29, 9))  # noqa: DTZ001  see NINE
    a_year_before = datetime(2027, 3, 1, 12, tzinfo=UTC)
    send_times.check(leap_day, now=a_year_before)
    waves = send_times.split_waves(leap_day, zones={"Asia/Tokyo"}, now=a_year_before)
    assert [wave.due_at for wave in waves if not wave.is_last_look] == [
        datetime(2028, 2, 29, 0, tzinfo=UTC),
        datetime(2028, 2, 29, 9, tzinfo=UTC),
    ]


@given(
    st.sets(st.sampled_from(sorted(ZONES)), min_size=1),
    st.datetimes(datetime(2000, 1, 2), datetime(2100, 1, 1)),  # noqa: DTZ001  no zone is meant
)
def test_each_zone_is_in_one_wave_and_waves_come_in_order(zones: set[str], time: datetime) -> None:
    waves = send_times.split_waves(SendTime(local_time=time), zones=zones, now=NOW)
    assert sorted(zone for wave in waves for zone in wave.zones or ()) == sorted(zones | {"UTC"})
    moments = [wave.due_at or NOW for wave in waves]
    assert moments == sorted(moments)


@given(
    st.one_of(
        st.just(SendTime()),
        st.builds(SendTime, at=st.datetimes(timezones=st.just(UTC))),
        st.builds(SendTime, local_time=st.datetimes()),
    )
)
def test_a_send_time_survives_json(send_time: send_times.SendTime) -> None:
    assert send_times.from_json(send_times.to_json(send_time)) == send_time


DAYTIME = WorkingHours("UTC", (Span(time(9), time(20)),))


def test_where_the_delivery_window_is_open_mail_goes_at_once_and_elsewhere_at_its_opening() -> None:
    # Noon in Lisbon, 21:00 in Tokyo, 07:00 in New York.
    morning = datetime(2026, 11, 16, tzinfo=UTC)
    assert send_times.split_waves(SendTime(), window=DAYTIME, zones=ZONES, now=NOW) == [
        Wave(None, ("Europe/Lisbon", "UTC")),
        Wave(NOW + timedelta(hours=2), ("America/New_York",), is_outside_hours=True),
        Wave(morning, ("Asia/Tokyo",), is_outside_hours=True),
        Wave(morning, is_last_look=True, is_outside_hours=True),
    ]


def test_zones_in_which_the_window_closes_at_other_times_have_waves_of_their_own() -> None:
    zones = {"Europe/Lisbon", "Europe/Berlin", "Europe/Rome"}
    waves = send_times.split_waves(SendTime(), window=DAYTIME, zones=zones, now=NOW)
    assert sorted(wave.zones or () for wave in waves if not wave.is_last_look) == [
        ("Europe/Berlin", "Europe/Rome"),
        ("Europe/Lisbon", "UTC"),
    ]


def test_a_time_within_the_delivery_window_is_kept_and_one_outside_it_waits() -> None:
    tomorrow = NOW + timedelta(days=1)
    waves = send_times.split_waves(
        SendTime(tomorrow), window=DAYTIME, zones={"Asia/Tokyo"}, now=NOW
    )
    assert [(wave.due_at, wave.is_outside_hours) for wave in waves[:2]] == [
        (tomorrow, False),
        (tomorrow + timedelta(hours=12), True),
    ]
    eight = SendTime(local_time=datetime(2026, 11, 16, 8))  # noqa: DTZ001  in everybody's own zone
    first, *_ = send_times.split_waves(eight, window=DAYTIME, zones={"Asia/Tokyo"}, now=NOW)
    assert first == Wave(datetime(2026, 11, 16, tzinfo=UTC), ("Asia/Tokyo",), is_outside_hours=True)


def test_a_wave_survives_json() -> None:
    waves = send_times.split_waves(NINE, zones=ZONES, now=NOW)
    waves += send_times.split_waves(NINE, window=DAYTIME, zones=ZONES, now=NOW)
    for wave in waves:
        assert (
            send_times.wave_from_json(json.loads(json.dumps(send_times.wave_to_json(wave)))) == wave
        )
