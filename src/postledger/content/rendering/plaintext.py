"""The text version of an HTML document, with the addresses of its links."""

import re
from dataclasses import dataclass
from html import escape

from inscriptis import get_text  # type: ignore[import-untyped]  # it has types and hides them
from inscriptis.css_profiles import STRICT_CSS_PROFILE  # type: ignore[import-untyped]  # the same
from inscriptis.html_properties import Display  # type: ignore[import-untyped]  # the same
from inscriptis.model.config import ParserConfig  # type: ignore[import-untyped]  # the same
from inscriptis.model.html_element import HtmlElement  # type: ignore[import-untyped]  # the same

from postledger.content.rendering.html import html_tokens
from postledger.content.rendering.html.html_tokens import Kind, Token
from postledger.content.rendering.liquid.liquid_markers import MarkedText

RULE = "-" * 40
BETWEEN_CELLS = " | "

_KEPT = frozenset({"blockquote", "h1", "h2", "h3", "h4", "h5", "h6", "li", "ol", "p", "pre", "ul"})
# fmt: off
_TABLE = frozenset({
    "caption", "col", "colgroup", "table", "tbody", "td", "tfoot", "th", "thead", "tr",
})
_BLOCKS = _KEPT | _TABLE | {
    "address", "article", "aside", "body", "center", "dd", "details", "div", "dl", "dt", "fieldset",
    "figcaption", "figure", "footer", "form", "head", "header", "html", "legend", "main", "nav",
    "section", "summary",
}
# fmt: on
_BODIES = frozenset({"col", "colgroup", "tbody", "tfoot", "thead"})
_LISTS = frozenset({"ol", "ul"})
_GAP = "<p></p>"
_CELLS = frozenset({"td", "th"})
_HIDDEN = re.compile(r"(?:^|;)\s*display\s*:\s*none", re.IGNORECASE)
_SPACES = re.compile(r"\s+")
_LIST = HtmlElement(display=Display.block, padding_inline=2)
_QUOTE = HtmlElement(display=Display.block, margin_before=1, margin_after=1, padding_inline=4)
_CONFIG = ParserConfig(css=STRICT_CSS_PROFILE | {"blockquote": _QUOTE, "ol": _LIST, "ul": _LIST})
_BLANK_LINES = re.compile(r"\n{3,}")


def from_html(html: str, *, marked: MarkedText) -> str:
    """The text of a finished document in which marks still stand for the Liquid."""
    text = str(get_text(_Outline(html, marked).render(), _CONFIG))
    return glue_tags(tidy(text.replace("\xa0", " ")), marked=marked)


def tidy(text: str) -> str:
    """The text without spaces at the ends of lines, and with single blank lines."""
    lines = "\n".join(line.rstrip() for line in text.split("\n"))
    return _BLANK_LINES.sub("\n\n", lines).strip("\n")


def glue_tags(text: str, *, marked: MarkedText) -> str:
    """The text with tags that have a line to themselves moved to the beginning of the next one.

    There they leave no empty line behind. A blank line stays after them only where there is none
    before them.
    """
    lines, waiting, before, after = list[str](), "", 0, 0
    for line in text.split("\n"):
        if waiting and not line.strip():
            after += 1
            continue
        if waiting and after > before:
            lines += [waiting, *[""] * (after - before - 1)]
            waiting, before = "", after
        elif not waiting:
            before = _blank_count(lines)
        if marked.is_silent(line):
            waiting, after = waiting + line.strip(), 0
        else:
            lines.append(waiting + line)
            waiting = ""
    return "\n".join([*lines, waiting] if waiting else lines)


def _blank_count(lines: list[str]) -> int:
    """The number of blank lines at the end; the beginning of a text counts as enough."""
    counted = enumerate(reversed(lines))
    return next((count for count, line in counted if line), len(lines) + 1)


@dataclass(slots=True)
class _Table:
    is_data: bool
    tags: list[int]  # the offsets of its own tags and of those of its rows and cells


def _data_tags(html: str, tokens: list[Token]) -> frozenset[int]:
    """The offsets of the tags of tables that hold data; other tables arrange blocks."""
    opened: list[_Table] = []
    every: list[_Table] = []
    for token in tokens:
        if token.name == "table" and token.kind is Kind.OPENING:
            for outer in opened[-1:]:
                outer.is_data = False
            role = html_tokens.value(html, token, "role").lower()
            opened.append(_Table(role not in {"none", "presentation"}, [token.start]))
            every.append(opened[-1])
        elif token.name == "table" and opened:
            opened.pop().tags.append(token.start)
        elif opened and (token.name in _CELLS or token.name == "tr"):
            opened[-1].tags.append(token.start)
        elif opened and token.name in _BLOCKS - _TABLE:
            opened[-1].is_data = False
    return frozenset(tag for table in every if table.is_data for tag in table.tags)


