"""Texts of a filter that no contact has, while some have them in other capitals.

Filters compare texts as they are written, which their index needs; whoever types one may not know.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from itertools import islice
from typing import LiteralString

from postledger.contacts import audience as audiences
from postledger.contacts import filter_sql, sql
from postledger.contacts.audience import FilterTooCostlyError
from postledger.contacts.filters.expressions import (
    All,
    AnyOf,
    AttributeField,
    Comparison,
    Filter,
    Not,
    Op,
)

# For a hint beside a count, which is no reason to wait.
_PATIENCE = timedelta(seconds=1)
_MOST_TEXTS = 5  # that are looked up
_OPS = {Op.IS: Op.IS, Op.IN: Op.IS, Op.STARTS_WITH: Op.STARTS_WITH, Op.CONTAINS: Op.CONTAINS}


@dataclass(frozen=True, slots=True)
class OtherSpelling:
    key: str
    text: str  # of the filter
    known: str  # what most of the others have
    count: int  # of the contacts that have it


# The first condition is about no row of its own and is decided once: who wrote an existing value
# pays a look-up in the index.
_OTHERS: LiteralString = """
SELECT contact.attributes ->> %(key)s::text, count(*) FROM contacts_contact AS contact
WHERE NOT EXISTS (
    SELECT FROM contacts_contact AS contact
    WHERE contact.workspace_id = %(workspace)s::bigint AND contact.deleted_at IS NULL
      AND {condition}
)
  AND contact.workspace_id = %(workspace)s::bigint AND contact.deleted_at IS NULL
  AND jsonb_typeof(contact.attributes -> %(key)s::text) = 'string'
  AND contact.attributes ->> %(key)s::text ILIKE %(pattern)s::text
GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 1
"""


def find_other_spellings(
    workspace_id: int, audience: Filter, *, patience: timedelta = _PATIENCE
) -> Sequence[OtherSpelling]:
    """Those of the first few texts that differ from existing values by capitals alone.

    Ends with what it knows once a look-up takes longer than `patience`.
    """
    spellings: list[OtherSpelling] = []
    with suppress(FilterTooCostlyError):
        for text in islice(dict.fromkeys(_list_texts(audience)), _MOST_TEXTS):
            with audiences.limited_time(min(patience, _PATIENCE)):
                spellings += _find_others(workspace_id, text)
    return spellings


@dataclass(frozen=True, slots=True)
class _Text:
    field: AttributeField
    op: Op
    text: str


def _list_texts(audience: Filter) -> Iterator[_Text]:
    """Each text with capitals or small letters that an attribute is compared with."""
    match audience:
        case All(parts) | AnyOf(parts):
            for part in parts:
                yield from _list_texts(part)
        case Not(part):
            yield from _list_texts(part)
        case Comparison(AttributeField() as field, op, value) if op in _OPS:
            for text in value if isinstance(value, tuple) else (value,):
                if isinstance(text, str) and text.lower() != text.upper():
                    yield _Text(field, _OPS[op], text)
        case _:
            pass


def _find_others(workspace_id: int, wanted: _Text) -> Iterator[OtherSpelling]:
    key, pattern = wanted.field.key, filter_sql.write_pattern(wanted.op, wanted.text)
    exact = Comparison(wanted.field, wanted.op, wanted.text)
    query = audiences.compile_query(_OTHERS, workspace_id, exact, {"key": key, "pattern": pattern})
    for known, count in sql.rows(query.sql, query.params):
        yield OtherSpelling(key, wanted.text, known, count)
