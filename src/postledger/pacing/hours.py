"""When mail may go: working hours in a zone, and the next moment at which all of them are open.

Pure. A local time stands for the first moment of its day at which the clock shows it or a later
time. So an opening that the clock skips comes when the clock has moved on, one that the clock
shows twice comes the first time, and nothing closes and opens again because clocks are set back.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import reduce
from zoneinfo import ZoneInfo

EVERY_DAY = frozenset(range(7))
START_WITHOUT_HOURS = time(9)  # where nobody said when a day's work starts

# Hours of two zones may meet only while one of them has summer time: look a year ahead, and some.
HORIZON = timedelta(days=400)
_DAY = timedelta(days=1)
_SECOND = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class Span:
    """Open from one local time to another. Without a later one the span ends on the next day."""

    opens: time
    closes: time  # the same as `opens`: 24 hours


@dataclass(frozen=True, slots=True)
class WorkingHours:
    """Spans that start on some weekdays; Monday is 0."""

    zone: str
    spans: tuple[Span, ...]
    weekdays: frozenset[int] = EVERY_DAY

    def __post_init__(self) -> None:
        if not self.weekdays <= EVERY_DAY:
            raise ValueError("weekdays are numbers from 0, Monday, to 6, Sunday")


@dataclass(frozen=True, slots=True)
class Interval:
    """From the first moment up to the second, which is no part of it; both in UTC."""

    start: datetime
    end: datetime


def is_open(hours: Sequence[WorkingHours], now: datetime) -> bool:
    """Whether all these hours are open now. Where there are none, it is always open."""
    return find_next_opening(hours, now) == now


def find_next_opening(hours: Sequence[WorkingHours], now: datetime) -> datetime | None:
    """The first moment from now on at which all these hours are open: now, if they are.

    None if there is no such moment within the next 400 days.
    """
    interval = next(walk_intervals(hours, now), None)
    return None if interval is None else max(interval.start, now.astimezone(UTC))


def find_next_day(zone: str, now: datetime) -> datetime:
    """The start of the zone's next day."""
    day = now.astimezone(ZoneInfo(zone)).date() + _DAY
    start = _find_moment(zone, day, time())
    if start <= now:  # shortly after midnight, clocks were set back to the day before
        start = datetime.combine(day, time(fold=1), ZoneInfo(zone)).astimezone(UTC)
    return start


def find_daily_resume(hours: Sequence[WorkingHours], zone: str, now: datetime) -> datetime:
    """When mail goes again after a daily limit was reached: on the zone's next day at the earliest.

    That is the first moment at which the hours are open. Where there are no hours, or where they
    never open, it is 09:00: a limit's hold has an end, and hours that never open hold on their own.
    """
    next_day = find_next_day(zone, now)
    opening = find_next_opening(hours, next_day) if hours else None
    if opening is not None:
        return opening
    return _find_moment(zone, next_day.astimezone(ZoneInfo(zone)).date(), START_WITHOUT_HOURS)


def walk_intervals(hours: Sequence[WorkingHours], since: datetime) -> Iterator[Interval]:
    """The intervals in which all these hours are open, in order, apart from one another.

    The first may have started before `since`; none ends before it.
    """
    everything = iter([Interval(since.astimezone(UTC), since.astimezone(UTC) + HORIZON)])
    walks = [_walk_one(each, since) for each in hours]
    return reduce(_intersect, walks) if walks else everything


def _walk_one(hours: WorkingHours, since: datetime) -> Iterator[Interval]:
    """The intervals of one set of hours, those that touch joined."""
    joined: Interval | None = None
    for interval in _walk_spans(hours, since):
        if joined is None:
            joined = interval
        elif interval.start <= joined.end:
            joined = Interval(joined.start, max(joined.end, interval.end))
        else:
            yield joined
            joined = interval
    if joined is not None:
        yield joined


def _walk_spans(hours: WorkingHours, since: datetime) -> Iterator[Interval]:
    if not hours.spans or not hours.weekdays:
        return
    if hours.weekdays == EVERY_DAY and any(span.opens == span.closes for span in hours.spans):
        yield Interval(since.astimezone(UTC), since.astimezone(UTC) + HORIZON)
        return
    spans = sorted(hours.spans, key=lambda span: span.opens)
    # A span of the day before may still be open, and a clock set back may show that day again.
    first = since.astimezone(ZoneInfo(hours.zone)).date() - 2 * _DAY
    for day in (first + number * _DAY for number in range(HORIZON.days)):
        if day.weekday() not in hours.weekdays:
            continue
        for span in spans:
            interval = _find_interval(hours.zone, day, span)
            if interval.start < interval.end and interval.end > since:
                yield interval


def _find_interval(zone: str, day: date, span: Span) -> Interval:
    last_day = day if span.opens < span.closes else day + _DAY
    return Interval(_find_moment(zone, day, span.opens), _find_moment(zone, last_day, span.closes))


def _find_moment(zone: str, day: date, clock_time: time) -> datetime:
    local = datetime.combine(day, clock_time.replace(fold=0), ZoneInfo(zone))
    moment = local.astimezone(UTC)
    if moment.astimezone(local.tzinfo).replace(tzinfo=None) == local.replace(tzinfo=None):
        return moment
    return _find_change(local.replace(fold=1).astimezone(UTC), moment, ZoneInfo(zone))


def _find_change(before: datetime, after: datetime, zone: ZoneInfo) -> datetime:
    """The moment between the two at which the zone's clock is set forward."""
    before, after = before.replace(microsecond=0), after.replace(microsecond=0)
    old_offset = before.astimezone(zone).utcoffset()
    while after - before > _SECOND:
        middle = before + (after - before) // _SECOND // 2 * _SECOND
        if middle.astimezone(zone).utcoffset() == old_offset:
            before = middle
        else:
            after = middle
    return after


def _intersect(left: Iterator[Interval], right: Iterator[Interval]) -> Iterator[Interval]:
    one, other = next(left, None), next(right, None)
    while one is not None and other is not None:
        start, end = max(one.start, other.start), min(one.end, other.end)
        if start < end:
            yield Interval(start, end)
        if one.end <= other.end:
            one = next(left, None)
        else:
            other = next(right, None)
