"""What a cell of a spreadsheet says as text: ISO dates, and numbers without spare noughts."""

import re
from collections.abc import Mapping
from datetime import datetime, timedelta

# Formats that every spreadsheet program knows by these numbers, and that show a moment.
_MOMENTS = frozenset({*range(14, 23), *range(27, 37), *range(45, 48), *range(50, 59)})
# What of a format is shown as it stands, or is a colour or a language.
_SHOWN = re.compile(r'"[^"]*"|\\.|_.|\*.|\[(?![hms]+\])[^\]]*\]', re.IGNORECASE)
_MOMENT = re.compile(r"[ymdhs]", re.IGNORECASE)

_EXACT = 1e15  # spreadsheets keep fifteen digits
_LAST_DAY = 2_958_466  # the day after 9999-12-31
_FALSE_LEAP_DAY = 60  # 1900-02-29, which spreadsheets count though it never was
_OF_1900 = datetime(1899, 12, 30)  # noqa: DTZ001  a cell has no time zone
_OF_1904 = datetime(1904, 1, 1)  # noqa: DTZ001  the same


def shows_moment(number: int, formats: Mapping[int, str]) -> bool:
    """Whether a number format shows a date or a time."""
    if number in formats:
        return bool(_MOMENT.search(_SHOWN.sub("", formats[number])))
    return number in _MOMENTS


def number(text: str) -> str:
    """As it was typed, and not as it is computed with: 12.0 is 12, 0.10000000000000001 is 0.1."""
    try:
        value = float(text)
    except ValueError:
        return text
    if abs(value) < _EXACT and value.is_integer():
        return str(int(value))
    return format(value, ".15g")


def moment(text: str, *, is_1904: bool) -> str:
    """A day, a day and a time, or where there is no day a time; else the number itself."""
    try:
        days = float(text)
    except ValueError:
        return text
    if not 0 <= days < _LAST_DAY:
        return number(text)
    if not is_1904 and days < _FALSE_LEAP_DAY:
        days += 1
    since = timedelta(seconds=round(days * 86_400))
    try:
        found = (_OF_1904 if is_1904 else _OF_1900) + since
    except OverflowError:  # in the last moment of 9999, or after it in a workbook of 1904
        return number(text)
    if float(text) < 1:
        return found.time().isoformat()
    return found.date().isoformat() if not since.seconds else found.isoformat()


def truth(text: str) -> str:
    return "TRUE" if text.strip() in {"1", "true"} else "FALSE"
