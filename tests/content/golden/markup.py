"""Reads the HTML of a letter more strictly than mail programs do, and says what is wrong."""

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import override

# fmt: off
_VOID = frozenset({
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "wbr",
})
_BLOCKS = frozenset({
    "blockquote", "div", "dl", "figure", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "ol", "p", "pre",
    "table", "ul",
})
# fmt: on
_PARENTS = {
    "dd": {"dl"},
    "dt": {"dl"},
    "li": {"ol", "ul"},
    "tbody": {"table"},
    "td": {"tr"},
    "tfoot": {"table"},
    "th": {"tr"},
    "thead": {"table"},
    "tr": {"table", "tbody", "tfoot", "thead"},
}
_REACHABLE = re.compile(r"https?://[^\s/?#]+\.[^\s/?#]+(?:[/?#]\S*)?|mailto:\S+@\S+|tel:\+?[0-9-]+")


@dataclass
class Document:
    faults: list[str] = field(default_factory=list)
    elements: list[tuple[str, dict[str, str]]] = field(default_factory=list)

    def root(self) -> dict[str, str]:
        return dict(self.elements)["html"]

    def unreachable(self) -> list[str]:
        """The addresses behind links and pictures that no reader can follow."""
        addresses = (
            attributes[name]
            for _, attributes in self.elements
            for name in ("href", "src", "background")
            if name in attributes
        )
        return [address for address in addresses if not _REACHABLE.fullmatch(address)]

    def pictures(self) -> list[dict[str, str]]:
        return [attributes for name, attributes in self.elements if name == "img"]


def read(html: str) -> Document:
    reader = _Reader()
    reader.feed(html)
    reader.close()
    reader.document.faults += [f"<{name}> is not closed" for name in reader.opened]
    return reader.document


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.document = Document()
        self.opened: list[str] = []

    @override
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.document.elements.append((tag, {name: value or "" for name, value in attrs}))
        parent = self.opened[-1] if self.opened else ""
        if tag in _PARENTS and parent not in _PARENTS[tag]:
            self.document.faults.append(f"<{tag}> inside <{parent}>")
        if tag in _BLOCKS and "p" in self.opened[self._innermost_cell() :]:
            self.document.faults.append(f"<{tag}> inside <p>")
        names = [name for name, _ in attrs]
        if len(names) != len(set(names)):
            self.document.faults.append(f"<{tag}> says something twice")
        if tag not in _VOID:
            self.opened.append(tag)

    @override
    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in _VOID:
            self.document.faults.append(f"<{tag}/> closes itself")

    @override
    def handle_endtag(self, tag: str) -> None:
        if self.opened and self.opened[-1] == tag:
            self.opened.pop()
        else:
            self.document.faults.append(f"</{tag}> where {self.opened[-1:]} is open")

    def _innermost_cell(self) -> int:
        cells = (at for at, name in enumerate(self.opened) if name in {"td", "th"})
        return max(cells, default=0)
