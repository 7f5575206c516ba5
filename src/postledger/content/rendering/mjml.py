"""MJML: which tags there are and where each may stand, and the HTML that it becomes."""

import re
from collections.abc import Iterator, Mapping
from html import escape
from itertools import islice

import mrml

from postledger.content.rendering import html_limits, styles
from postledger.content.rendering.html import html_tokens
from postledger.content.rendering.html.checks import MOST_FINDINGS, Finding
from postledger.content.rendering.html.html_tokens import Kind, Token
from postledger.content.rendering.liquid import liquid_markers, liquid_placement
from postledger.content.rendering.liquid.liquid_markers import MarkedText
from postledger.lib.sentences import say

_PARSER = mrml.ParserOptions(include_loader=mrml.memory_loader({}))
# By itself, mrml has every reader fetch its default font from Google.
_RENDERER = mrml.RenderOptions(fonts={})
# fmt: off
RAW = frozenset({
    "mj-accordion-title", "mj-preview", "mj-style", "mj-title", "script", "style", "textarea",
    "title",
})
# fmt: on

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
_OWN_BODY = re.compile(r"<(?:caption|colgroup|tbody|tfoot|thead)\b", re.IGNORECASE)


def render(marked: MarkedText, *, locale: str) -> str | Finding:
    """The document of valid MJML, with marks still in place of the Liquid."""
    written = html_tokens.replace_parts(marked.text, _prepared(marked, locale))
    covered = styles.hide_styles(written, marked=marked, raw=RAW)
    start = covered.index("<mjml")
    try:
        html = mrml.to_html(covered[start:], _PARSER, _RENDERER).content
    except OSError as error:
        # The rules accept values that are not CSS.
        remedy = say(
            "This cannot be rendered: %(error)s. Check the values of the attributes.",
            error=f"{error}",
        )
        return Finding("mjml_invalid", "body", remedy)
    return covered[:start].strip() + html


def find_lost(html: str, *, marked: MarkedText) -> Iterator[Finding]:
    """The Liquid that mrml dropped: it computes with some values, and ignores others."""
    kept = {int(mark["number"]) for mark in marked.marker.finditer(html)}
    remedy = say("MJML does not pass this on. Put it into a text, a link, a colour or an address.")
    for number, tag in enumerate(marked.tags):
        if number not in kept and not tag.is_note:
            yield Finding("liquid_misplaced", marked.place_of(number), remedy)


def find_second_preheader(marked: MarkedText) -> Iterator[Finding]:
    """The <mj-preview> of a text that has a preheader already."""
    remedy = say("The mail has a preheader already: remove <mj-preview>, or the preheader.")
    for token in html_tokens.tokenize(marked.text, raw=RAW):
        if token.kind is Kind.OPENING and token.name == "mj-preview":
            yield Finding("preheader_twice", marked.place(marked.text, token.start), remedy)


def _prepared(marked: MarkedText, locale: str) -> Iterator[tuple[int, int, str]]:
    """The changes that make mrml keep the text as it is."""
    text, last, is_wrapped = marked.text, Token(Kind.CLOSING, 0, 0, "mjml"), False
    for token in html_tokens.tokenize(text, raw=RAW):
        written = text[token.start : token.end]
        is_structure = _is_structure(text, last)
        if token.kind is Kind.TEXT:
            # mrml dies of a > behind a character of three bytes, and of the end of a CDATA part.
            new = liquid_placement.comment_text(
                written.replace(">", "&gt;"), marked, is_structure=is_structure
            )
            yield token.start, token.end, new
        elif token.kind is Kind.COMMENT:
            new = "" if is_structure else liquid_markers.comment(marked.hide(written))
            yield token.start, token.end, new
        elif token.kind is Kind.OPENING:
            yield from _opening(text, token, locale)
            if token.name == "mj-table":
                is_wrapped = not _OWN_BODY.search(
                    text, token.end, text.find("</mj-table", token.end)
                )
                yield token.end, token.end, "<tbody>" if is_wrapped else ""
            last = token
        elif token.kind is Kind.CLOSING:
            if token.name == "mj-table" and is_wrapped:
                yield token.start, token.start, "</tbody>"
            last = token


def _opening(text: str, tag: Token, locale: str) -> Iterator[tuple[int, int, str]]:
    if tag.name == "mjml" and not html_tokens.value(text, tag, "lang"):
        lang = escape(locale.replace("_", "-"))
        new = f' lang="{lang}" dir="{styles.direction(locale)}"'
        yield tag.attributes, tag.attributes, new
    for value in html_tokens.attributes(text, tag):
        if value.has_value:
            # mrml would write a quote inside as \", which ends the value.
            new = text[value.start : value.end].replace('"', "&quot;")
            yield value.start - 1, value.end + 1, f'"{new}"'


def _is_structure(text: str, last: Token) -> bool:
    """Whether only other tags may follow a tag, and no text."""
    if not _is_mjml(last):
        return liquid_placement.is_structure(last)
    is_open = last.kind is Kind.OPENING and text[last.end - 2] != "/"
    return not is_open or last.name == "mj-table" or last.name not in CONTENT


def findings(marked: MarkedText) -> list[Finding]:
    """The problems of a text as MJML; empty when it can be rendered."""
    return list(islice(_Rules(marked).check(), MOST_FINDINGS))


def _is_mjml(tag: Token) -> bool:
    return tag.name == "mjml" or tag.name.startswith("mj-")


