"""Says a filter by fewer negations, so that an index which finds what is serves what is not.

It means the same contacts, each of them: no field that is turned around here can lack a value.
"""

from postledger.contacts.filters import All, AnyOf, Column, Comparison, Filter, Not, Op
from postledger.contacts.states import ContactState

# Every contact has them.
_ALWAYS = frozenset({Column.CREATED_AT, Column.UPDATED_AT})
_OPPOSITES = {Op.BEFORE: Op.SINCE, Op.SINCE: Op.BEFORE}


def simplified(audience: Filter) -> Filter:
    match audience:
        case All((part,)) | AnyOf((part,)):
            return simplified(part)
        case All(parts):
            return All(tuple(map(simplified, parts)))
        case AnyOf(parts):
            return AnyOf(tuple(map(simplified, parts)))
        case Not(part):
            return _opposite(part)
        case _:
            return audience


def _opposite(audience: Filter) -> Filter:
    match audience:
        case Not(part):
            return simplified(part)
        case All(parts) | AnyOf(parts) if parts:
            joined = AnyOf if isinstance(audience, All) else All
            return simplified(joined(tuple(map(Not, parts))))
        case Comparison(field, Op.EXISTS, bool(value)):
            return Comparison(field, Op.EXISTS, not value)
        case Comparison(Column.STATE, Op.IS | Op.IN, value):
            return _other_states(value)
        case Comparison(field, op, value) if field in _ALWAYS and op in _OPPOSITES:
            return Comparison(field, _OPPOSITES[op], value)
        case _:
            return Not(audience)


def _other_states(value: object) -> Filter:
    named = value if isinstance(value, tuple) else (value,)
    return Comparison(
        Column.STATE, Op.IN, tuple(state.value for state in ContactState if state not in named)
    )
