"""Renders blocks as plain text, for readers and programs that show no HTML."""

from collections.abc import Iterator, Sequence
from textwrap import indent
from typing import assert_never

from postledger.content.notion import blocks, rich_text
from postledger.content.notion.blocks import (
    Block,
    Embedded,
    LeafBlock,
    ListItem,
    Numbering,
    SingleBlock,
    Titled,
)

_LINE = 72
_RULES = {1: "=", 2: "-"}
_ROMAN = (
    *((1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc")),
    *((50, "l"), (40, "xl"), (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i")),
)
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_LARGEST_ROMAN = 3999


def render(content: Sequence[Block]) -> str:
    """Separates blocks by a blank line, and the items of a list by a line end."""
    written = (
        _list(run) if isinstance(run, tuple) else _block(run) for run in blocks.group_lists(content)
    )
    return _paragraphs(*written)


def _paragraphs(*parts: str) -> str:
    return "\n\n".join(part for part in parts if part.strip())


def _block(block: SingleBlock) -> str:
    if isinstance(block, Titled):
        return _titled(block)
    if isinstance(block, Embedded):
        return _embedded(block)
    if isinstance(block, LeafBlock):
        return _leaf(block)
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
    return "\n".join(map(_item, items, list_marks(items)))


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
            url = rich_text.followable(block.url)
            return block.label if url in {None, block.label} else f"{block.label}: {url}"
        case _:
            assert_never(block)


def _leaf(block: LeafBlock) -> str:
    match block:
        case blocks.Code():
            caption = rich_text.as_text(block.caption)
            return _paragraphs(indent(block.text.strip("\n"), "    "), caption)
        case blocks.Equation():
            return block.expression
        case blocks.Divider():
            return "-" * 20
        case blocks.Table():
            return _table(block)
        case blocks.Row():
            return ""
        case _:
            assert_never(block)


def _table(table: blocks.Table) -> str:
    lines = [_cells(row) for row in table.rows]
    if table.has_column_header and lines:
        lines.insert(1, "-" * min(len(lines[0]), _LINE))
    return "\n".join(lines)


def _cells(row: blocks.Row) -> str:
    return " | ".join(rich_text.as_text(cell).replace("\n", " ").strip() for cell in row.cells)


def list_marks(items: Sequence[ListItem]) -> Iterator[str]:
    """The marks before the items of a list; the first item decides how it is numbered."""
    first = items[0]
    numbering = first.numbering if isinstance(first, blocks.Numbered) else Numbering.NUMBERS
    for number, item in enumerate(items, blocks.first_number(items)):
        match item:
            case blocks.Bullet():
                yield "-"
            case blocks.ToDo(is_checked=is_checked):
                yield "[x]" if is_checked else "[ ]"
            case blocks.Numbered():
                yield f"{_numeral(number, numbering)}."
            case _:
                assert_never(item)


def _numeral(number: int, numbering: Numbering) -> str:
    match numbering:
        case Numbering.LETTERS:
            return _letters(number)
        case Numbering.ROMAN if number <= _LARGEST_ROMAN:
            return _roman(number)
        case _:
            return str(number)


def _letters(number: int) -> str:
    """As browsers count: after z comes aa."""
    written = ""
    while number:
        number, index = divmod(number - 1, len(_LETTERS))
        written = _LETTERS[index] + written
    return written


def _roman(number: int) -> str:
    written = ""
    for value, sign in _ROMAN:
        count, number = divmod(number, value)
        written += sign * count
    return written
