"""Pages of Notion, written tersely: blocks, rich text and properties in the API's own shapes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

type Json = dict[str, object]
type Run = str | Json

NOBODY = "00000000-0000-4000-8000-00000000beef"


@dataclass(frozen=True)
class Node:
    """A block and what is inside it; it gets an id when its page is added, unless it has one."""

    type: str
    content: Json
    children: tuple["Node", ...] = ()
    id: str = ""


@dataclass(frozen=True)
class HostedFile:
    """Stands where the API gives a signed address of one of its files."""

    name: str


@dataclass(frozen=True)
class Schema:
    """A database with its one source: the names of its properties and their types."""

    database_id: str
    data_source_id: str
    properties: Mapping[str, str] = field(default_factory=dict)


def run(text: str, *, link: str | None = None, color: str = "default", **styles: bool) -> Json:
    content: Json = {"content": text, "link": {"url": link} if link is not None else None}
    return _run("text", content, text=text, link=link, color=color, **styles)


def equation_run(expression: str) -> Json:
    return _run("equation", {"expression": expression}, text=expression)


def mention(kind: str, about: Json, *, text: str, link: str | None = None) -> Json:
    return _run("mention", {"type": kind, kind: about}, text=text, link=link)


def _run(
    kind: str,
    content: Json,
    *,
    text: str,
    link: str | None = None,
    color: str = "default",
    **styles: bool,
) -> Json:
    names = ("bold", "italic", "strikethrough", "underline", "code")
    annotations = {**{name: styles.get(name, False) for name in names}, "color": color}
    return {
        "type": kind,
        kind: content,
        "annotations": annotations,
        "plain_text": text,
        "href": link,
    }


def runs(given: Sequence[Run]) -> list[Json]:
    return [run(each) if isinstance(each, str) else each for each in given]


def block(kind: str, *text: Run, inside: Sequence[Node] = (), **content: object) -> Node:
    """A block with rich text; everything else of its content is given by name."""
    shape: Json = {"rich_text": runs(text), "color": "default", **content}
    return Node(kind, shape, tuple(inside))


def paragraph(*text: Run, inside: Sequence[Node] = (), color: str = "default") -> Node:
    return block("paragraph", *text, inside=inside, color=color, icon=None)


def heading(level: int, *text: Run, inside: Sequence[Node] = ()) -> Node:
    return block(f"heading_{level}", *text, inside=inside, is_toggleable=bool(inside))


def bullet(*text: Run, inside: Sequence[Node] = ()) -> Node:
    return block("bulleted_list_item", *text, inside=inside)


def numbered(*text: Run, inside: Sequence[Node] = (), **content: object) -> Node:
    return block("numbered_list_item", *text, inside=inside, **content)


def to_do(*text: Run, checked: bool, inside: Sequence[Node] = ()) -> Node:
    return block("to_do", *text, inside=inside, checked=checked)


def callout(*text: Run, emoji: str, inside: Sequence[Node] = (), color: str = "default") -> Node:
    icon = {"type": "emoji", "emoji": emoji}
    return block("callout", *text, inside=inside, icon=icon, color=color)


def code(text: str, *, language: str, caption: Sequence[Run] = ()) -> Node:
    content: Json = {"rich_text": runs([text]), "caption": runs(caption), "language": language}
    return Node("code", content)


def bare(kind: str, *children: Node, **content: object) -> Node:
    """A block without rich text."""
    return Node(kind, dict(content), children)


def hosted(kind: str, path: str, *, caption: Sequence[Run] = (), **content: object) -> Node:
    place = {"url": HostedFile(path), "expiry_time": "2026-11-16T09:00:00.000Z"}
    return Node(kind, {"caption": runs(caption), "type": "file", "file": place, **content})


def external(kind: str, url: str, *, caption: Sequence[Run] = (), **content: object) -> Node:
    place = {"url": url}
    return Node(kind, {"caption": runs(caption), "type": "external", "external": place, **content})


def bookmark(url: str, *, kind: str = "bookmark", caption: Sequence[Run] = ()) -> Node:
    return Node(kind, {"url": url, "caption": runs(caption)})


def table(*rows: Sequence[Run], columns: bool = False, row_heads: bool = False) -> Node:
    lines = (Node("table_row", {"cells": [runs([cell]) for cell in row]}) for row in rows)
    width = max((len(row) for row in rows), default=0)
    heads = {"has_column_header": columns, "has_row_header": row_heads}
    content: Json = {"table_width": width, **heads}
    return Node("table", content, tuple(lines))


def synced(*children: Node, block_id: str) -> Node:
    return Node("synced_block", {"synced_from": None}, children, block_id)


def synced_copy(original: str) -> Node:
    return Node("synced_block", {"synced_from": {"type": "block_id", "block_id": original}})


def title(*text: Run) -> Json:
    return {"id": "title", "type": "title", "title": runs(text)}


def rich_text(*text: Run) -> Json:
    return {"id": "a%3Ab", "type": "rich_text", "rich_text": runs(text)}


def state(name: str | None, *, kind: str = "status") -> Json:
    option = None if name is None else {"id": "1", "name": name, "color": "gray"}
    return {"id": "s%7D", "type": kind, kind: option}


def checkbox(*, checked: bool) -> Json:
    return {"id": "c%40", "type": "checkbox", "checkbox": checked}


def date(start: str | None) -> Json:
    value = None if start is None else {"start": start, "end": None, "time_zone": None}
    return {"id": "d%3C", "type": "date", "date": value}


def number(value: float | None) -> Json:
    return {"id": "n%3E", "type": "number", "number": value}
