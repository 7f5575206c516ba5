"""Which comparisons each field of a filter allows, and how their values are read."""

from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Never

from postledger.contacts import details
from postledger.contacts.details import Scalar
from postledger.contacts.filters import Attribute, Column, Op
from postledger.contacts.states import ContactState
from postledger.lib.errors import RefusedError

MOST_VALUES = 100
MOST_DAYS = 36_500

type Value = Scalar | datetime | tuple[Scalar, ...]
type _Reader = Callable[[object, str, datetime], Value]


class InvalidFilterError(RefusedError):
    """A filter that cannot be used: where it is wrong, and what to write there."""

    code = "invalid_filter"

    def __init__(self, place: str, what: str, remedy: str) -> None:
        super().__init__(f"The filter cannot be used: at {place}, {what}. {remedy}")
        self.place = place
        self.detail = f"{what[:1].upper()}{what[1:]}. {remedy}"


def refuse(place: str, what: str, remedy: str) -> Never:
    raise InvalidFilterError(place, what, remedy)


def readers(field: Column | Attribute) -> Mapping[Op, _Reader]:
    """The comparisons that a field allows, each with what reads its value."""
    match field:
        case Attribute():
            return _OF_ATTRIBUTES
        case Column.STATE:
            return _OF_STATE
        case Column.LOCALE:
            return _OF_LOCALE
        case Column.OCD_IDS:
            return _OF_PLACES
        case Column.STATE_CHANGED_AT:
            return {**_OF_DATES, Op.EXISTS: _flag}
        case Column.CREATED_AT | Column.UPDATED_AT:
            return _OF_DATES


def scalar(value: object, place: str, _: datetime) -> Scalar:
    if details.is_scalar(value):
        return value  # type: ignore[return-value]
    remedy = (
        f"Write a text of at most {details.LONGEST_TEXT} characters, a number below 2^53, true or"
        ' false; for a field without a value, {"exists": false}.'
    )
    return refuse(place, "this is no value to compare with", remedy)


def _text(value: object, place: str, now: datetime) -> str:
    if isinstance(value, str):
        return str(scalar(value, place, now))
    return refuse(place, "this is no text", "Write it in quotation marks.")


def _number(value: object, place: str, now: datetime) -> Scalar:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return scalar(value, place, now)
    return refuse(place, "this is no number", "Write one without quotation marks.")


def _flag(value: object, place: str, _: datetime) -> bool:
    if isinstance(value, bool):
        return value
    return refuse(place, "this is neither true nor false", "Write one of them.")


def _state(value: object, place: str, now: datetime) -> str:
    known = [state.value for state in ContactState]
    if value in known:
        return _text(value, place, now)
    return refuse(place, "no contact has this state", f"Write one of {', '.join(known)}.")


def several(value: object, place: str) -> list[object]:
    if isinstance(value, list) and 0 < len(value) <= MOST_VALUES:
        return value
    return refuse(place, "this is no list of values", f"Write 1 to {MOST_VALUES} of them in [ ].")


def _each(read: Callable[[object, str, datetime], Scalar]) -> _Reader:
    def read_all(value: object, place: str, now: datetime) -> tuple[Scalar, ...]:
        items = enumerate(several(value, place))
        return tuple(read(item, f"{place}[{index}]", now) for index, item in items)

    return read_all


def _moment(value: object, place: str, _: datetime) -> datetime:
    """A day, which begins at midnight UTC, or a moment with its zone."""
    remedy = "Write a day like 2026-11-15, or a moment with its zone like 2026-11-15T09:00:00Z."
    try:
        found = datetime.fromisoformat(value if isinstance(value, str) else "")
        if found.tzinfo is None:
            day = date.fromisoformat(str(value))
            found = datetime(day.year, day.month, day.day, tzinfo=UTC)
        return found.astimezone(UTC)
    except (ValueError, OverflowError):
        return refuse(place, "this is no day and no moment", remedy)


def _days(value: object, place: str, now: datetime) -> datetime:
    if isinstance(value, int) and not isinstance(value, bool) and 0 < value <= MOST_DAYS:
        return now - timedelta(days=value)
    return refuse(place, "this is no number of days", f"Write one from 1 to {MOST_DAYS}.")


_OF_ATTRIBUTES: Mapping[Op, _Reader] = {
    Op.IS: scalar,
    Op.IN: _each(scalar),
    Op.STARTS_WITH: _text,
    Op.CONTAINS: _text,
    Op.HAS: scalar,
    Op.HAS_ANY: _each(scalar),
    Op.EXISTS: _flag,
    Op.OVER: _number,
    Op.AT_LEAST: _number,
    Op.UNDER: _number,
    Op.AT_MOST: _number,
}
_OF_STATE: Mapping[Op, _Reader] = {Op.IS: _state, Op.IN: _each(_state)}
_OF_LOCALE: Mapping[Op, _Reader] = {
    Op.IS: _text,
    Op.IN: _each(_text),
    Op.STARTS_WITH: _text,
    Op.EXISTS: _flag,
}
_OF_PLACES: Mapping[Op, _Reader] = {Op.HAS: _text, Op.HAS_ANY: _each(_text), Op.EXISTS: _flag}
_OF_DATES: Mapping[Op, _Reader] = {Op.BEFORE: _moment, Op.SINCE: _moment, Op.WITHIN_DAYS: _days}