class _Rules:
    def __init__(self, marked: MarkedText) -> None:
        self._marked, self._text = marked, marked.text
        self._opened: list[Token] = []
        self._seen: set[str] = set()

    def check(self) -> Iterator[Finding]:
        for count, token in enumerate(html_tokens.tokenize(self._text, raw=RAW), start=1):
            if token.kind is Kind.BROKEN:
                yield html_limits.unreadable(self._marked.place(self._text, token.start))
                return
            if len(self._opened) > html_limits.DEEPEST or count > html_limits.MOST_ELEMENTS:
                yield html_limits.too_complex(self._marked.place(self._text, token.start))
                return
            yield from self._check_token(token)
        for tag in self._opened:
            yield self._finding(tag, say("Close this <%(name)s>.", name=tag.name))
        if "mj-body" not in self._seen:
            yield Finding("mjml_invalid", "body", say("Write <mjml><mj-body>…</mj-body></mjml>."))

    def _check_token(self, token: Token) -> Iterator[Finding]:
        match token.kind:
            case Kind.OPENING:
                yield from self._opening(token)
            case Kind.CLOSING:
                yield from self._closing(token)
            case Kind.TEXT if self._is_structure():
                yield from self._between(token)
            case Kind.TEXT if "<" in self._text[token.start : token.end]:
                yield self._finding(token, say("Write &lt; for < here."))
            case Kind.RAW:
                yield from self._raw(token)
            case Kind.DECLARATION:
                yield self._finding(token, say("Remove this: MJML has no declarations."))
            case _:
                pass

    def _opening(self, tag: Token) -> Iterator[Finding]:
        misplaced = list(liquid_placement.find_in_tag(self._marked, tag))
        yield from misplaced
        remedy = self._mjml_remedy(tag) if _is_mjml(tag) else self._html_remedy(tag)
        if remedy:
            yield self._finding(tag, remedy)
        elif not misplaced and not _ATTRIBUTES.fullmatch(self._text, tag.attributes, tag.end):
            yield self._finding(
                tag, say('Write attributes as name="value", with a space before each.')
            )
        self._seen.add(tag.name)
        if tag.name not in html_tokens.VOID and self._text[tag.end - 2] != "/":
            self._opened.append(tag)

    def _mjml_remedy(self, tag: Token) -> str:
        """The remedy for an MJML tag; empty where it may stand."""
        parent = self._parent()
        allowed = _DEFAULTS.get(parent) or _CHILDREN.get(parent, frozenset())
        if tag.name == "mj-include":
            return say("Nothing is included here: write the content in place of this tag.")
        if not self._text.startswith(tag.name, tag.start + 1):
            return say("Write <%(name)s> in lowercase.", name=tag.name)
        if tag.name in _ONCE & self._seen:
            return say("Write <%(name)s> only once.", name=tag.name)
        if tag.name in allowed:
            return ""
        places = sorted(place for place, children in _CHILDREN.items() if tag.name in children)
        if not places and tag.name not in _DEFAULTS["mj-attributes"]:
            return say("There is no MJML tag <%(name)s>; correct its name.", name=tag.name)
        return say(
            "Put <%(name)s> into <%(places)s>.",
            name=tag.name,
            places="> or <".join(places or ["mj-attributes"]),
        )

    def _html_remedy(self, tag: Token) -> str:
        return (
            say("Put <%(name)s> into <mj-text> or <mj-raw>.", name=tag.name)
            if self._is_structure()
            else ""
        )

    def _closing(self, tag: Token) -> Iterator[Finding]:
        names = [opened.name for opened in self._opened]
        if tag.name not in names:
            yield self._finding(
                tag, say("Remove </%(name)s>: no such tag is open here.", name=tag.name)
            )
            return
        while (last := self._opened.pop()).name != tag.name:
            yield self._finding(
                last,
                say("Close this <%(name)s> before </%(outer)s>.", name=last.name, outer=tag.name),
            )

    def _between(self, token: Token) -> Iterator[Finding]:
        parent = self._parent()
        written = self._text[token.start : token.end]
        if self._marked.marker.sub("", written).strip():
            yield self._finding(token, say("Put text into <mj-text>, <mj-button> or <mj-raw>."))
        is_before = not parent and not self._seen and self._marked.is_silent(written)
        if parent in _TAKES_LIQUID or is_before:
            return
        for mark in self._marked.marker.finditer(written):
            if not self._marked.tag(mark).is_note:
                place = self._marked.place_of(int(mark["number"]))
                remedy = say(
                    "Put Liquid before <mjml>, between sections or columns, or into a text."
                )
                yield Finding("liquid_misplaced", place, remedy)

    def _raw(self, token: Token) -> Iterator[Finding]:
        written = self._text[token.start : token.end]
        if "<" in written:
            yield self._finding(token, say("In <%(name)s>, write &lt; for <.", name=token.name))
        sheet = self._opened[-1]
        is_inlined = token.name == "mj-style" and html_tokens.value(self._text, sheet, "inline")
        if is_inlined and any(
            self._marked.tag(mark).is_silent for mark in self._marked.marker.finditer(written)
        ):
            place = self._marked.place(self._text, token.start)
            remedy = say(
                'A style sheet with Liquid tags cannot be inlined: leave out inline="inline".'
            )
            yield Finding("liquid_misplaced", place, remedy)

    def _parent(self) -> str:
        return self._opened[-1].name if self._opened else ""

    def _is_structure(self) -> bool:
        """Whether only tags of MJML may stand here."""
        parent = self._parent()
        return not parent or (_is_mjml(self._opened[-1]) and parent not in CONTENT)

    def _finding(self, token: Token, remedy: str) -> Finding:
        return Finding("mjml_invalid", self._marked.place(self._text, token.start), remedy)
