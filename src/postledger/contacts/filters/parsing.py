"""Reads audience filters from JSON; an invalid one is refused with its path and a remedy."""

from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Never

from postledger.contacts import details
from postledger.contacts.details import Scalar
from postledger.contacts.filters.expressions import (
    All,
    AnyOf,
    AttributeField,
    Column,
    Comparison,
    Filter,
    Not,
    OnList,
    Op,
)
from postledger.contacts.states import ContactState, SubscriptionState
from postledger.lib import moments
from postledger.lib.errors import RefusedError
from postledger.lib.moments import FarMomentError
from postledger.lib.sentences import Sentence, join, say
from postledger.providers import addresses
from postledger.providers.addresses import InvalidAddressError

DEEPEST = 10
MOST_CONDITIONS = 100
MOST_VALUES = 100
MOST_DAYS = 36_500
# PostgreSQL compares it with every part of a text.
LONGEST_FRAGMENT = 100

_ATTRIBUTES = "attributes."
_ENGAGEMENT = "engagement"
_OPERATORS = ("field", "all", "any", "not")

type _Value = Scalar | date | tuple[Scalar, ...]
type _ValueParser = Callable[[object, str, datetime], _Value]


class InvalidFilterError(RefusedError):
    """A filter that cannot be used: the path of the mistake, and what to write there."""

    code = "invalid_filter"

    def __init__(self, path: str, problem: Sentence, remedy: Sentence) -> None:
        self.path = path
        self.detail = join([problem, remedy])
        super().__init__(
            say("The filter cannot be used, at %(path)s: %(detail)s", path=path, detail=self.detail)
        )


def _refuse(path: str, problem: Sentence, remedy: Sentence) -> Never:
    raise InvalidFilterError(path, problem, remedy)


def parse(data: object, *, now: datetime) -> Filter:
    """A filter from parsed JSON; `within_days` counts back from `now`."""
    return _Parser(now).read(data, "$", 1)


class _Parser:
    def __init__(self, now: datetime) -> None:
        self._now = now
        self._count = 0

    def read(self, data: object, path: str, depth: int) -> Filter:
        if depth > DEEPEST:
            _refuse(
                path,
                say("Conditions are nested more than %(deepest)s deep.", deepest=DEEPEST),
                say("Nest them less."),
            )
        if not isinstance(data, Mapping) or not all(isinstance(key, str) for key in data):
            _refuse(
                path, say("This is not a condition."), say('Write an object like {"state": "OH"}.')
            )
        operator = next((name for name in _OPERATORS if name in data), None)
        if operator is None:
            return self._short_form(data, path)
        if operator == "field":
            return self._comparison(data, path)
        if len(data) > 1:
            _refuse(
                path,
                say("'%(operator)s' must be alone in its object.", operator=operator),
                say(
                    "Put each condition into an object of its own. For an attribute of that name,"
                    ' write {"field": "attributes.%(operator)s"}.',
                    operator=operator,
                ),
            )
        return self._group(operator, data[operator], f"{path}.{operator}", depth)

    def _group(self, operator: str, data: object, path: str, depth: int) -> Filter:
        if operator == "not":
            return Not(self.read(data, path, depth + 1))
        if not isinstance(data, list) or not data:
            _refuse(
                path, say("This is not a list of conditions."), say("Write at least one in [ ].")
            )
        # Counted before they are read, so that a huge filter costs nothing.
        self._add_conditions(len(data), path)
        parts = tuple(
            self.read(part, f"{path}[{index}]", depth + 1) for index, part in enumerate(data)
        )
        return All(parts) if operator == "all" else AnyOf(parts)

    def _short_form(self, data: Mapping[str, object], path: str) -> Filter:
        if "list" in data and data.keys() <= {"list", Op.IS, Op.IN}:
            return self._on_list(data, path)
        self._add_conditions(len(data), path)
        parts = tuple(self._pair(key, value, path) for key, value in data.items())
        return parts[0] if len(parts) == 1 else All(parts)

    def _pair(self, key: str, value: object, path: str) -> Filter:
        if key == "list":
            return self._on_list({key: value}, path)
        field = AttributeField(_attribute_key(key, path))
        return Comparison(field, Op.IS, _scalar(value, f"{path}.{key}", self._now))

    def _on_list(self, data: Mapping[str, object], path: str) -> OnList:
        self._add_conditions(1, path)
        key = data["list"]
        if not isinstance(key, str) or not details.is_key(key):
            _refuse(
                f"{path}.list",
                say("This is not the key of a list."),
                say('Write one like "news".'),
            )
        if Op.IS in data and Op.IN in data:
            _refuse(path, say("There are two comparisons."), say("Write one for each condition."))
        if Op.IS in data:
            return OnList(key, (_subscription_state(data[Op.IS], f"{path}.is"),))
        if Op.IN in data:
            states = enumerate(_values(data[Op.IN], f"{path}.in"))
            return OnList(
                key, tuple(_subscription_state(state, f"{path}.in[{n}]") for n, state in states)
            )
        return OnList(key)

    def _comparison(self, data: Mapping[str, object], path: str) -> Comparison:
        self._add_conditions(1, path)
        field = _field(data["field"], f"{path}.field")
        parsers = _value_parsers(field)
        names = ", ".join(parsers)
        match [name for name in data if name != "field"]:
            case [name] if name in parsers:
                op = Op(name)
            case [name]:
                _refuse(
                    path,
                    say("'%(name)s' is not a comparison here.", name=name[:40]),
                    say("Write one of %(names)s.", names=names),
                )
            case _:
                _refuse(
                    path,
                    say("A condition has one comparison."),
                    say("Write one of %(names)s.", names=names),
                )
        value = parsers[op](data[op], f"{path}.{op}", self._now)
        return Comparison(field, Op.SINCE if op is Op.WITHIN_DAYS else op, value)

    def _add_conditions(self, number: int, path: str) -> None:
        self._count += number
        if self._count > MOST_CONDITIONS:
            remedy = say('Put values of the same comparison into one {"in": […]}.')
            _refuse(
                path,
                say(
                    "There are more than %(most)s conditions.",
                    most=MOST_CONDITIONS,
                ),
                remedy,
            )


