"""Reads audience filters from JSON, and says of a wrong one where it is wrong and what to write."""

from collections.abc import Mapping
from datetime import datetime
from typing import Never

from postledger.contacts import details, filter_values
from postledger.contacts.filter_values import refuse
from postledger.contacts.filters import (
    All,
    AnyOf,
    Attribute,
    Column,
    Comparison,
    Filter,
    Not,
    OnList,
    Op,
)
from postledger.contacts.states import SubscriptionState

DEEPEST = 10
MOST_CONDITIONS = 100

_ATTRIBUTES = "attributes."
_ENGAGEMENT = "engagement"
_FORMS = ("field", "all", "any", "not")


def parse(data: object, *, now: datetime) -> Filter:
    """A filter from parsed JSON; days that it counts end `now`."""
    return _Parser(now).read(data, "$", 1)


class _Parser:
    def __init__(self, now: datetime) -> None:
        self._now = now
        self._count = 0

    def read(self, data: object, place: str, depth: int) -> Filter:
        if depth > DEEPEST:
            refuse(place, f"conditions lie more than {DEEPEST} deep", "Write them flatter.")
        if not isinstance(data, Mapping) or not all(isinstance(key, str) for key in data):
            refuse(place, "this is no condition", 'Write an object like {"state": "OH"}.')
        form = next((form for form in _FORMS if form in data), None)
        if form is None:
            return self._pairs(data, place)
        if form == "field":
            return self._test(data, place)
        if len(data) > 1:
            _crowded(form, place)
        return self._group(form, data[form], f"{place}.{form}", depth)

    def _group(self, form: str, data: object, place: str, depth: int) -> Filter:
        if form == "not":
            return Not(self.read(data, place, depth + 1))
        if not isinstance(data, list) or not data:
            refuse(place, "this is no list of conditions", "Write at least one in [ ].")
        # Counted before they are read, so that a huge filter costs nothing.
        self._counted(len(data), place)
        parts = tuple(
            self.read(part, f"{place}[{index}]", depth + 1) for index, part in enumerate(data)
        )
        return All(parts) if form == "all" else AnyOf(parts)

    def _pairs(self, data: Mapping[str, object], place: str) -> Filter:
        """The short form; one pair is a condition as good as any."""
        if "list" in data and data.keys() <= {"list", Op.IS, Op.IN}:
            return self._on_list(data, place)
        self._counted(len(data), place)
        parts = tuple(self._pair(key, value, place) for key, value in data.items())
        return parts[0] if len(parts) == 1 else All(parts)

    def _pair(self, key: str, value: object, place: str) -> Filter:
        if key == "list":
            return self._on_list({key: value}, place)
        field = Attribute(_key(key, place))
        return Comparison(field, Op.IS, filter_values.scalar(value, f"{place}.{key}", self._now))

    def _on_list(self, data: Mapping[str, object], place: str) -> OnList:
        self._counted(1, place)
        key = data["list"]
        if not isinstance(key, str) or not key or len(key) > details.LONGEST_KEY:
            refuse(f"{place}.list", "this is no key of a list", 'Write one like "news".')
        if not details.is_storable(key):
            refuse(f"{place}.list", "this is no key of a list", 'Write one like "news".')
        if Op.IS in data and Op.IN in data:
            refuse(place, "there are two comparisons", "Write one for each condition.")
        if Op.IS in data:
            return OnList(key, (_subscription(data[Op.IS], f"{place}.is"),))
        if Op.IN in data:
            words = enumerate(filter_values.several(data[Op.IN], f"{place}.in"))
            return OnList(key, tuple(_subscription(word, f"{place}.in[{n}]") for n, word in words))
        return OnList(key)

    def _test(self, data: Mapping[str, object], place: str) -> Comparison:
        self._counted(1, place)
        field = _field(data["field"], f"{place}.field")
        allowed = filter_values.readers(field)
        names = ", ".join(allowed)
        match [name for name in data if name != "field"]:
            case [name] if name in allowed:
                op = Op(name)
            case [name]:
                refuse(place, f"{name[:40]!r} is no comparison here", f"Write one of {names}.")
            case _:
                refuse(place, "a condition has one comparison", f"Write one of {names}.")
        value = allowed[op](data[op], f"{place}.{op}", self._now)
        return Comparison(field, Op.SINCE if op is Op.WITHIN_DAYS else op, value)

    def _counted(self, more: int, place: str) -> None:
        self._count += more
        if self._count > MOST_CONDITIONS:
            remedy = 'Put values that are compared alike into one {"in": […]}.'
            refuse(place, f"there are more than {MOST_CONDITIONS} conditions", remedy)


def _crowded(form: str, place: str) -> Never:
    refuse(
        place,
        f"{form!r} stands beside something else",
        "Put each into an object of its own; an attribute of that name is meant by"
        f' {{"field": "attributes.{form}"}}.',
    )


def _field(name: object, place: str) -> Column | Attribute:
    known = ", ".join([*Column, f"{_ATTRIBUTES}NAME"])
    if not isinstance(name, str):
        refuse(place, "this is no name of a field", f"Write one of {known}.")
    if name.startswith(_ATTRIBUTES):
        return Attribute(_key(name.removeprefix(_ATTRIBUTES), place))
    if name.partition(".")[0] == _ENGAGEMENT:
        what = "opens and clicks are not counted yet"
        refuse(place, what, f"Leave this condition out, or use one of {known}.")
    if name not in list(Column):
        refuse(place, f"there is no field {name[:40]!r}", f"Write one of {known}.")
    return Column(name)


def _key(key: str, place: str) -> str:
    if details.is_key(key):
        return key
    what = f"{key[:40]!r} cannot be the name of an attribute"
    return refuse(place, what, f"Write 1 to {details.LONGEST_KEY} visible characters.")


def _subscription(word: object, place: str) -> SubscriptionState:
    known = [state.value for state in SubscriptionState]
    if isinstance(word, str) and word in known:
        return SubscriptionState(word)
    return refuse(place, "no subscription has this state", f"Write one of {', '.join(known)}.")
