"""Audience filters as values: conditions on the contacts of a workspace.

A filter is JSON: `{"all": [...]}`, `{"any": [...]}`, `{"not": ...}` around conditions
such as `{"field": "attributes.plan", "is": "pro"}` and `{"list": "news"}`. The short form
`{"state": "OH", "list": "news"}` names attributes and their values, and perhaps a list.
No text of a filter ever becomes part of an SQL statement.
"""

from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum

from postledger.contacts.details import Scalar
from postledger.contacts.states import ContactState, SubscriptionState


class Column(StrEnum):
    """What filters may use of a contact, beside its attributes and lists."""

    STATE = "state"
    DOMAIN = "domain"  # of the address
    LOCALE = "locale"
    OCD_IDS = "ocd_ids"
    CREATED_AT = "created_at"
    UPDATED_AT = "updated_at"
    STATE_CHANGED_AT = "state_changed_at"


@dataclass(frozen=True, slots=True)
class AttributeField:
    """An attribute that a workspace stores under its own key."""

    key: str


class Op(StrEnum):
    """How a value is compared; texts are case-sensitive, but domains are not."""

    IS = "is"  # the same type and the same value: "5" is not 5
    IN = "in"  # one of several
    STARTS_WITH = "starts_with"
    CONTAINS = "contains"  # a text within a text
    HAS = "has"  # one of the values of a list
    HAS_ANY = "has_any"  # at least one of several
    EXISTS = "exists"  # whether there is a value
    OVER = "over"
    AT_LEAST = "at_least"
    UNDER = "under"
    AT_MOST = "at_most"
    BEFORE = "before"  # a time; of an attribute, a day
    SINCE = "since"
    WITHIN_DAYS = "within_days"  # since so many days ago


@dataclass(frozen=True, slots=True)
class Comparison:
    """A condition on one field; without a value, only `exists: false` holds."""

    field: Column | AttributeField
    op: Op
    value: Scalar | date | tuple[Scalar, ...]  # a date may be a datetime


@dataclass(frozen=True, slots=True)
class OnList:
    """A condition on the subscription to one list."""

    key: str
    states: tuple[SubscriptionState, ...] = (SubscriptionState.ACTIVE,)


@dataclass(frozen=True, slots=True)
class Named:
    """What a person types to find somebody; searches have it, and no filter in JSON.

    The address begins with words that have an @ inside, or they are a whole former address. Other
    words are anywhere in the address or the name, or are the whole external id. Capitals do not
    count, but in the external id.
    """

    words: str


class Standing(StrEnum):
    """Whether an active contact may be mailed, which no column says alone."""

    MAILABLE = "active"
    UNCONFIRMED = "unconfirmed"  # a form or an import created it, and it agreed to nothing yet
    SUPPRESSED = "suppressed"  # a member of the workspace suppressed its address for all mail


@dataclass(frozen=True, slots=True)
class Stands:
    """The contact is active and stands so; searches have it, and no filter in JSON."""

    standing: Standing


@dataclass(frozen=True, slots=True)
class InAllContacts:
    """A campaign to all contacts goes to the contact at a moment; no filter in JSON has it."""

    at: datetime


@dataclass(frozen=True, slots=True)
class All:
    """Every part holds; without parts, always true."""

    parts: "tuple[Filter, ...]"


@dataclass(frozen=True, slots=True)
class AnyOf:
    """At least one part holds."""

    parts: "tuple[Filter, ...]"


@dataclass(frozen=True, slots=True)
class Not:
    """The part does not hold: each contact meets a filter or its opposite."""

    part: "Filter"


type Filter = All | AnyOf | Not | Comparison | OnList | Named | Stands | InAllContacts

EVERYBODY = All(())


def list_keys(audience: Filter) -> set[str]:
    """The keys of all lists that a filter names."""
    match audience:
        case All(parts) | AnyOf(parts):
            return set().union(*map(list_keys, parts))
        case Not(part):
            return list_keys(part)
        case OnList(key):
            return {key}
        case Comparison() | Named() | Stands() | InAllContacts():
            return set()


# Every contact has a value here, so that the opposite comparison means NOT.
_NEVER_NULL = frozenset({Column.CREATED_AT, Column.UPDATED_AT})
_OPPOSITES = {Op.BEFORE: Op.SINCE, Op.SINCE: Op.BEFORE}


def simplify(audience: Filter) -> Filter:
    """The same filter with fewer negations, because an index serves few of them."""
    match audience:
        case All((part,)) | AnyOf((part,)):
            return simplify(part)
        case All(parts):
            return All(tuple(map(simplify, parts)))
        case AnyOf(parts):
            return AnyOf(tuple(map(simplify, parts)))
        case Not(part):
            return _opposite(part)
        case _:
            return audience


def _opposite(audience: Filter) -> Filter:
    match audience:
        case Not(part):
            return simplify(part)
        case All(parts) | AnyOf(parts) if parts:
            joined = AnyOf if isinstance(audience, All) else All
            return simplify(joined(tuple(map(Not, parts))))
        case Comparison(field, Op.EXISTS, bool(value)):
            return Comparison(field, Op.EXISTS, not value)
        case Comparison(Column.STATE, Op.IS | Op.IN, value):
            return _other_states(value)
        case Comparison(field, op, value) if field in _NEVER_NULL and op in _OPPOSITES:
            return Comparison(field, _OPPOSITES[op], value)
        case _:
            return Not(audience)


def _other_states(value: object) -> Filter:
    named = value if isinstance(value, tuple) else (value,)
    return Comparison(
        Column.STATE, Op.IN, tuple(state.value for state in ContactState if state not in named)
    )
