"""Reads dates that are not written as ISO, in which the day or the month may come first."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, time
from enum import StrEnum
from functools import lru_cache

from postledger.contacts.csv_columns import read_cell

_DATE = re.compile(
    r"(?P<day>\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4})"
    r"(?:(?:T|,? )(?P<hour>\d{1,2}):(?P<minute>[0-5]\d)(?::(?P<second>[0-5]\d))?"
    r"(?: ?(?P<half>[AaPp])[Mm])?(?: ?(?P<zone>Z|UTC|GMT|[+-]\d{2}:?\d{2}))?)?",
    re.ASCII,
)
_DAY = re.compile(r"(\d{1,2})([-/.])(\d{1,2})\2(\d{4})", re.ASCII)
_YEAR_FIRST = re.compile(r"(\d{4})([-/.])(\d{1,2})\2(\d{1,2})", re.ASCII)
# As conditions about days read it.
_ISO = re.compile(r"(\d{4}-\d{2}-\d{2})(?:[T ]\d{2}:\d{2}.*)?", re.ASCII)
_HOURS = range(24)
_NOON = 12


class DateOrder(StrEnum):
    """Which number of 03/04/2024 is the day; a column of such dates is mapped to it."""

    DAY_FIRST = "day_first"
    MONTH_FIRST = "month_first"


@dataclass(slots=True)
class DateColumn:
    """How many cells of a column are dates, and how they can be read; empty ones do not count."""

    written: int = 0  # dates in another form than ISO
    day_first: int = 0  # of these, there is such a day
    month_first: int = 0
    unclear: int = 0  # of these, both are days, and different ones
    others: int = 0  # no dates at all

    @property
    def form(self) -> DateOrder | None:
        """The only order in which every date can be read; None: a person has to say it."""
        fitting = [order for order in DateOrder if self.count_read(order) == self.written]
        return fitting[0] if len(fitting) == 1 or (fitting and not self.unclear) else None

    def count_read(self, order: DateOrder) -> int:
        return self.day_first if order is DateOrder.DAY_FIRST else self.month_first

    def count_unread(self, order: DateOrder) -> int:
        """The cells that are no dates in this order, and stay texts."""
        return self.written - self.count_read(order) + self.others

    def add_rows(self, rows: Sequence[Sequence[str]], index: int) -> None:
        for row in rows:
            if index < len(row):
                self._add(read_cell(row[index]))

    def _add(self, cell: str) -> None:
        if not cell or _is_iso(cell):
            return
        match = _match(cell)
        days = _find_days(match["day"]) if match else {}
        self.written += bool(days)
        self.day_first += DateOrder.DAY_FIRST in days
        self.month_first += DateOrder.MONTH_FIRST in days
        self.unclear += len(set(days.values())) > 1
        self.others += not days


def read_date(cell: str, order: DateOrder) -> str | None:
    """The date as ISO, with its time; None if the cell is none."""
    if _is_iso(cell):
        return cell
    match = _match(cell)
    day = match and _find_days(match["day"]).get(order)
    if not match or not day:
        return None
    return day + _write_time(match) if match["hour"] else day


def _match(cell: str) -> re.Match[str] | None:
    """The parts of a date whose time there is."""
    match = _DATE.fullmatch(cell)
    if match and match["hour"]:
        hours = range(1, _NOON + 1) if match["half"] else _HOURS
        return match if int(match["hour"]) in hours else None
    return match


def _write_time(match: re.Match[str]) -> str:
    hour, zone = int(match["hour"]), match["zone"] or ""
    if match["half"]:
        hour = hour % _NOON + (_NOON if match["half"] in "Pp" else 0)
    clock = time(hour, int(match["minute"]), int(match["second"] or 0)).isoformat()
    return f"T{clock}" + ("Z" if zone.isalpha() else zone)


# A file repeats few days, however many times of day it has.
@lru_cache(maxsize=65_536)
def _find_days(text: str) -> Mapping[DateOrder, str]:
    """The days that the numbers mean, as ISO, by the order in which they are read."""
    if match := _YEAR_FIRST.fullmatch(text):
        days = dict.fromkeys(DateOrder, _make_day(match[1], match[3], match[4]))
    elif match := _DAY.fullmatch(text):
        days = {
            DateOrder.DAY_FIRST: _make_day(match[4], match[3], match[1]),
            DateOrder.MONTH_FIRST: _make_day(match[4], match[1], match[3]),
        }
    else:
        days = {}
    return {order: day for order, day in days.items() if day}


def _is_iso(cell: str) -> bool:
    match = _ISO.fullmatch(cell)
    return bool(match and _find_days(match[1]))


def _make_day(year: str, month: str, day: str) -> str:
    try:
        return date(int(year), int(month), int(day)).isoformat()
    except ValueError:
        return ""
