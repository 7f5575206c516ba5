"""Markdown as HTML and as text, both from one reading of it."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_core import StateCore
from markdown_it.token import Token

from postledger.content.rendering import plaintext
from postledger.content.rendering.html.checks import Finding
from postledger.content.rendering.liquid import liquid_markers, markdown_liquid
from postledger.content.rendering.liquid.liquid_markers import MarkedText
from postledger.content.rendering.liquid.markdown_liquid import Unit
from postledger.lib.sentences import say

_DEEPEST = 40
# The parser stops at each of these: it takes some microseconds, and rows of brackets much more.
_STOP = re.compile(r"[\n!#$%&*+\-:<=>@\[\\\]^_`{|}~]")
_MOST_STOPS = 20_000
_MOST_CELLS = 10_000
_DELIMITER_ROW = " \t\r|:->*+.)0123456789"  # also inside quotes and lists
_BLANK = "\n\n"
_WIDEST = 78
_BUTTON = "button"  # the title of a link that looks like one
_UNDERLINES = {"h1": "=", "h2": "-"}


@dataclass(frozen=True, slots=True)
class Rendered:
    """An HTML version and a text version."""

    html: str
    text: str


def render(marked: MarkedText) -> Rendered | Finding:
    """Both versions, with marks still in place of the Liquid."""
    stops = len(_STOP.findall(marked.text))
    if stops > _MOST_STOPS:
        remedy = say(
            "It has %(number)s line ends and special characters; use at most %(most)s.",
            number=stops,
            most=_MOST_STOPS,
        )
        return Finding("markup_too_complex", "body", remedy)
    if _most_cells(marked.text) > _MOST_CELLS:
        remedy = say("Use fewer columns, or fewer lines: every row of a table has all its columns.")
        return Finding("markup_too_complex", "body", remedy)
    read = _PARSER.parse(marked.text, {"marked": marked})
    for token in read:
        # The parser leaves out deeper blocks without an error.
        if token.level >= _DEEPEST - 1:
            return Finding("markup_too_complex", "body", say("Nest fewer lists and quotes."))
    tokens = markdown_liquid.join_divided(read, marked=marked)
    html = str(_PARSER.renderer.render(tokens, _PARSER.options, {}))
    return Rendered(html, _TextWriter(marked).blocks(tokens))


def _most_cells(text: str) -> int:
    """A bound of the cells of all tables: the parser fills up every row to the widest header."""
    lines = text.split("\n")
    columns = (
        line.count("|") + 1 for line in lines if "-" in line and not line.strip(_DELIMITER_ROW)
    )
    return len(lines) * max(columns, default=0)


def _liquid(_renderer: RendererHTML, tokens: Sequence[Token], number: int, *_: object) -> str:
    return liquid_markers.comment(tokens[number].content) + "\n"


def _make_buttons(state: StateCore) -> None:
    for block in state.tokens:
        block.children = list(_wrap_texts_of_buttons(block.children or []))


def _wrap_texts_of_buttons(tokens: Sequence[Token]) -> Iterator[Token]:
    """The colour of links, which a dark screen changes, is not the one of the text on a button."""
    is_button = False
    for token in tokens:
        if token.type == "link_open":
            is_button = token.attrs.get("title") == _BUTTON
        if is_button and token.type == "link_close":
            yield Token("span_close", "span", -1)
        yield token
        if is_button and token.type == "link_open":
            token.attrs = {"class": _BUTTON, "href": token.attrs["href"]}
            yield Token("span_open", "span", 1)


def _make_parser() -> MarkdownIt:
    options = {"html": False, "maxNesting": _DEEPEST, "xhtmlOut": False}
    parser = MarkdownIt("commonmark", options).enable(["strikethrough", "table"])
    parser.block.ruler.before(
        "table",
        "liquid",
        markdown_liquid.rule,
        {"alt": ["paragraph", "reference", "blockquote", "list"]},
    )
    parser.core.ruler.push("button", _make_buttons)
    parser.add_render_rule("liquid", _liquid)
    return parser


_PARSER = _make_parser()


class _TextWriter:
    """The text version, from the blocks of the Markdown; lines are not wrapped."""

    def __init__(self, marked: MarkedText) -> None:
        self._marked = marked

    def blocks(self, tokens: Sequence[Token], *, separator: str = _BLANK) -> str:
        texts = (self._block(unit) for unit in markdown_liquid.units(tokens))
        return self._joined((text for text in texts if text), separator)

    def _joined(self, texts: Iterator[str], separator: str) -> str:
        return plaintext.glue_tags(separator.join(texts), marked=self._marked)

    def _block(self, unit: Unit) -> str:
        match unit[0].type:
            case "heading_open":
                text = self._heading(unit)
            case "paragraph_open":
                text = _inline(unit[1].children or [])
            case "bullet_list_open" | "ordered_list_open":
                text = self._list(unit)
            case "blockquote_open":
                text = _prefixed(self.blocks(unit[1:-1]), "> ", "> ")
            case "table_open":
                text = self._table(unit)
            case "hr":
                text = plaintext.RULE
            case _:  # code, and Liquid
                text = unit[0].content.rstrip("\n")
        return text

    def _heading(self, unit: Unit) -> str:
        text = _inline(unit[1].children or [])
        underline = _UNDERLINES.get(unit[0].tag, "")
        return f"{text}\n{underline * self._length(text)}" if underline and text else text

    def _list(self, unit: Unit) -> str:
        items = list(markdown_liquid.units(unit[1:-1]))
        is_tight = any(token.hidden and token.level == unit[0].level + 2 for token in unit)
        # Liquid between items may repeat or drop them, so their numbers are unknown.
        is_numbered = unit[0].tag == "ol" and all(item[0].type != "liquid" for item in items)
        start = int(unit[0].attrs.get("start", 1))
        texts = (
            self._item(item, f"{number}. " if is_numbered else "- ", is_tight=is_tight)
            for number, item in enumerate(items, start=start)
        )
        return self._joined(texts, "\n" if is_tight else _BLANK)

    def _item(self, item: Unit, marker: str, *, is_tight: bool) -> str:
        if item[0].type == "liquid":
            return item[0].content
        inside = self.blocks(item[1:-1], separator="\n" if is_tight else _BLANK)
        return _prefixed(inside, marker, " " * len(marker))

    def _table(self, unit: Unit) -> str:
        rows = list(_rows(unit))
        cells = [row for row in rows if not isinstance(row, str)]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        if sum(widths) > _WIDEST or self._marked.marker.search("".join(map("".join, cells))):
            # Too wide to be read in columns, or of unknown width.
            widths = [0 for _ in widths]
        lines = [
            row
            if isinstance(row, str)
            else plaintext.BETWEEN_CELLS.join(map(str.ljust, row, widths)).rstrip()
            for row in rows
        ]
        lines.insert(1, "-" * self._length(lines[0]))
        return self._joined(iter(lines), "\n")

    def _length(self, text: str) -> int:
        return min(_WIDEST, len(self._marked.marker.sub("liquid", text)))


def _rows(unit: Unit) -> Iterator[list[str] | str]:
    """The rows of a table: their cells, or the tag that stands between them."""
    row: list[str] = []
    for token in unit:
        if token.type == "inline":
            row.append(_inline(token.children or []).replace("\n", " "))
        elif token.type == "tr_close":
            yield row
            row = []
        elif token.type == "liquid":
            yield token.content


def _prefixed(text: str, first: str, others: str) -> str:
    lines = text.split("\n")
    return "\n".join(
        (first if number == 0 else others) + line if line else others.rstrip()
        for number, line in enumerate(lines)
    )


def _inline(tokens: Sequence[Token]) -> str:
    parts: list[str] = []
    links: list[tuple[Token, int]] = []
    for token in tokens:
        match token.type:
            case "softbreak":
                parts.append(" ")
            case "hardbreak":
                parts.append("\n")
            case "image":
                alt = _inline(token.children or []).strip()
                parts.append(f"[{alt}]" if alt else "")
            case "link_open":
                links.append((token, len(parts)))
            case "link_close":
                link, start = links.pop()
                parts.append(_address(link, "".join(parts[start:]).strip()))
            case _:
                parts.append(token.content)
    return "".join(parts)


def _address(link: Token, text: str) -> str:
    """The address to write behind a link's text; empty where the text shows it already."""
    address = str(link.attrs.get("href", ""))
    is_shown = link.info == "auto" or text in {"", address, address.partition(":")[2]}
    return "" if is_shown or address.startswith("#") or not address else f" ({address})"
