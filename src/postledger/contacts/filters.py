"""Audience filters as values: who is meant, in terms of what a workspace knows of its contacts.

A filter is JSON: `{"all": [...]}`, `{"any": [...]}`, `{"not": ...}` around conditions
such as `{"field": "attributes.plan", "is": "pro"}` and `{"list": "news"}`. The short form
`{"state": "OH", "list": "news"}` names attributes and their values, and perhaps a list.
No text of a filter ever becomes a part of a statement.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from postledger.contacts.details import Scalar
from postledger.contacts.states import SubscriptionState


class Column(StrEnum):
    """What is known of every contact."""

    STATE = "state"
    LOCALE = "locale"
    OCD_IDS = "ocd_ids"
    CREATED_AT = "created_at"
    UPDATED_AT = "updated_at"
    STATE_CHANGED_AT = "state_changed_at"


@dataclass(frozen=True, slots=True)
class Attribute:
    """What a workspace knows of its own accord, under its own name for it."""

    key: str


class Op(StrEnum):
    """How a value is compared; texts by each sign, so that capitals differ."""

    IS = "is"  # the same kind of value, and the same: "5" is not 5
    IN = "in"  # one of several
    STARTS_WITH = "starts_with"
    CONTAINS = "contains"  # a text within a text
    HAS = "has"  # one of the values of a list
    HAS_ANY = "has_any"  # at least one of several
    EXISTS = "exists"  # whether there is a value at all
    OVER = "over"
    AT_LEAST = "at_least"
    UNDER = "under"
    AT_MOST = "at_most"
    BEFORE = "before"
    SINCE = "since"
    WITHIN_DAYS = "within_days"  # since so many days ago


@dataclass(frozen=True, slots=True)
class Comparison:
    """A condition on one field; a field without a value meets none but that it does not exist."""

    field: Column | Attribute
    op: Op
    value: Scalar | datetime | tuple[Scalar, ...]


@dataclass(frozen=True, slots=True)
class OnList:
    """A condition on the subscription to one list."""

    key: str
    states: tuple[SubscriptionState, ...] = (SubscriptionState.ACTIVE,)


@dataclass(frozen=True, slots=True)
class All:
    """Every part holds; of no parts, always."""

    parts: "tuple[Filter, ...]"


@dataclass(frozen=True, slots=True)
class AnyOf:
    """At least one part holds."""

    parts: "tuple[Filter, ...]"


@dataclass(frozen=True, slots=True)
class Not:
    """The part does not hold: each contact meets a filter or its opposite, never neither."""

    part: "Filter"


type Filter = All | AnyOf | Not | Comparison | OnList

EVERYBODY = All(())


def lists_of(audience: Filter) -> set[str]:
    """The keys of all lists that a filter names."""
    match audience:
        case All(parts) | AnyOf(parts):
            return set().union(*map(lists_of, parts))
        case Not(part):
            return lists_of(part)
        case OnList(key):
            return {key}
        case Comparison():
            return set()
