"""Says of a filter that would be slow which index would make it fast, or that none would."""

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from typing import LiteralString

from psycopg import sql as pg

from postledger.contacts import audience as audiences
from postledger.contacts import sql
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

# In the planner's units: about what it takes to read a million contacts of 300 bytes.
COSTLY = 45_000.0
_TRIGRAM = 3  # signs at a time, by which texts within texts are found


@dataclass(frozen=True, slots=True)
class Index:
    """An index that could be made, by a name that says which one it is."""

    name: str
    statement: str


def advice(workspace_id: int, audience: Filter) -> str | None:
    """What would make a filter fast; None when the planner expects it to be. Executes nothing."""
    source = audiences.counting(workspace_id, audience)
    if sql.plan(source.sql, source.params)["Total Cost"] <= COSTLY:
        return None
    for index in _missing(audience):
        if not _is_there(index):
            return (
                "This filter would look at every contact. With an index it would look at those it"
                f" means only: {index.statement}"
            )
    return (
        "This filter would look at very many contacts, and no index would change that: add a"
        " condition that few of them meet, such as a list, or an attribute that is something."
    )


def _missing(audience: Filter) -> Iterator[Index]:
    """The indexes that conditions which narrow a filter could be served by, and are not."""
    match audience:
        case All(parts) | AnyOf(parts):
            for part in parts:
                yield from _missing(part)
        case Comparison(_, Op.CONTAINS, str(text)) if len(text) < _TRIGRAM:
            return
        case Comparison(Attribute(key), op) if op in _FOR_ATTRIBUTES:
            yield _index(_FOR_ATTRIBUTES[op], key)
        case Comparison(Column.UPDATED_AT):
            yield _index("(workspace_id, updated_at) WHERE deleted_at IS NULL")
        case Comparison() | OnList() | Not():
            # Served as it is; and what is not something, no index finds.
            return


# Not partial where it matters how many rows have which value: of a partial index, the planner does
# not use what ANALYZE finds out.
_BY_VALUE: LiteralString = "(workspace_id, (attributes -> {key}))"
_FOR_ATTRIBUTES: dict[Op, LiteralString] = {
    Op.OVER: _BY_VALUE,
    Op.AT_LEAST: _BY_VALUE,
    Op.UNDER: _BY_VALUE,
    Op.AT_MOST: _BY_VALUE,
    Op.STARTS_WITH: "(workspace_id, (attributes ->> {key}) text_pattern_ops)",
    Op.CONTAINS: "USING gin ((attributes ->> {key}) gin_trgm_ops)",  # of the extension pg_trgm
    Op.EXISTS: "(workspace_id, id) WHERE deleted_at IS NULL AND (attributes ->> {key}) IS NOT NULL",
}


def _index(definition: LiteralString, key: str = "") -> Index:
    written = pg.SQL(definition).format(key=pg.Literal(key)).as_string()
    name = f"contacts_contact_{sha256(written.encode()).hexdigest()[:8]}"
    return Index(name, f"CREATE INDEX CONCURRENTLY {name} ON contacts_contact {written}")


def _is_there(index: Index) -> bool:
    found = sql.rows("SELECT to_regclass(%(name)s) IS NOT NULL", {"name": index.name})
    return bool(found[0][0])
