"""The mails of a forecast, by the days of a zone. Pure."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date, datetime
from zoneinfo import ZoneInfo

from postledger.pacing.hours import find_next_day


@dataclass(frozen=True, slots=True)
class Stretch:
    """A time in which mails of a stream go at one rate."""

    start: datetime
    end: datetime
    mails: float


@dataclass(frozen=True, slots=True)
class ForecastDay:
    day: date
    mails: int
    starts_at: datetime  # of the first of them
    ends_at: datetime


def split_days(stretches: Iterable[Stretch], zone: str) -> list[ForecastDay]:
    """The days on which mails go. Together they have as many mails as the stretches."""
    by_day: dict[date, list[Stretch]] = {}
    for stretch in stretches:
        for piece in _cut_at_midnights(stretch, zone):
            day = piece.start.astimezone(ZoneInfo(zone)).date()
            by_day.setdefault(day, []).append(piece)
    days, gone = [], 0.0
    for day, pieces in sorted(by_day.items()):
        before, gone = gone, gone + sum(piece.mails for piece in pieces)
        # What rounding takes from one day goes on the next one.
        if mails := round(gone) - round(before):
            starts_at = min(piece.start for piece in pieces)
            days.append(ForecastDay(day, mails, starts_at, max(piece.end for piece in pieces)))
    return days


def _cut_at_midnights(stretch: Stretch, zone: str) -> Iterator[Stretch]:
    length, start = stretch.end - stretch.start, stretch.start
    while (midnight := find_next_day(zone, start)) < stretch.end:
        yield Stretch(start, midnight, stretch.mails * ((midnight - start) / length))
        start = midnight
    share = (stretch.end - start) / length if length else 1.0
    yield Stretch(start, stretch.end, stretch.mails * share)
