"""Makes blocks of Notion's JSON."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import PurePosixPath
from urllib.parse import unquote, urlsplit

from postledger.content.notion import blocks, fields, rich_text
from postledger.content.notion.blocks import Block, Blocks
from postledger.content.notion.fields import Record
from postledger.content.notion.rich_text import RichText


@dataclass(frozen=True, slots=True)
class Raw:
    id: str
    type: str
    content: Record
    children: Blocks


def parse_block(raw: Record, *, children: Blocks = ()) -> Block:
    kind = fields.text(raw, "type")
    parse = _PARSERS.get(kind, _unknown)
    return parse(Raw(fields.text(raw, "id"), kind, fields.record(raw, kind), children))


def children_id(raw: Record) -> str | None:
    """The id under which a block's children are to be read; None for a block without any.

    Other pages are linked, not shown. The children of a block that cannot be shown are left out
    with it: a meeting's transcript must not be mailed because its block is unknown.
    """
    kind = fields.text(raw, "type")
    content = fields.record(raw, kind)
    original = fields.text(fields.record(content, "synced_from"), "block_id")
    if kind == "synced_block" and original:
        return original
    is_open = kind in _OPEN or (kind not in _PARSERS and "rich_text" in content)
    return fields.text(raw, "id") if is_open and fields.flag(raw, "has_children") else None


def _text(raw: Raw) -> RichText:
    return rich_text.parse(fields.array(raw.content, "rich_text"))


def _caption(raw: Raw) -> RichText:
    return rich_text.parse(fields.array(raw.content, "caption"))


def _color(raw: Raw) -> str:
    return fields.text(raw.content, "color") or "default"


def _text_block(raw: Raw, *, kind: Callable[[str, RichText, str, Blocks], Block]) -> Block:
    return kind(raw.id, _text(raw), _color(raw), raw.children)


def _heading(raw: Raw, *, level: int) -> Block:
    return blocks.Heading(raw.id, _text(raw), _color(raw), raw.children, level)


def _numbered(raw: Raw) -> Block:
    start = fields.number(raw.content, "list_start_index")
    given = fields.text(raw.content, "list_format")
    is_known = given in set(blocks.Numbering)
    numbering = blocks.Numbering(given) if is_known else blocks.Numbering.NUMBERS
    return blocks.Numbered(raw.id, _text(raw), _color(raw), raw.children, start, numbering)


def _to_do(raw: Raw) -> Block:
    is_checked = fields.flag(raw.content, "checked")
    return blocks.ToDo(raw.id, _text(raw), _color(raw), raw.children, is_checked)


def _callout(raw: Raw) -> Block:
    icon = fields.text(fields.record(raw.content, "icon"), "emoji")
    return blocks.Callout(raw.id, _text(raw), _color(raw), raw.children, icon)


def _tabs(raw: Raw) -> Block:
    """Each tab is a paragraph: its text is the title, its children are what the tab shows."""
    tabs = (
        blocks.Toggle(tab.id, tab.text, tab.color, tab.children)
        if isinstance(tab, blocks.Paragraph)
        else tab
        for tab in raw.children
    )
    return blocks.Group(raw.id, tuple(tabs))


def _code(raw: Raw) -> Block:
    text = rich_text.plain(_text(raw))
    return blocks.Code(raw.id, text, fields.text(raw.content, "language"), _caption(raw))


def _equation(raw: Raw) -> Block:
    return blocks.Equation(raw.id, fields.text(raw.content, "expression"))


def _address(raw: Raw) -> tuple[str, bool]:
    """Where a file is, and whether Notion keeps it."""
    kind = fields.text(raw.content, "type")
    return fields.text(fields.record(raw.content, kind), "url"), kind == "file"


def _image(raw: Raw) -> Block:
    url, is_hosted = _address(raw)
    return blocks.Image(raw.id, url, is_hosted, _caption(raw))


def _file(raw: Raw) -> Block:
    url, is_hosted = _address(raw)
    name = rich_text.plain(_caption(raw)).strip() or fields.text(raw.content, "name")
    if is_hosted:
        return blocks.HostedFile(raw.id, raw.type, name or _file_name(url))
    return blocks.Link(raw.id, raw.type, url, name or url)


def _file_name(url: str) -> str:
    try:
        return PurePosixPath(unquote(urlsplit(url).path)).name
    except ValueError:
        return ""


def _bookmark(raw: Raw) -> Block:
    url = fields.text(raw.content, "url")
    label = rich_text.plain(_caption(raw)).strip() or url
    return blocks.Link(raw.id, raw.type, url, label)


def _link_to_page(raw: Raw) -> Block:
    linked = fields.text(raw.content, fields.text(raw.content, "type"))
    url = rich_text.page_url(linked)
    return blocks.Link(raw.id, raw.type, url, url)


def _child(raw: Raw) -> Block:
    url = rich_text.page_url(raw.id)
    return blocks.Link(raw.id, raw.type, url, fields.text(raw.content, "title") or url)


def _table(raw: Raw) -> Block:
    rows = tuple(child for child in raw.children if isinstance(child, blocks.Row))
    return blocks.Table(
        raw.id,
        rows,
        has_column_header=fields.flag(raw.content, "has_column_header"),
        has_row_header=fields.flag(raw.content, "has_row_header"),
    )


def _row(raw: Raw) -> Block:
    cells = fields.array(raw.content, "cells")
    return blocks.Row(
        raw.id, tuple(rich_text.parse(cell if isinstance(cell, list) else ()) for cell in cells)
    )


def _unknown(raw: Raw) -> Block:
    is_shown = isinstance(raw.content.get("rich_text"), list)
    return blocks.Unknown(raw.id, raw.type, _text(raw) if is_shown else None, raw.children)


_PARSERS: Mapping[str, Callable[[Raw], Block]] = {
    "paragraph": partial(_text_block, kind=blocks.Paragraph),
    **{f"heading_{level}": partial(_heading, level=level) for level in range(1, 5)},
    "bulleted_list_item": partial(_text_block, kind=blocks.Bullet),
    "numbered_list_item": _numbered,
    "to_do": _to_do,
    "toggle": partial(_text_block, kind=blocks.Toggle),
    "quote": partial(_text_block, kind=blocks.Quote),
    "callout": _callout,
    "tab": _tabs,
    **dict.fromkeys(
        ("column_list", "column", "synced_block"), lambda raw: blocks.Group(raw.id, raw.children)
    ),
    "code": _code,
    "equation": _equation,
    "divider": lambda raw: blocks.Divider(raw.id),
    # These only help inside Notion.
    **dict.fromkeys(
        ("breadcrumb", "table_of_contents", "template"), lambda raw: blocks.Group(raw.id, ())
    ),
    "image": _image,
    **dict.fromkeys(("video", "file", "pdf", "audio"), _file),
    **dict.fromkeys(("bookmark", "embed", "link_preview"), _bookmark),
    "link_to_page": _link_to_page,
    **dict.fromkeys(("child_page", "child_database"), _child),
    "table": _table,
    "table_row": _row,
}

# The types whose children are part of the mail.
_OPEN = frozenset(
    (
        *("paragraph", "heading_1", "heading_2", "heading_3", "heading_4", "toggle", "quote"),
        *("bulleted_list_item", "numbered_list_item", "to_do", "callout", "table"),
        *("tab", "column_list", "column", "synced_block"),
    )
)
