"""Which MJML tags there are, and where each of them may stand."""

import re
from collections.abc import Iterator, Mapping
from itertools import islice

from postledger.content import between, bounds, walk
from postledger.content.aside import Aside
from postledger.content.checks import Finding
from postledger.content.walk import Kind, Piece

# fmt: off
RAW = frozenset({
    "mj-accordion-title", "mj-preview", "mj-style", "mj-title", "script", "style", "textarea",
    "title",
})
# fmt: on

_MOST_FINDINGS = 20
# As XML has them, which is stricter than HTML.
_ATTRIBUTES = re.compile(r"""(?:\s++[\w:][-\w:.]*+(?:\s*+=\s*+(?:"[^"]*+"|'[^']*+'))?+)*+\s*+/?>""")
# fmt: off
_BLOCKS = frozenset({
    "mj-accordion", "mj-button", "mj-carousel", "mj-divider", "mj-image", "mj-navbar", "mj-raw",
    "mj-social", "mj-spacer", "mj-table", "mj-text",
})
# fmt: on
_IN_HEAD = frozenset(
    {"mj-attributes", "mj-breakpoint", "mj-font", "mj-preview", "mj-raw", "mj-style", "mj-title"}
)
_CHILDREN: Mapping[str, frozenset[str]] = {
    "": frozenset({"mjml"}),
    "mjml": frozenset({"mj-body", "mj-head"}),
    "mj-head": _IN_HEAD,
    "mj-body": frozenset({"mj-hero", "mj-raw", "mj-section", "mj-wrapper"}),
    "mj-wrapper": frozenset({"mj-hero", "mj-raw", "mj-section"}),
    "mj-section": frozenset({"mj-column", "mj-group", "mj-raw"}),
    "mj-group": frozenset({"mj-column", "mj-raw"}),
    "mj-column": _BLOCKS,
    "mj-hero": _BLOCKS,
    "mj-accordion": frozenset({"mj-accordion-element"}),
    "mj-accordion-element": frozenset({"mj-accordion-text", "mj-accordion-title"}),
    "mj-carousel": frozenset({"mj-carousel-image"}),
    "mj-navbar": frozenset({"mj-navbar-link"}),
    "mj-social": frozenset({"mj-social-element"}),
}
_KNOWN = frozenset({*_CHILDREN, *(child for each in _CHILDREN.values() for child in each)})
# Defaults for other tags are written as those tags; two more stand for all and for some.
_DEFAULTS = {"mj-attributes": _KNOWN | {"mj-all", "mj-class"}, "mj-class": _KNOWN}
_ONCE = frozenset({"mj-body", "mj-head", "mjml"})
# HTML is written in these.
# fmt: off
CONTENT = frozenset({
    "mj-accordion-text", "mj-accordion-title", "mj-button", "mj-navbar-link", "mj-preview",
    "mj-raw", "mj-social-element", "mj-style", "mj-table", "mj-text", "mj-title",
})
# fmt: on
# Between the children of these, conditions and loops stay where they are.
# fmt: off
_TAKES_LIQUID = frozenset({
    "mj-accordion", "mj-body", "mj-column", "mj-group", "mj-hero", "mj-navbar", "mj-section",
    "mj-wrapper",
})
# fmt: on


def findings(put_aside: Aside) -> list[Finding]:
    """What is wrong with a text as MJML; empty when it can be rendered."""
    return list(islice(_Reader(put_aside).read(), _MOST_FINDINGS))


def is_mjml(tag: Piece) -> bool:
    return tag.name == "mjml" or tag.name.startswith("mj-")


