"""Writes values as properties of a row of Notion, each in the form that its table asks for."""

from collections.abc import Mapping
from datetime import datetime

from postledger.content.notion import fields
from postledger.content.notion.fields import Record
from postledger.content.notion.mailouts import plain

type Value = str | int | datetime
type Types = Mapping[str, str]  # of a table's properties, by their names

LONGEST = 2_000  # signs that Notion takes in one text


def types(holder: Record) -> Types:
    """The types of the properties of a page, or of a table."""
    return {
        name: fields.text(value, "type")
        for name, value in fields.record(holder, "properties").items()
        if isinstance(value, dict)
    }


def written(known: Types, values: Mapping[str, Value]) -> dict[str, object]:
    """The values that the table has a property for, whatever way its name is written."""
    wanted = {plain(name): value for name, value in values.items()}
    return {
        name: shaped
        for name, kind in known.items()
        if plain(name) in wanted and (shaped := _shaped(kind, wanted[plain(name)])) is not None
    }


def missing(known: Types, values: Mapping[str, Value]) -> list[str]:
    """The values that the table has no property for, or one of a type that cannot hold them."""
    there = {plain(name) for name in written(known, values)}
    return [name for name in values if plain(name) not in there]


def title_of(known: Types) -> str:
    """The name of the title: every table has one, whatever it is called."""
    return next((name for name, kind in known.items() if kind == "title"), "title")


def _shaped(kind: str, value: Value) -> dict[str, object] | None:
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
