"""Writes blocks as plain text, for readers and programs that show no HTML."""

from collections.abc import Sequence
from textwrap import indent
from typing import assert_never

from postledger.content.notion import blocks, links, lists, rich_text
from postledger.content.notion.blocks import (
    Alone,
    Block,
    Embedded,
    ListItem,
    Literal,
    Tabular,
    Titled,
)

_LINE = 72
_RULES = {1: "=", 2: "-"}


def render(found: Sequence[Block]) -> str:
    """Blocks stand apart by an empty line, the items of a list below one another."""
    written = (_list(run) if isinstance(run, tuple) else _block(run) for run in lists.runs(found))
    return _paragraphs(*written)


def _paragraphs(*parts: str) -> str:
    return "\n\n".join(part for part in parts if part.strip())


def _block(block: Alone) -> str:
    if isinstance(block, Titled):
        return _titled(block)
    if isinstance(block, Embedded):
        return _embedded(block)
    if isinstance(block, Literal):
        return _literal(block)
    if isinstance(block, Tabular):
        return _tabular(block)
    return render(block.children)


def _titled(block: Titled) -> str:
    inside = render(block.children)
    text = rich_text.as_text(block.text or ()).strip("\n")
    match block:
        case blocks.Paragraph() | blocks.Toggle() | blocks.Unknown():
            return _paragraphs(text, indent(inside, "  "))
        case blocks.Heading():
            return _paragraphs(_underlined(text, _RULES.get(block.level, "")), inside)
        case blocks.Quote():
            quoted = _paragraphs(text, inside)
            return "\n".join(f"> {line}".rstrip() for line in quoted.split("\n") if quoted)
        case blocks.Callout():
            return _paragraphs(f"{block.icon} {text}".strip(), inside)
        case _:
            assert_never(block)


def _underlined(text: str, rule: str) -> str:
    longest = max(map(len, text.split("\n")))
    return f"{text}\n{rule * min(longest, _LINE)}" if rule and text.strip() else text


def _list(items: Sequence[ListItem]) -> str:
    return "\n".join(map(_item, items, lists.marks(items)))


def _item(item: ListItem, mark: str) -> str:
    parts = (rich_text.as_text(item.text).strip("\n"), render(item.children))
    inner = "\n".join(part for part in parts if part)
    margin = " " * (len(mark) + 1)
    return f"{mark} {indent(inner, margin).removeprefix(margin)}".rstrip()


def _embedded(block: Embedded) -> str:
    match block:
        case blocks.Image():
            caption = rich_text.as_text(block.caption).strip()
            return f"[{caption}]" if caption else ""
        case blocks.HostedFile():
            return block.label
        case blocks.Link():
            url = links.followable(block.url)
            return block.label if url in {None, block.label} else f"{block.label}: {url}"
        case _:
            assert_never(block)


def _literal(block: Literal) -> str:
    match block:
        case blocks.Code():
            caption = rich_text.as_text(block.caption)
            return _paragraphs(indent(block.text.strip("\n"), "    "), caption)
        case blocks.Equation():
            return block.expression
        case blocks.Divider():
            return "-" * 20
        case blocks.Nothing():
            return ""
        case _:
            assert_never(block)


def _tabular(block: Tabular) -> str:
    match block:
        case blocks.Table():
            lines = [_cells(row) for row in block.rows]
            if block.has_column_header and lines:
                lines.insert(1, "-" * min(len(lines[0]), _LINE))
            return "\n".join(lines)
        case blocks.Row():
            return ""
        case _:
            assert_never(block)


def _cells(row: blocks.Row) -> str:
    return " | ".join(rich_text.as_text(cell).replace("\n", " ").strip() for cell in row.cells)
