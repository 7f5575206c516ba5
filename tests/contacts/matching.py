"""Decides in Python whether a contact meets a filter; the database must say the same."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from operator import ge, gt, le, lt
from typing import Any

from postledger.contacts.filters.expressions import (
    All,
    AnyOf,
    AttributeField,
    Column,
    Comparison,
    Filter,
    InAllContacts,
    Named,
    Not,
    OnList,
    Op,
    Stands,
)
from postledger.contacts.states import ContactState, SubscriptionState


@dataclass(frozen=True, slots=True)
class Traits:
    """What filters can see of a contact."""

    state: ContactState
    created_at: datetime
    updated_at: datetime
    domain: str = "example.com"
    state_changed_at: datetime | None = None
    locale: str | None = None
    ocd_ids: Sequence[str] = ()
    attributes: Mapping[str, object] = field(default_factory=dict)
    lists: Mapping[str, SubscriptionState] = field(default_factory=dict)


def matches(audience: Filter, traits: Traits) -> bool:
    match audience:
        case All(parts):
            return all(matches(part, traits) for part in parts)
        case AnyOf(parts):
            return any(matches(part, traits) for part in parts)
        case Not(part):
            return not matches(part, traits)
        case OnList(key, states):
            return traits.lists.get(key) in states
        case Named() | Stands() | InAllContacts():
            raise NotImplementedError  # filters in JSON have none
        case Comparison(name, op, value):
            return _holds(op, _value(name, traits), value)


def _value(name: Column | AttributeField, traits: Traits) -> object:
    match name:
        case AttributeField(key):
            return traits.attributes.get(key)
        case Column.DOMAIN:
            return traits.domain.lower()
        case Column.OCD_IDS:
            # Nobody lives nowhere: without a place, there is no value.
            return list(traits.ocd_ids) or None
        case _:
            return getattr(traits, name.value)


# A text that is written as JSON writes numbers, without an exponent.
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?")
_DAY = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})([T ][0-9]{2}:[0-9]{2}.*)?", re.DOTALL)
_ORDERS: Mapping[Op, Callable[[Any, Any], bool]] = {
    Op.OVER: gt,
    Op.AT_LEAST: ge,
    Op.UNDER: lt,
    Op.AT_MOST: le,
    Op.BEFORE: lt,
    Op.SINCE: ge,
}


def _holds(op: Op, actual: object, wanted: object) -> bool:
    several = wanted if isinstance(wanted, tuple) else (wanted,)
    match op:
        case Op.EXISTS:
            return (actual is not None) is wanted
        case Op.IS | Op.IN:
            return any(_is_same(actual, option) for option in several)
        case Op.HAS | Op.HAS_ANY:
            values = actual if isinstance(actual, list) else []
            return any(_is_same(value, option) for value in values for option in several)
        case Op.STARTS_WITH:
            return isinstance(actual, str) and actual.startswith(str(wanted))
        case Op.CONTAINS:
            return isinstance(actual, str) and str(wanted) in actual
        case _:
            return _is_ordered(op, actual, wanted)


def _is_ordered(op: Op, actual: object, wanted: object) -> bool:
    if isinstance(wanted, date) and not isinstance(wanted, datetime):
        day = _read_day(actual)
        return day is not None and _ORDERS[op](day, wanted)
    if isinstance(actual, str) and _NUMBER.fullmatch(actual):
        return _ORDERS[op](Decimal(actual), Decimal(str(wanted)))
    return _is_comparable(actual) and _ORDERS[op](actual, wanted)


def _read_day(actual: object) -> date | None:
    written = _DAY.fullmatch(actual) if isinstance(actual, str) else None
    try:
        return date.fromisoformat(written[1]) if written else None
    except ValueError:
        return None


def _is_same(actual: object, wanted: object) -> bool:
    """As JSON has it: true is not 1, and 1 is 1.0."""
    return actual == wanted and isinstance(actual, bool) == isinstance(wanted, bool)


def _is_comparable(value: object) -> bool:
    return isinstance(value, int | float | datetime) and not isinstance(value, bool)
