"""An HTML document without what a text cannot show: attributes, pictures, tables."""

import re
from dataclasses import dataclass
from html import escape, unescape

from postledger.content import walk
from postledger.content.aside import Aside
from postledger.content.walk import Kind, Piece

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


def of(html: str, *, put_aside: Aside) -> str:
    """HTML that reads as the document does, line by line."""
    pieces = list(walk.pieces(html))
    made = _Skeleton(html, put_aside, _data_tags(html, pieces))
    for piece in pieces:
        made.add(piece)
    return made.text()


@dataclass(slots=True)
class _Table:
    is_data: bool
    tags: list[int]  # where its own and those of its rows and cells begin


def _data_tags(html: str, pieces: list[Piece]) -> frozenset[int]:
    """The tags of tables that hold data, and are no means to arrange blocks."""
    opened: list[_Table] = []
    every: list[_Table] = []
    for piece in pieces:
        if piece.name == "table" and piece.kind is Kind.OPENING:
            for outer in opened[-1:]:
                outer.is_data = False
            role = walk.value(html, piece, "role").lower()
            opened.append(_Table(role not in {"none", "presentation"}, [piece.start]))
            every.append(opened[-1])
        elif piece.name == "table" and opened:
            opened.pop().tags.append(piece.start)
        elif opened and (piece.name in _CELLS or piece.name == "tr"):
            opened[-1].tags.append(piece.start)
        elif opened and piece.name in _BLOCKS - _TABLE:
            opened[-1].is_data = False
    return frozenset(tag for table in every if table.is_data for tag in table.tags)


class _Skeleton:
    def __init__(self, html: str, put_aside: Aside, data_tags: frozenset[int]) -> None:
        self._html, self._aside, self._data_tags = html, put_aside, data_tags
        self._parts: list[str] = []
        self._run: list[str] = []  # what stands between two blocks: texts and tags
        self._depth = 0  # of lists
        self._is_fresh = True  # nothing is said in this run
        self._link, self._said = "", ""

    def add(self, piece: Piece) -> None:
        written = self._html[piece.start : piece.end]
        match piece.kind:
            case Kind.TEXT:
                self._say(written.replace("<", "&lt;"))
            case Kind.COMMENT if self._aside.number(written) >= 0:
                self._say(written[4:-3].partition(":")[0])
            case Kind.OPENING:
                self._open(piece)
            case Kind.CLOSING:
                self._close(piece)
            case _:
                pass

    def text(self) -> str:
        self._flush()
        return "".join(self._parts)

    def _say(self, text: str) -> None:
        self._run.append(text)
        self._is_fresh = self._is_fresh and not text.strip()
        if self._link:
            self._said += text

    def _open(self, tag: Piece) -> None:
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
            case name if name not in walk.VOID:
                self._run.append(self._tag(tag, "span"))
            case _:
                pass

    def _refer(self, tag: Piece) -> None:
        if tag.name == "a":
            self._link = unescape(walk.value(self._html, tag, "href")).strip()
            self._said = ""
            return
        alt = _SPACES.sub(" ", unescape(walk.value(self._html, tag, "alt"))).strip()
        self._say(f"[{escape(alt)}]" if alt else "")

    def _close(self, tag: Piece) -> None:
        if tag.name == "a":
            said = unescape(self._said).strip()
            shown = {self._link, self._link.rstrip("/"), self._link.partition(":")[2]}
            if said and said not in shown and not self._link.startswith("#") and self._link:
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

    def _is_apart(self, tag: Piece) -> bool:
        """Whether blank lines go around this: a table, a row of blocks, a list in no other."""
        if tag.name in _LISTS:
            return self._depth == 1
        is_data = tag.start in self._data_tags
        return (tag.name == "table" and is_data) or (tag.name == "tr" and not is_data)

    def _tag(self, tag: Piece, name: str) -> str:
        is_hidden = _HIDDEN.search(walk.value(self._html, tag, "style"))
        return f'<{name} style="display:none">' if is_hidden else f"<{name}>"

    def _block(self, tag: str) -> None:
        self._flush()
        self._parts.append(tag)

    def _flush(self) -> None:
        """Ends a run; tags that are alone in it stand between blocks, and get their own lines."""
        said = "".join(part for part in self._run if not part.startswith("<"))
        if self._aside.is_silent(said):
            self._parts += (
                part if part.startswith("<") else f"<div>{part}</div>" for part in self._run
            )
        else:
            self._parts += self._run
        self._run.clear()
        self._is_fresh = True