class _Reader:
    def __init__(self, put_aside: Aside) -> None:
        self._aside, self._text = put_aside, put_aside.marked
        self._opened: list[Piece] = []
        self._seen: set[str] = set()

    def read(self) -> Iterator[Finding]:
        for count, piece in enumerate(walk.pieces(self._text, raw=RAW), start=1):
            if piece.kind is Kind.BROKEN:
                yield bounds.unreadable(self._aside.place(self._text, piece.start))
                return
            if len(self._opened) > bounds.DEEPEST or count > bounds.MOST_ELEMENTS:
                yield bounds.too_complex(self._aside.place(self._text, piece.start))
                return
            yield from self._judged(piece)
        for tag in self._opened:
            yield self._finding(tag, f"Close this <{tag.name}>.")
        if "mj-body" not in self._seen:
            yield Finding("mjml_invalid", "body", "Write <mjml><mj-body>…</mj-body></mjml>.")

    def _judged(self, piece: Piece) -> Iterator[Finding]:
        match piece.kind:
            case Kind.OPENING:
                yield from self._opening(piece)
            case Kind.CLOSING:
                yield from self._closing(piece)
            case Kind.TEXT if self._is_structure():
                yield from self._between(piece)
            case Kind.TEXT if "<" in self._text[piece.start : piece.end]:
                yield self._finding(piece, "Write &lt; for < here.")
            case Kind.RAW:
                yield from self._raw(piece)
            case Kind.DECLARATION:
                yield self._finding(piece, "Leave this out: MJML has no declarations.")
            case _:
                pass

    def _opening(self, tag: Piece) -> Iterator[Finding]:
        misplaced = list(between.in_tag(self._aside, tag))
        yield from misplaced
        remedy = self._place_of(tag) if is_mjml(tag) else self._html_place_of(tag)
        if remedy:
            yield self._finding(tag, remedy)
        elif not misplaced and not _ATTRIBUTES.fullmatch(self._text, tag.attributes, tag.end):
            yield self._finding(tag, 'Write attributes as name="value", with a space before each.')
        self._seen.add(tag.name)
        if tag.name not in walk.VOID and self._text[tag.end - 2] != "/":
            self._opened.append(tag)

    def _place_of(self, tag: Piece) -> str:
        """What to do about an MJML tag; nothing, where it may stand."""
        parent = self._parent()
        allowed = _DEFAULTS.get(parent) or _CHILDREN.get(parent, frozenset())
        if tag.name == "mj-include":
            return "Nothing is included here: write the content in place of this tag."
        if not self._text.startswith(tag.name, tag.start + 1):
            return f"Write <{tag.name}> in small letters."
        if tag.name in _ONCE & self._seen:
            return f"Write <{tag.name}> only once."
        if tag.name in allowed:
            return ""
        places = sorted(place for place, children in _CHILDREN.items() if tag.name in children)
        if not places and tag.name not in _DEFAULTS["mj-attributes"]:
            return f"There is no MJML tag <{tag.name}>; correct its name."
        return f"Put <{tag.name}> into <{'> or <'.join(places or ['mj-attributes'])}>."

    def _html_place_of(self, tag: Piece) -> str:
        return f"Put <{tag.name}> into <mj-text> or <mj-raw>." if self._is_structure() else ""

    def _closing(self, tag: Piece) -> Iterator[Finding]:
        names = [opened.name for opened in self._opened]
        if tag.name not in names:
            yield self._finding(tag, f"Nothing is open that </{tag.name}> could close.")
            return
        while (last := self._opened.pop()).name != tag.name:
            yield self._finding(last, f"Close this <{last.name}> before </{tag.name}>.")

    def _between(self, piece: Piece) -> Iterator[Finding]:
        parent = self._parent()
        written = self._text[piece.start : piece.end]
        if self._aside.mark.sub("", written).strip():
            yield self._finding(piece, "Put text into <mj-text>, <mj-button> or <mj-raw>.")
        is_before = not parent and not self._seen and self._aside.is_silent(written)
        if parent in _TAKES_LIQUID or is_before:
            return
        for mark in self._aside.mark.finditer(written):
            if not self._aside.piece(mark).is_note:
                place = self._aside.place_of(int(mark["number"]))
                remedy = "Put Liquid before <mjml>, between sections or columns, or into a text."
                yield Finding("liquid_misplaced", place, remedy)

    def _raw(self, piece: Piece) -> Iterator[Finding]:
        written = self._text[piece.start : piece.end]
        if "<" in written:
            yield self._finding(piece, f"Write &lt; for < in <{piece.name}>.")
        sheet = self._opened[-1]
        is_inlined = piece.name == "mj-style" and walk.value(self._text, sheet, "inline")
        if is_inlined and any(
            self._aside.piece(mark).is_silent for mark in self._aside.mark.finditer(written)
        ):
            place = self._aside.place(self._text, piece.start)
            remedy = 'A style sheet with Liquid tags cannot be inlined: leave out inline="inline".'
            yield Finding("liquid_misplaced", place, remedy)

    def _parent(self) -> str:
        return self._opened[-1].name if self._opened else ""

    def _is_structure(self) -> bool:
        """Whether only tags of MJML may stand here."""
        parent = self._parent()
        return not parent or (is_mjml(self._opened[-1]) and parent not in CONTENT)

    def _finding(self, piece: Piece, remedy: str) -> Finding:
        return Finding("mjml_invalid", self._aside.place(self._text, piece.start), remedy)