def _field(name: object, path: str) -> Column | AttributeField:
    names = ", ".join([*Column, f"{_ATTRIBUTES}NAME"])
    if not isinstance(name, str):
        _refuse(
            path,
            say("This is not the name of a field."),
            say("Write one of %(names)s.", names=names),
        )
    if name.startswith(_ATTRIBUTES):
        return AttributeField(_attribute_key(name.removeprefix(_ATTRIBUTES), path))
    if name.partition(".")[0] == _ENGAGEMENT:
        problem = say("Opens and clicks are not counted.")
        _refuse(
            path, problem, say("Leave this condition out, or use one of %(names)s.", names=names)
        )
    if name not in list(Column):
        _refuse(
            path,
            say("There is no field '%(name)s'.", name=name[:40]),
            say("Write one of %(names)s.", names=names),
        )
    return Column(name)


def _attribute_key(key: str, path: str) -> str:
    if details.is_key(key):
        return key
    problem = say("'%(key)s' cannot be the name of an attribute.", key=key[:40])
    return _refuse(
        path,
        problem,
        say("Write 1 to %(longest)s visible characters.", longest=details.LONGEST_KEY),
    )


def _subscription_state(word: object, path: str) -> SubscriptionState:
    states = [state.value for state in SubscriptionState]
    if isinstance(word, str) and word in states:
        return SubscriptionState(word)
    return _refuse(
        path,
        say("No subscription has this state."),
        say("Write one of %(names)s.", names=", ".join(states)),
    )


def _value_parsers(  # noqa: PLR0911  one for each kind
    field: Column | AttributeField,
) -> Mapping[Op, _ValueParser]:
    """The comparisons that a field allows, each with the function that reads its value."""
    match field:
        case AttributeField():
            return _FOR_ATTRIBUTES
        case Column.STATE:
            return {Op.IS: _contact_state, Op.IN: _each(_contact_state)}
        case Column.DOMAIN:
            return {Op.IS: _domain, Op.IN: _each(_domain)}
        case Column.LOCALE:
            return _FOR_LOCALE
        case Column.OCD_IDS:
            return {Op.HAS: _text, Op.HAS_ANY: _each(_text), Op.EXISTS: _flag}
        case Column.STATE_CHANGED_AT:
            return {**_FOR_TIMES, Op.EXISTS: _flag}
        case Column.CREATED_AT | Column.UPDATED_AT:
            return _FOR_TIMES


def _scalar(value: object, path: str, _: datetime) -> Scalar:
    if details.is_scalar(value):
        return value  # type: ignore[return-value]
    remedy = say(
        "Write a text of at most %(longest)s characters, a number below 2^53, true or"
        ' false; for a field without a value, {"exists": false}.',
        longest=details.LONGEST_TEXT,
    )
    return _refuse(path, say("This is not a value to compare with."), remedy)


