"""When a notification may go: in the delivery window of its recipient's day, and after a snooze.

The fan-out, a posted job and the hand-over all decide by `decide_departure`. Pure.

A window is about what a clock on the wall shows. Where clocks are set forward over its start, it
opens as they have moved on; where they are set back into it, it is open once more.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from postledger.deliveries.reasons import Reason

_MINUTES_OF_DAY = 1440
_DAY = timedelta(days=1)
_SECOND = timedelta(seconds=1)
# A short window may be skipped by a change of clocks, and a zone has skipped a whole day before.
_DAYS_AHEAD = 4
# Days after it may be beyond what a local clock can show.
_LAST_LOCAL = datetime(9999, 12, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Window:
    """Minutes of the local day; an end before the start is on the next day, equal: always open."""

    start: int
    end: int

    def contains(self, local: datetime) -> bool:
        start, end = self.start % _MINUTES_OF_DAY, self.end % _MINUTES_OF_DAY
        minute = local.hour * 60 + local.minute
        if start < end:
            return start <= minute < end
        return start == end or minute >= start or minute < end


def format_minute(minute: int) -> str:
    """What a clock shows in this minute of the day, such as 09:30; it shows midnight as 00:00."""
    hour, rest = divmod(minute % _MINUTES_OF_DAY, 60)
    return f"{hour:02}:{rest:02}"


@dataclass(frozen=True, slots=True)
class GoNow:
    """Nothing that its recipient chose speaks against it."""


@dataclass(frozen=True, slots=True)
class WaitUntil:
    at: datetime
    reason: Reason


@dataclass(frozen=True, slots=True)
class Expired:
    """Its time to live ended, or ends before its recipient may be told."""


type Departure = GoNow | WaitUntil | Expired


def decide_departure(
    window: Window | None,
    zone: str,
    snooze_until: datetime | None,
    *,
    expires_at: datetime,
    now: datetime,
) -> Departure:
    """When a notification may go, by what its recipient chose and its event's time to live."""
    opening = find_opening(window, zone, snooze_until, now)
    if opening >= expires_at:
        return Expired()
    if opening <= now:
        return GoNow()
    is_snooze = opening == snooze_until
    return WaitUntil(opening, Reason.SCHEDULED if is_snooze else Reason.OUTSIDE_HOURS)


def find_opening(
    window: Window | None, zone: str, snooze_until: datetime | None, now: datetime
) -> datetime:
    """The first moment, from now on and not before the snooze ends, at which the window is open.

    A snooze until the end of the calendar has no window after it: its own end is returned.
    """
    earliest = now if snooze_until is None else max(now, snooze_until)
    if window is None or earliest > _LAST_LOCAL:
        return earliest
    if window.contains(earliest.astimezone(ZoneInfo(zone))):
        return earliest
    moments = _list_moments(window, ZoneInfo(zone), earliest.astimezone(UTC))
    return min(moment for moment in moments if moment >= earliest)


def _list_moments(window: Window, zone: ZoneInfo, since: datetime) -> Iterator[datetime]:
    """The moments at which a closed window can open: its starts, and the changes of the clock."""
    today = since.astimezone(zone).date()
    for number in range(-1, _DAYS_AHEAD + 1):
        yield from _list_starts(window, zone, today + number * _DAY)
        change = _find_change(zone, since + number * _DAY, since + (number + 1) * _DAY)
        if change is not None and window.contains(change.astimezone(zone)):
            yield change


def _list_starts(window: Window, zone: ZoneInfo, day: date) -> Iterator[datetime]:
    """Once a day; never where the clock skips it, and twice where the clock shows it twice."""
    hour, minute = divmod(window.start % _MINUTES_OF_DAY, 60)
    for fold in (0, 1):
        moment = datetime.combine(day, time(hour, minute, fold=fold), zone).astimezone(UTC)
        local = moment.astimezone(zone)
        if (local.date(), local.hour, local.minute) == (day, hour, minute):
            yield moment


def _find_change(zone: ZoneInfo, before: datetime, after: datetime) -> datetime | None:
    """The first second of a new offset between two moments; None where they have the same."""
    before, after = before.replace(microsecond=0), after.replace(microsecond=0)
    offset = before.astimezone(zone).utcoffset()
    if after.astimezone(zone).utcoffset() == offset:
        return None
    while after - before > _SECOND:
        middle = before + (after - before) // _SECOND // 2 * _SECOND
        if middle.astimezone(zone).utcoffset() == offset:
            before = middle
        else:
            after = middle
    return after
