"""Writes to Notion: the state of a mailout to its row, and rows to a table of errors."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from postledger.content.notion import fields
from postledger.content.notion.api import Api, NotionPageNotFoundError
from postledger.content.notion.fields import Record
from postledger.content.notion.mailouts import normalize_name
from postledger.lib.sentences import say

type Value = str | int | datetime
type Types = Mapping[str, str]  # of a table's properties, by their names

LONGEST = 2_000  # the characters that Notion takes in one text


@dataclass(frozen=True, slots=True)
class DataSource:
    """The data source of a database, and the types of its properties."""

    id: str
    types: Types


class Writer:
    def __init__(self, api: Api) -> None:
        self._api = api

    def update(self, page_id: str, values: Mapping[str, Value]) -> Sequence[str]:
        """Writes the values that the row has properties for; returns the names of the others."""
        row_types = property_types(self._api.call("GET", f"pages/{page_id}"))
        properties = write_properties(row_types, values)
        if properties:
            self._api.call("PATCH", f"pages/{page_id}", body={"properties": properties})
        return missing(row_types, values)

    def table(self, database_id: str) -> DataSource:
        database = self._api.call("GET", f"databases/{database_id}")
        sources = fields.records(database, "data_sources")
        if not sources:
            raise NotionPageNotFoundError(
                say(
                    "The database %(id)s of Notion shows this integration no data"
                    " source. Share the database itself with it, not a linked view of it.",
                    id=database_id,
                )
            )
        source_id = fields.text(sources[0], "id")
        return DataSource(
            source_id, property_types(self._api.call("GET", f"data_sources/{source_id}"))
        )

    def has(self, table: DataSource, title: str) -> bool:
        """Whether the table has a row of this title."""
        equals_title = {"property": title_name(table.types), "title": {"equals": title}}
        body = {"filter": equals_title, "page_size": 1}
        answer = self._api.call("POST", f"data_sources/{table.id}/query", body=body)
        return bool(fields.records(answer, "results"))

    def add(self, table: DataSource, title: str, values: Mapping[str, Value]) -> None:
        """Adds one row; after an error, the row may exist nevertheless."""
        name = title_name(table.types)
        properties = write_properties(table.types, {**values, name: title})
        parent = {"type": "data_source_id", "data_source_id": table.id}
        body = {"parent": parent, "properties": properties}
        self._api.call("POST", "pages", body=body, is_repeatable=False)


def property_types(holder: Record) -> Types:
    """The types of the properties of a page, or of a table."""
    return {
        name: fields.text(value, "type")
        for name, value in fields.record(holder, "properties").items()
        if isinstance(value, dict)
    }


def write_properties(types: Types, values: Mapping[str, Value]) -> dict[str, object]:
    """The values that the table has a property for, however its name is spelled."""
    wanted = {normalize_name(name): value for name, value in values.items()}
    return {
        name: shaped
        for name, kind in types.items()
        if normalize_name(name) in wanted
        and (shaped := _property(kind, wanted[normalize_name(name)])) is not None
    }


def missing(types: Types, values: Mapping[str, Value]) -> list[str]:
    """The values that the table has no property for, or one of a type that cannot hold them."""
    written = {normalize_name(name) for name in write_properties(types, values)}
    return [name for name in values if normalize_name(name) not in written]


def title_name(types: Types) -> str:
    """The name of the title property, which every table has."""
    return next((name for name, kind in types.items() if kind == "title"), "title")


def _property(kind: str, value: Value) -> dict[str, object] | None:
    match kind:
        case "title" | "rich_text":
            return {kind: [{"type": "text", "text": {"content": _text(value)[:LONGEST]}}]}
        case "number" if isinstance(value, int):
            return {kind: value}
        case "status" | "select" if isinstance(value, str) and value:
            # A comma would make two options of one.
            return {kind: {"name": value.replace(",", " ")[:100]}}
        case "date" if isinstance(value, datetime):
            return {kind: {"start": value.isoformat(timespec="seconds")}}
        case "email" | "url" if isinstance(value, str):
            return {kind: value or None}
        case _:
            return None


def _text(value: Value) -> str:
    return value.isoformat(timespec="seconds") if isinstance(value, datetime) else str(value)