def _text(value: object, path: str, now: datetime) -> str:
    if isinstance(value, str):
        return str(_scalar(value, path, now))
    return _refuse(path, say("This is not a text."), say("Write it in quotation marks."))


def _domain(value: object, path: str, now: datetime) -> str:
    """As addresses have it: in lower-case ASCII."""
    try:
        return addresses.ascii_domain(_text(value, path, now).strip().removeprefix("@"))
    except InvalidAddressError:
        return _refuse(
            path,
            say("This is not the domain of an address."),
            say("Write what stands behind the @, such as example.com."),
        )


def _fragment(value: object, path: str, now: datetime) -> str:
    text = _text(value, path, now)
    if len(text) <= LONGEST_FRAGMENT:
        return text
    return _refuse(
        path,
        say("This text is too long."),
        say("Write at most %(longest)s characters.", longest=LONGEST_FRAGMENT),
    )


def _number(value: object, path: str, now: datetime) -> Scalar:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _scalar(value, path, now)
    return _refuse(path, say("This is not a number."), say("Write one without quotation marks."))


def _flag(value: object, path: str, _: datetime) -> bool:
    if isinstance(value, bool):
        return value
    return _refuse(path, say("This is neither true nor false."), say("Write one of them."))


def _contact_state(value: object, path: str, now: datetime) -> str:
    states = [state.value for state in ContactState]
    if value in states:
        return _text(value, path, now)
    return _refuse(
        path,
        say("No contact has this state."),
        say("Write one of %(names)s.", names=", ".join(states)),
    )


def _values(value: object, path: str) -> list[object]:
    if isinstance(value, list) and 0 < len(value) <= MOST_VALUES:
        return value
    return _refuse(
        path,
        say("This is not a list of values."),
        say("Write 1 to %(most)s in [ ].", most=MOST_VALUES),
    )


def _each(parse_item: Callable[[object, str, datetime], Scalar]) -> _ValueParser:
    def parse_all(value: object, path: str, now: datetime) -> tuple[Scalar, ...]:
        items = enumerate(_values(value, path))
        return tuple(parse_item(item, f"{path}[{index}]", now) for index, item in items)

    return parse_all


def _time(value: object, path: str, _: datetime) -> datetime:
    """A day, which begins at midnight UTC, or a time with its zone."""
    remedy = say("Write a day like 2026-11-15, or a time with its zone like 2026-11-15T09:00:00Z.")
    try:
        time = datetime.fromisoformat(value if isinstance(value, str) else "")
        if time.tzinfo is None:
            day = date.fromisoformat(str(value))
            time = datetime(day.year, day.month, day.day, tzinfo=UTC)
        return moments.to_utc(time)
    except FarMomentError:
        years = say(
            "Use a year from %(first)s to %(last)s.",
            first=str(moments.FIRST_YEAR),
            last=str(moments.LAST_YEAR),
        )
        return _refuse(path, say("Nobody means a time in this year."), years)
    except ValueError:
        return _refuse(path, say("This is not a day or a time."), remedy)


def _day(value: object, path: str, _: datetime) -> date:
    try:
        return date.fromisoformat(value if isinstance(value, str) else "")
    except ValueError:
        return _refuse(path, say("This is not a day."), say("Write a day like 2026-11-15."))


def _days(value: object, path: str, now: datetime) -> datetime:
    if isinstance(value, int) and not isinstance(value, bool) and 0 < value <= MOST_DAYS:
        return now - timedelta(days=value)
    return _refuse(
        path,
        say("This is not a number of days."),
        say("Write one from 1 to %(most)s.", most=MOST_DAYS),
    )


_FOR_ATTRIBUTES: Mapping[Op, _ValueParser] = {
    Op.IS: _scalar,
    Op.IN: _each(_scalar),
    Op.STARTS_WITH: _text,
    Op.CONTAINS: _fragment,
    Op.HAS: _scalar,
    Op.HAS_ANY: _each(_scalar),
    Op.EXISTS: _flag,
    Op.OVER: _number,
    Op.AT_LEAST: _number,
    Op.UNDER: _number,
    Op.AT_MOST: _number,
    Op.BEFORE: _day,
    Op.SINCE: _day,
}
_FOR_LOCALE: Mapping[Op, _ValueParser] = {
    Op.IS: _text,
    Op.IN: _each(_text),
    Op.STARTS_WITH: _text,
    Op.EXISTS: _flag,
}
_FOR_TIMES: Mapping[Op, _ValueParser] = {
    Op.BEFORE: _time,
    Op.SINCE: _time,
    Op.WITHIN_DAYS: _days,
}
