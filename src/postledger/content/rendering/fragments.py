"""Cleans a fragment of HTML that goes into our layout."""

import re
from collections.abc import Iterator

import nh3

from postledger.content.rendering.html import html_tokens
from postledger.content.rendering.html.html_tokens import Kind
from postledger.content.rendering.liquid.liquid_markers import MarkedText

_SCHEMES = frozenset({"cid", "http", "https", "mailto", "sms", "tel"})
# fmt: off
_TAGS = frozenset({
    "a", "abbr", "b", "big", "blockquote", "br", "caption", "center", "cite", "code", "col",
    "colgroup", "dd", "del", "div", "dl", "dt", "em", "figcaption", "figure", "font", "h1", "h2",
    "h3", "h4", "h5", "h6", "hr", "i", "img", "ins", "kbd", "li", "mark", "ol", "p", "pre", "q",
    "s", "samp", "small", "span", "strike", "strong", "sub", "sup", "table", "tbody", "td", "tfoot",
    "th", "thead", "tr", "tt", "u", "ul", "var", "wbr",
})
# fmt: on
_CELL = frozenset({"abbr", "bgcolor", "colspan", "height", "rowspan", "scope", "valign", "width"})
_ATTRIBUTES = {
    "*": frozenset({"align", "aria-hidden", "aria-label", "dir", "lang", "role", "style", "title"}),
    "a": frozenset({"href", "name", "target"}),
    "col": frozenset({"span", "width"}),
    "colgroup": frozenset({"span", "width"}),
    "font": frozenset({"color", "face", "size"}),
    "hr": frozenset({"size", "width"}),
    "img": frozenset({"alt", "border", "height", "src", "width"}),
    "li": frozenset({"value"}),
    "ol": frozenset({"reversed", "start", "type"}),
    "table": frozenset({"bgcolor", "border", "cellpadding", "cellspacing", "height", "width"}),
    "td": _CELL,
    "th": _CELL,
    "tr": frozenset({"bgcolor", "valign"}),
    "ul": frozenset({"type"}),
}
# The properties that a style may set: the look of an element, and not its position.
_PROPERTIES = re.compile(
    r"background(?:-color)?|border(?:-[a-z-]+)?|clear|color|direction|display|float"
    r"|font(?:-[a-z]+)?|height|letter-spacing|line-height|list-style(?:-type)?|margin(?:-[a-z]+)?"
    r"|max-height|max-width|min-height|min-width|mso-[a-z-]+|padding(?:-[a-z]+)?|table-layout"
    r"|text-[a-z-]+|vertical-align|white-space|width|word-(?:break|spacing|wrap)"
)
_ACTIVE = re.compile(r"expression\s*\(|url\s*\(|\\")
_URLS = frozenset({"href", "src"})
# A scheme, or the end of one that Liquid begins; of pages it may be the whole.
_SCHEME = re.compile(r"\s*+([a-z][a-z0-9+.-]*+)?:", re.IGNORECASE)
_CONTROLS = re.compile(r"[\x00-\x1f]")


def clean(html: str, *, marked: MarkedText) -> str:
    """The HTML with only the tags and attributes that suit a mail; Liquid stays in place."""

    def filter_style(_tag: str, name: str, value: str) -> str | None:
        return (_style(value, marked) or None) if name == "style" else value

    cleaned = nh3.clean(
        html_tokens.replace_parts(html, _hide_urls(html, marked)),
        tags=_TAGS,
        attributes=_ATTRIBUTES,
        attribute_filter=filter_style,
        url_schemes=_SCHEMES,
        strip_comments=False,
        link_rel=None,
    )
    authors = (
        (token.start, token.end, "")
        for token in html_tokens.tokenize(cleaned)
        if token.kind is Kind.COMMENT and marked.number(cleaned[token.start : token.end]) < 0
    )
    return marked.unhide(html_tokens.replace_parts(cleaned, authors))


def _hide_urls(html: str, marked: MarkedText) -> Iterator[tuple[int, int, str]]:
    """Hides good URLs with Liquid in them: a parser would take the Liquid for their scheme."""
    for token in html_tokens.tokenize(html):
        for value in html_tokens.attributes(html, token) if token.kind is Kind.OPENING else ():
            written = html[value.start : value.end]
            has_liquid = value.name in _URLS and marked.marker.search(written)
            if not has_liquid:
                continue
            if all(map(_has_good_scheme, _beginnings(html_tokens.decode(written), marked))):
                yield value.start, value.end, marked.hide(written.replace('"', "&quot;"))


def _beginnings(url: str, marked: MarkedText) -> Iterator[str]:
    """The parts that may begin the URL: only Liquid, or a new condition, is before them."""
    at, is_first = 0, True
    for mark in marked.marker.finditer(url):
        part = url[at : mark.start()]
        if is_first:
            yield part
        is_first = marked.tag(mark).is_silent or (is_first and not part.strip())
        at = mark.end()
    if is_first:
        yield url[at:]


def _has_good_scheme(part: str) -> bool:
    match = _SCHEME.match(_CONTROLS.sub("", part))
    if match is None:
        return True
    return match[1].lower() in _SCHEMES if match[1] else part.startswith("://")


def _style(value: str, marked: MarkedText) -> str:
    kept = list[str]()
    for declaration in value.split(";"):
        name, _, content = marked.marker.sub("", declaration).partition(":")
        is_good = _PROPERTIES.fullmatch(name.strip().lower()) and not _ACTIVE.search(
            content.lower()
        )
        if is_good or not name.strip():
            kept.append(declaration.strip())
        else:
            # Without this tag, a block of Liquid would have no end.
            kept += (mark[0] for mark in marked.marker.finditer(declaration))
    return ";".join(filter(None, kept))
