"""Rates and series: pure measures on a given clock, and the counters by slots that feed them."""

from datetime import UTC, datetime, timedelta

import pytest

from postledger.deliveries import entries, ledger, queries
from postledger.deliveries.entries import StreamKind
from postledger.deliveries.figures import pace
from postledger.deliveries.figures.pace import PacePoint, SlotResults
from postledger.deliveries.ledger import sql
from postledger.deliveries.states import State
from tests import cast

NOON = datetime(2026, 11, 17, 12, tzinfo=UTC)


def slot(seconds: float, results: int) -> SlotResults:
    return SlotResults(NOON + timedelta(seconds=seconds), results, results)


def test_a_rate_is_that_of_the_last_minute_or_of_the_time_since_a_stream_began() -> None:
    rates: list[tuple[list[SlotResults], float | None]] = [
        ([slot(-10, 10_000), slot(-5, 10_000)], 2_000),
        ([slot(-5 * n, 200) for n in range(1, 25)], 40),
        ([slot(-5, 6)], 0.1),
        ([slot(-90, 180)], 2),  # a slot of a minute that reaches into the last one
        ([], None),
        ([slot(-121, 500)], None),
        ([slot(-10, 30), slot(-5, -30)], None),
    ]
    for slots, rate in rates:
        assert pace.measure_rate(slots, now=NOON) == pytest.approx(rate), slots


def test_a_series_has_no_gap_and_adds_up_and_a_long_run_gets_wider_points() -> None:
    series = pace.make_series([PacePoint(NOON, 7), PacePoint(NOON + timedelta(seconds=15), 5)])

    assert pace.make_series([]).points == ()
    assert series.width == timedelta(seconds=5)
    assert [point.accepted for point in series.points] == [7, 0, 0, 5]
    assert [point.at for point in series.points][1] == NOON + timedelta(seconds=5)
    for hours in (0.1, 1, 5, 24, 24 * 30):
        moments = [NOON + timedelta(hours=hours) * n / 500 for n in range(501)]
        series = pace.make_series([PacePoint(moment, 3) for moment in moments])
        assert len(series.points) <= pace.MOST_POINTS, hours
        assert sum(point.accepted for point in series.points) == 3 * 501, hours


@pytest.mark.django_db(transaction=True)
def test_the_pace_of_a_stream_is_the_same_before_and_after_its_counters_are_folded() -> None:
    for kind in (StreamKind.CAMPAIGN, StreamKind.TRANSACTIONAL):
        stream = cast.stream(kind, mails=30)
        cast.book(stream, lambda position: entries.accepted(position, message_id="m"))
        cast.book(stream, lambda position: entries.refused(position, code="550"))
        before = pace.read_pace(stream)
        now = datetime.now(UTC)
        rate = pace.read_rates([stream], now=now)

        ledger.fold()

        assert pace.read_pace(stream) == before, kind
        accepted = queries.read_books([stream])[stream].counts[State.ACCEPTED]
        assert sum(point.accepted for point in before.points) == accepted > 0
        assert pace.read_rates([stream], now=now) == rate
        assert rate[stream] > 0


@pytest.mark.django_db(transaction=True)
def test_the_minutes_of_a_workspace_have_its_own_mail_alone() -> None:
    ours, theirs = cast.stream(mails=10), cast.stream(mails=10, workspace="globex")
    test = cast.stream(StreamKind.TRANSACTIONAL, mails=1, is_test=True)
    for stream in (ours, theirs, test):
        cast.book(stream, lambda position: entries.accepted(position, message_id="m"))
    workspace_id = cast.sender().workspace_id
    later = datetime.now(UTC) + timedelta(minutes=1)

    unfolded = pace.read_minutes(workspace_id, now=later)
    ledger.fold()
    folded = pace.read_minutes(workspace_id, now=later)

    assert [point.accepted for point in folded][-1] == 10
    assert len(folded) == 60
    assert unfolded == folded
    assert pace.read_minutes(workspace_id, now=later - timedelta(minutes=2))[-1].accepted == 0


@pytest.mark.django_db(transaction=True)
def test_old_minutes_of_single_mails_are_forgotten_and_a_run_keeps_its_own_while_its_month() -> (
    None
):
    past = datetime.now(UTC) - timedelta(days=62)
    run = cast.stream(mails=10, now=past)
    single = cast.stream(StreamKind.TRANSACTIONAL, mails=1)
    for stream in (run, single):
        cast.book(stream, lambda position: entries.accepted(position, message_id="m"))
    ledger.fold()
    assert ledger.forget_old_pace() == 0
    sql.rows("UPDATE deliveries_streampace SET slot = slot - interval '9 days'", {})

    assert ledger.forget_old_pace() == 1

    assert sum(point.accepted for point in pace.read_pace(run).points) == 10
    ledger.drop_month(run >> 32)
    assert sql.rows("SELECT FROM deliveries_streampace WHERE stream_id = %(s)s", {"s": run}) == []
