"""Renders blocks as a fragment of HTML for our layout; the same blocks give the same bytes."""

from collections.abc import Mapping, Sequence
from html import escape
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
from postledger.content.notion.rich_text import RichText

_INDENT = "margin-left:24px"
_QUOTE = "margin:0 0 16px;padding:0 0 0 14px;border-left:3px solid #37352f"
_CALLOUT = "margin:0 0 16px;padding:12px 16px;border:1px solid #e3e2e0"
_CODE = "white-space:pre-wrap;padding:12px;background-color:#f7f6f3"
_CELL = "border:1px solid #d3d1cb;padding:6px 9px;text-align:left"
_OL_TYPES = {Numbering.NUMBERS: "", Numbering.LETTERS: ' type="a"', Numbering.ROMAN: ' type="i"'}


def render(content: Sequence[Block], *, pictures: Mapping[str, str]) -> str:
    """`pictures` are the URLs of the images, by the ids of their blocks."""
    return _Writer(pictures).all(content)


class _Writer:
    def __init__(self, pictures: Mapping[str, str]) -> None:
        self._pictures = pictures

    def all(self, content: Sequence[Block]) -> str:
        written = (
            self._list(run) if isinstance(run, tuple) else self._block(run)
            for run in blocks.group_lists(content)
        )
        return _lines(*written)

    def _block(self, block: SingleBlock) -> str:
        if isinstance(block, Titled):
            return self._titled(block)
        if isinstance(block, Embedded):
            return self._embedded(block)
        if isinstance(block, LeafBlock):
            return _leaf(block)
        return self.all(block.children)

    def _titled(self, block: Titled) -> str:
        inside = self.all(block.children)
        text = _inline(block.text or ())
        match block:
            case blocks.Paragraph():
                return _lines(_element("p", text, _style(block.color)), _indented(inside))
            case blocks.Heading():
                return _lines(_element(f"h{block.level}", text, _style(block.color)), inside)
            case blocks.Toggle():
                title = f"<strong>{text}</strong>" if text else ""
                return _lines(_element("p", title, _style(block.color)), _indented(inside))
            case blocks.Quote():
                return _box("blockquote", _element("p", text), inside, _style(block.color, _QUOTE))
            case blocks.Callout():
                title = f"{escape(block.icon, quote=False)} {text}".strip()
                return _box("div", _element("p", title), inside, _style(block.color, _CALLOUT))
            case blocks.Unknown():
                return _lines(_element("p", text), _indented(inside))
            case _:
                assert_never(block)

    def _list(self, items: tuple[ListItem, ...]) -> str:
        first = items[0]
        inner = "\n".join(map(self._item, items))
        match first:
            case blocks.Bullet():
                return f"<ul>\n{inner}\n</ul>"
            case blocks.ToDo():
                return f'<ul style="list-style-type:none;padding-left:0">\n{inner}\n</ul>'
            case blocks.Numbered():
                number = blocks.first_number(items)
                start = f' start="{number}"' if number != 1 else ""
                return f"<ol{_OL_TYPES[first.numbering]}{start}>\n{inner}\n</ol>"
            case _:
                assert_never(first)

    def _item(self, item: ListItem) -> str:
        text = rich_text.as_html(item.text)
        if isinstance(item, blocks.ToDo):
            text = f"{'☑' if item.is_checked else '☐'} {text}"
        inside = self.all(item.children)
        nested = f"\n{inside}\n" if inside else ""
        return f"<li{_style(item.color)}>{text}{nested}</li>"

    def _embedded(self, block: Embedded) -> str:
        match block:
            case blocks.Image():
                return self._image(block)
            case blocks.HostedFile():
                return _element("p", escape(block.label, quote=False))
            case blocks.Link():
                return _element("p", _link(block))
            case _:
                assert_never(block)

    def _image(self, image: blocks.Image) -> str:
        caption = _inline(image.caption)
        url = self._pictures.get(image.id)
        if url is None:
            return _element("p", caption)
        alt = rich_text.plain(image.caption).replace("\n", " ")
        shown = (
            f'<p><img src="{escape(url)}" alt="{escape(alt)}"'
            ' style="max-width:100%;height:auto;border:0"></p>'
        )
        return _lines(shown, _caption(caption))


def _caption(html: str) -> str:
    return f"<p><small>{html}</small></p>" if html else ""


def _lines(*parts: str) -> str:
    return "\n".join(part for part in parts if part)


def _style(color: str, *more: str) -> str:
    css = ";".join(filter(None, (*more, rich_text.css(color))))
    return f' style="{css}"' if css else ""


def _inline(text: RichText) -> str:
    """Empty for blank text: Notion's pages are full of empty paragraphs."""
    return rich_text.as_html(text) if rich_text.plain(text).strip() else ""


def _element(name: str, html: str, attributes: str = "") -> str:
    return f"<{name}{attributes}>{html}</{name}>" if html.strip() else ""


def _box(name: str, title: str, inside: str, attributes: str) -> str:
    shown = _lines(title, inside)
    return f"<{name}{attributes}>\n{shown}\n</{name}>" if shown else ""


def _indented(inside: str) -> str:
    return f'<div style="{_INDENT}">\n{inside}\n</div>' if inside else ""


def _link(link: blocks.Link) -> str:
    url = rich_text.followable(link.url)
    label = escape(link.label, quote=False)
    return f'<a href="{escape(url)}">{label}</a>' if url else label


def _leaf(block: LeafBlock) -> str:
    match block:
        case blocks.Code():
            return _code(block)
        case blocks.Equation():
            expression = escape(block.expression, quote=False)
            return f"<p><code>{expression}</code></p>" if expression.strip() else ""
        case blocks.Divider():
            return "<hr>"
        case blocks.Table():
            return _table(block)
        case blocks.Row():
            return ""
        case _:
            assert_never(block)


def _code(code: blocks.Code) -> str:
    if not code.text.strip():
        return ""
    language = escape("-".join(code.language.split()))
    attribute = f' class="language-{language}"' if language else ""
    shown = f'<pre style="{_CODE}"><code{attribute}>{escape(code.text, quote=False)}</code></pre>'
    return _lines(shown, _caption(_inline(code.caption)))


def _table(table: blocks.Table) -> str:
    if not table.rows:
        return ""
    head = table.rows[:1] if table.has_column_header else ()
    body = table.rows[len(head) :]
    first = "row" if table.has_row_header else ""
    return _lines(
        '<table style="border-collapse:collapse">',
        _box("thead", _lines(*(_row(row, "col", "col") for row in head)), "", ""),
        _box("tbody", _lines(*(_row(row, first, "") for row in body)), "", ""),
        "</table>",
    )


def _row(row: blocks.Row, first_scope: str, scope: str) -> str:
    scopes = [first_scope, *[scope] * len(row.cells)]
    return f"<tr>{''.join(map(_cell, row.cells, scopes))}</tr>"


def _cell(text: RichText, scope: str) -> str:
    name, attribute = ("th", f' scope="{scope}"') if scope else ("td", "")
    return f'<{name}{attribute} style="{_CELL}">{rich_text.as_html(text)}</{name}>'