class _Outline:
    """HTML that reads as a document does, without attributes, pictures and tables."""

    def __init__(self, html: str, marked: MarkedText) -> None:
        self._html, self._marked = html, marked
        self._tokens = list(html_tokens.tokenize(html))
        self._data_tags = _data_tags(html, self._tokens)
        self._parts: list[str] = []
        self._run: list[str] = []  # the texts and tags between two blocks
        self._depth = 0  # of lists
        self._is_fresh = True  # this run has no text yet
        self._link, self._link_text = "", ""

    def render(self) -> str:
        for token in self._tokens:
            self._add(token)
        self._flush()
        return "".join(self._parts)

    def _add(self, token: Token) -> None:
        written = self._html[token.start : token.end]
        match token.kind:
            case Kind.TEXT:
                self._add_text(written.replace("<", "&lt;"))
            case Kind.COMMENT if self._marked.number(written) >= 0:
                self._add_text(written[4:-3].partition(":")[0])
            case Kind.OPENING:
                self._open(token)
            case Kind.CLOSING:
                self._close(token)
            case _:
                pass

    def _add_text(self, text: str) -> None:
        self._run.append(text)
        self._is_fresh = self._is_fresh and not text.strip()
        if self._link:
            self._link_text += text

    def _open(self, tag: Token) -> None:
        match tag.name:
            case "br":
                self._run.append("<br>")
            case "hr":
                self._block(f"<p>{RULE}</p>")
            case "a" | "img":
                self._refer(tag)
            case "td" | "th" if tag.start in self._data_tags:
                self._run += [] if self._is_fresh else [BETWEEN_CELLS]
            case name if name in _BODIES:
                self._flush()
            case name if name in _BLOCKS:
                self._depth += name in _LISTS
                self._block(_GAP if self._is_apart(tag) else "")
                self._parts.append(self._tag(tag, name if name in _KEPT else "div"))
            case name if name not in html_tokens.VOID:
                self._run.append(self._tag(tag, "span"))
            case _:
                pass

    def _refer(self, tag: Token) -> None:
        if tag.name == "a":
            self._link = html_tokens.decode(html_tokens.value(self._html, tag, "href")).strip()
            self._link_text = ""
            return
        written = html_tokens.decode(html_tokens.value(self._html, tag, "alt"))
        alt = _SPACES.sub(" ", written).strip()
        self._add_text(f"[{escape(alt)}]" if alt else "")

    def _close(self, tag: Token) -> None:
        if tag.name == "a":
            text = html_tokens.decode(self._link_text).strip()
            shown = {self._link, self._link.rstrip("/"), self._link.partition(":")[2]}
            if text and text not in shown and not self._link.startswith("#") and self._link:
                self._run.append(f" ({escape(self._link)})")
            self._link = ""
        elif tag.name in _CELLS and tag.start in self._data_tags:
            pass
        elif tag.name in _BODIES:
            self._flush()
        elif tag.name in _BLOCKS:
            self._block(f"</{tag.name if tag.name in _KEPT else 'div'}>")
            self._parts.append(_GAP if self._is_apart(tag) else "")
            self._depth -= tag.name in _LISTS
        else:
            self._run.append("</span>")

    def _is_apart(self, tag: Token) -> bool:
        """Whether blank lines go around it: a table, a row of blocks, a list in no other list."""
        if tag.name in _LISTS:
            return self._depth == 1
        is_data = tag.start in self._data_tags
        return (tag.name == "table" and is_data) or (tag.name == "tr" and not is_data)

    def _tag(self, tag: Token, name: str) -> str:
        is_hidden = _HIDDEN.search(html_tokens.value(self._html, tag, "style"))
        return f'<{name} style="display:none">' if is_hidden else f"<{name}>"

    def _block(self, tag: str) -> None:
        self._flush()
        self._parts.append(tag)

    def _flush(self) -> None:
        """Ends a run; Liquid tags that are alone in it get lines of their own."""
        text = "".join(part for part in self._run if not part.startswith("<"))
        if self._marked.is_silent(text):
            self._parts += (
                part if part.startswith("<") else f"<div>{part}</div>" for part in self._run
            )
        else:
            self._parts += self._run
        self._run.clear()
        self._is_fresh = True
