"""Writes to Notion: what became of a mailout to its row, and rows to a table of errors."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from postledger.content.notion import fields, properties, refusals
from postledger.content.notion.properties import Types, Value
from postledger.content.notion.wire import Wire


@dataclass(frozen=True, slots=True)
class Table:
    """Where rows are added: the source of a database's rows, and what they consist of."""

    id: str
    types: Types


class Writer:
    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    def update(self, page_id: str, values: Mapping[str, Value]) -> Sequence[str]:
        """Writes the values that the row has properties for, and returns the names of the rest."""
        known = properties.types(self._wire.get(f"pages/{page_id}"))
        wanted = properties.written(known, values)
        if wanted:
            self._wire.patch(f"pages/{page_id}", {"properties": wanted})
        return properties.missing(known, values)

    def table(self, database_id: str) -> Table:
        database = self._wire.get(f"databases/{database_id}")
        sources = fields.records(database, "data_sources")
        if not sources:
            raise refusals.PageNotFoundError(
                f"The database {database_id} of Notion has no source of rows that this integration"
                " is shown. Share the database itself with it, not a linked view of it."
            )
        source_id = fields.text(sources[0], "id")
        return Table(source_id, properties.types(self._wire.get(f"data_sources/{source_id}")))

    def has(self, table: Table, title: str) -> bool:
        """Whether the table has a row of this title."""
        named = {"property": properties.title_of(table.types), "title": {"equals": title}}
        found = self._wire.query(
            f"data_sources/{table.id}/query", {"filter": named, "page_size": 1}
        )
        return bool(fields.records(found, "results"))

    def add(self, table: Table, title: str, values: Mapping[str, Value]) -> None:
        """Adds one row; when it is refused, it may be there nevertheless."""
        name = properties.title_of(table.types)
        wanted = properties.written(table.types, {**values, name: title})
        parent = {"type": "data_source_id", "data_source_id": table.id}
        self._wire.create("pages", {"parent": parent, "properties": wanted})
