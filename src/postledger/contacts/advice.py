"""Says of a filter that would be slow which index would make it fast, or that none would."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from hashlib import sha256
from itertools import chain
from typing import LiteralString

from psycopg import sql as pg

from postledger.contacts import audience as audiences
from postledger.contacts import filter_sql, filters, lists, sql
from postledger.contacts.filter_simplifying import simplified
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

# How long somebody who tries a filter waits without being told why.
PROMISED = timedelta(milliseconds=300)
# In the planner's units: about what it takes to read a million contacts of 300 bytes.
COSTLY = 45_000.0
# Of more than this share of the contacts, reading the table is no slower than an index.
FEW = 0.15
_TRIGRAM = 3  # signs at a time, by which texts within texts are found


@dataclass(frozen=True, slots=True)
class Index:
    """An index that could be made, by a name that says which one it is."""

    name: str
    statement: str


def advice(workspace_id: int, audience: Filter, *, took: timedelta = timedelta(0)) -> str | None:
    """What would make a filter fast; None when it was, and the planner expects so. Counts nobody.

    `took` is how long a count took: what a machine is slow at, the planner need not know.
    """
    if took <= PROMISED and _cost(workspace_id, audience) <= COSTLY:
        return None
    found = _narrowing(workspace_id, simplified(audience)) or ()
    missing = [index.statement for index in found if not _is_there(index)]
    if missing:
        return (
            "This filter would look at every contact. With an index it would look at those it"
            f" means only: {'; '.join(missing)}"
        )
    return (
        "This filter would look at very many contacts, and no index would change that: add a"
        " condition that few of them meet, such as a list, or an attribute that is something."
    )


def _cost(workspace_id: int, audience: Filter) -> float:
    source = audiences.counting(workspace_id, audience)
    return float(sql.plan(source.sql, source.params)["Total Cost"])


def _narrowing(workspace_id: int, audience: Filter) -> Sequence[Index] | None:
    """The indexes by which few contacts are found that a filter could mean; None: by none.

    There are none to name where those that every installation has serve it.
    """
    match audience:
        case All(parts):
            ways = [_narrowing(workspace_id, part) for part in parts]
            known = [way for way in ways if way is not None]
            return next((way for way in known if any(not _is_there(index) for index in way)), None)
        case AnyOf(parts):
            # One part that many meet means a look at all, whatever serves the others.
            ways = [_narrowing(workspace_id, part) for part in parts]
            known = [way for way in ways if way is not None]
            return [*chain(*known)] if len(known) == len(ways) else None
        case Not() | OnList() | Comparison():
            return _index_for(audience) if _share(workspace_id, audience) <= FEW else None


def _index_for(audience: Not | OnList | Comparison) -> Sequence[Index] | None:
    match audience:
        case Comparison(_, Op.CONTAINS, str(text)) if len(text) < _TRIGRAM:
            return None
        case Comparison(Attribute(key), Op.EXISTS, False):
            return [_index(_WITHOUT, key)]
        case Comparison(Attribute(key), op) if op in _FOR_ATTRIBUTES:
            return [_index(_FOR_ATTRIBUTES[op], key)]
        case Comparison(Column.UPDATED_AT):
            return [_index("(workspace_id, updated_at) WHERE deleted_at IS NULL")]
        case Not():
            # What is not something, no index finds.
            return None
        case _:
            return []


# Not partial where it matters how many rows have which value: of a partial index, the planner does
# not use what ANALYZE finds out.
_BY_VALUE: LiteralString = "(workspace_id, (attributes -> {key}))"
_FOR_ATTRIBUTES: dict[Op, LiteralString] = {
    Op.OVER: _BY_VALUE,
    Op.AT_LEAST: _BY_VALUE,
    Op.UNDER: _BY_VALUE,
    Op.AT_MOST: _BY_VALUE,
    Op.STARTS_WITH: "(workspace_id, (attributes ->> {key}) text_pattern_ops)",
    Op.CONTAINS: "USING gin ((attributes ->> {key}) gin_trgm_ops)",
    Op.EXISTS: "(workspace_id, id) WHERE deleted_at IS NULL AND (attributes ->> {key}) IS NOT NULL",
}
_WITHOUT: LiteralString = (
    "(workspace_id, id) WHERE deleted_at IS NULL AND (attributes ->> {key}) IS NULL"
)


def _index(definition: LiteralString, key: str = "") -> Index:
    written = pg.SQL(definition).format(key=pg.Literal(key)).as_string()
    name = f"contacts_contact_{sha256(written.encode()).hexdigest()[:8]}"
    before = "CREATE EXTENSION IF NOT EXISTS pg_trgm; " if "gin_trgm_ops" in definition else ""
    return Index(name, f"{before}CREATE INDEX CONCURRENTLY {name} ON contacts_contact {written}")


# Some hundred pages, wherever they lie: few enough to be read at once.
_PERCENT: LiteralString = """
SELECT least(100, 100 * 300.0 / greatest(relpages, 1)) FROM pg_class
WHERE oid = 'contacts_contact'::regclass
"""
_SHARE: LiteralString = """
SELECT avg(CASE WHEN {condition} THEN 1.0 ELSE 0 END)
FROM contacts_contact AS contact TABLESAMPLE SYSTEM (%(percent)s) REPEATABLE (1)
WHERE contact.workspace_id = %(workspace)s::bigint AND contact.deleted_at IS NULL
"""


def _share(workspace_id: int, audience: Filter) -> float:
    """About which share of the contacts a filter means.

    The planner does not know it: of what lies inside attributes it has no statistics.
    """
    [(percent,)] = sql.rows(_PERCENT, {})
    compiled = filter_sql.condition(audience, lists.ids(workspace_id, filters.lists_of(audience)))
    [(share,)] = sql.rows(
        pg.SQL(_SHARE).format(condition=compiled.sql),
        {"workspace": workspace_id, "percent": percent, **compiled.params},
    )
    return float(share or 0)


def _is_there(index: Index) -> bool:
    found = sql.rows("SELECT to_regclass(%(name)s) IS NOT NULL", {"name": index.name})
    return bool(found[0][0])
