"""Which index would make a slow filter fast, for the operator: in the log and in `doctor`."""

from collections.abc import Sequence
from datetime import timedelta
from hashlib import sha256
from itertools import chain
from typing import LiteralString

import structlog
from psycopg import sql as pg

from postledger.contacts import audience as audiences
from postledger.contacts import sql
from postledger.contacts.filter_sql import DAY, DOMAIN, NUMBER
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
    simplify,
)

# A count that takes longer is slow.
PROMISED = timedelta(milliseconds=300)
# In the planner's units: about the cost of reading a million contacts of 300 bytes.
COSTLY = 45_000.0
# For more than this share of the contacts, an index is no faster than reading the table.
FEW = 0.15
_TRIGRAM = 3  # the shortest text that a trigram index can find

_log = structlog.get_logger(__name__)


def advise(workspace_id: int, audience: Filter, *, took: timedelta = timedelta(0)) -> str | None:
    """A remedy for a slow filter; None when it is fast, by the planner's estimate and by `took`."""
    if took <= PROMISED and _cost(workspace_id, audience) <= COSTLY:
        return None
    missing = _missing_indexes(workspace_id, simplify(audience))
    if missing:
        return f"Create an index: {'; '.join(missing)}"
    return (
        "No index would help. Add a condition that few contacts meet, such as a list or the value"
        " of an attribute."
    )


def log_if_slow(workspace_id: int, audience: Filter, *, took: timedelta) -> None:
    """Tells the operator which index a slow count lacks, without any value of the filter."""
    if took > PROMISED:
        advice = advise(workspace_id, audience, took=took)
        seconds = took.total_seconds()
        _log.warning("audience_filter_slow", workspace_id=workspace_id, s=seconds, advice=advice)


def _cost(workspace_id: int, audience: Filter) -> float:
    query = audiences.compile_query(audiences.COUNT, workspace_id, audience)
    return float(sql.explain(query.sql, query.params)["Total Cost"])


def _missing_indexes(workspace_id: int, audience: Filter) -> Sequence[str] | None:
    """Statements that create the missing indexes; None when no index finds few contacts.

    Empty when the indexes of every installation, or those created before, serve the filter.
    """
    match audience:
        case All(parts):
            return next(
                filter(None, (_missing_indexes(workspace_id, part) for part in parts)), None
            )
        case AnyOf(parts):
            # One part without an index means reading all contacts, whatever serves the others.
            alternatives = [_missing_indexes(workspace_id, part) for part in parts]
            served = [statements for statements in alternatives if statements is not None]
            return [*chain(*served)] if len(served) == len(alternatives) else None
        case Named() | Stands() | InAllContacts():
            return None  # a search, not a filter that somebody uses again
        case Not() | OnList() | Comparison():
            return _index_for(audience) if _share(workspace_id, audience) <= FEW else None


def _index_for(audience: Not | OnList | Comparison) -> Sequence[str] | None:
    match audience:
        case Comparison(_, Op.CONTAINS, str(text)) if len(text) < _TRIGRAM:
            return None
        case Comparison(AttributeField(key), Op.EXISTS, False):
            return _create_unless_exists(_WITHOUT, key)
        case Comparison(AttributeField(key), op) if op in _FOR_ATTRIBUTES:
            return _create_unless_exists(_FOR_ATTRIBUTES[op], key)
        case Comparison(Column() as column) if column in _FOR_COLUMNS:
            return _create_unless_exists(_FOR_COLUMNS[column])
        case Not():
            return None  # no index finds the rows that lack a value
        case _:
            return []


# Not partial where it matters how many rows have which value: for a partial index, the planner does
# not use the statistics of ANALYZE.
_BY_NUMBER: LiteralString = "(workspace_id, (" + " ".join(NUMBER.split()) + "))"
_BY_DAY: LiteralString = "(workspace_id, (" + " ".join(DAY.split()) + "))"
_FOR_ATTRIBUTES: dict[Op, LiteralString] = {
    Op.OVER: _BY_NUMBER,
    Op.AT_LEAST: _BY_NUMBER,
    Op.UNDER: _BY_NUMBER,
    Op.AT_MOST: _BY_NUMBER,
    Op.BEFORE: _BY_DAY,
    Op.SINCE: _BY_DAY,
    Op.STARTS_WITH: "(workspace_id, (attributes ->> {key}) text_pattern_ops)",
    Op.CONTAINS: "USING gin ((attributes ->> {key}) gin_trgm_ops)",
    Op.EXISTS: "(workspace_id, id) WHERE deleted_at IS NULL AND (attributes ->> {key}) IS NOT NULL",
}
_FOR_COLUMNS: dict[Column, LiteralString] = {
    Column.DOMAIN: "(workspace_id, (" + DOMAIN + "))",
    Column.UPDATED_AT: "(workspace_id, updated_at) WHERE deleted_at IS NULL",
}
_WITHOUT: LiteralString = (
    "(workspace_id, id) WHERE deleted_at IS NULL AND (attributes ->> {key}) IS NULL"
)


def _create_unless_exists(definition: LiteralString, key: str = "") -> Sequence[str]:
    names = {"attributes": pg.SQL("attributes"), "address": pg.SQL("address")}
    columns = pg.SQL(definition).format(key=pg.Literal(key), **names).as_string()
    # The name identifies the definition.
    name = f"contacts_contact_{sha256(columns.encode()).hexdigest()[:8]}"
    [(exists,)] = sql.rows("SELECT to_regclass(%(name)s) IS NOT NULL", {"name": name})
    if exists:
        return []
    extension = "CREATE EXTENSION IF NOT EXISTS pg_trgm; " if "gin_trgm_ops" in definition else ""
    return [f"{extension}CREATE INDEX CONCURRENTLY {name} ON contacts_contact {columns}"]


# Some hundred pages at random, few enough to be read at once.
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
    """About which share of the contacts a filter selects, by a sample.

    The planner does not know it: there are no statistics about the keys inside attributes.
    """
    [(percent,)] = sql.rows(_PERCENT, {})
    query = audiences.compile_query(_SHARE, workspace_id, audience, {"percent": percent})
    [(share,)] = sql.rows(query.sql, query.params)
    return float(share or 0)
