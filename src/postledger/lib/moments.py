"""Moments that somebody wrote, as UTC: only those that can be stored, read and shown in any zone.

The calendars of Python and of PostgreSQL end in the year 9999: a moment of its last day may lie
behind the end in another zone.
"""

from datetime import UTC, datetime

FIRST_YEAR, LAST_YEAR = 1970, 9000


class FarMomentError(ValueError):
    """A year that nobody means."""


def to_utc(moment: datetime) -> datetime:
    """A moment with its zone, in UTC; refuses years before FIRST_YEAR and after LAST_YEAR."""
    check_year(moment)
    return moment.astimezone(UTC)


def check_year(time: datetime) -> None:
    """The year as it was written, also of a time without a zone."""
    if not FIRST_YEAR <= time.year <= LAST_YEAR:
        raise FarMomentError
