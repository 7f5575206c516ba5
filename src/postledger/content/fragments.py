"""What stays of a piece of HTML that somebody wrote to be put into our layout."""

import re
from collections.abc import Iterator
from html import unescape

import nh3

from postledger.content import walk
from postledger.content.aside import Aside
from postledger.content.walk import Kind

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
# What a style may say: how something looks, and not where on the page it is.
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
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)


def clean(html: str, *, put_aside: Aside) -> str:
    """The HTML with only what is good in a mail; Liquid stays where it stands."""

    def only_good(_tag: str, name: str, value: str) -> str | None:
        return (_style(value, put_aside) or None) if name == "style" else value

    cleaned = nh3.clean(
        walk.replaced(html, _led_urls(html, put_aside)),
        tags=_TAGS,
        attributes=_ATTRIBUTES,
        attribute_filter=only_good,
        url_schemes=_SCHEMES,
        strip_comments=False,
        link_rel=None,
    )
    ours = _COMMENT.sub(lambda found: found[0] if put_aside.number(found[0]) >= 0 else "", cleaned)
    return put_aside.unhide(ours)


def _led_urls(html: str, put_aside: Aside) -> Iterator[tuple[int, int, str]]:
    """Good addresses with Liquid in them, hidden: a parser would take it for their schemes."""
    for piece in walk.pieces(html):
        for value in walk.attributes(html, piece) if piece.kind is Kind.OPENING else ():
            written = html[value.start : value.end]
            has_liquid = value.name in _URLS and put_aside.mark.search(written)
            if has_liquid and all(map(_is_good, _beginnings(unescape(written), put_aside))):
                yield value.start, value.end, put_aside.hide(written.replace('"', "&quot;"))


def _beginnings(url: str, put_aside: Aside) -> Iterator[str]:
    """The parts that may come first: nothing but Liquid is before them, or a new condition is."""
    at, is_first = 0, True
    for mark in put_aside.mark.finditer(url):
        part = url[at : mark.start()]
        if is_first:
            yield part
        is_first = put_aside.piece(mark).is_silent or (is_first and not part.strip())
        at = mark.end()
    if is_first:
        yield url[at:]


def _is_good(part: str) -> bool:
    found = _SCHEME.match(_CONTROLS.sub("", part))
    if found is None:
        return True
    return found[1].lower() in _SCHEMES if found[1] else part.startswith("://")


def _style(value: str, put_aside: Aside) -> str:
    kept = list[str]()
    for declaration in value.split(";"):
        name, _, said = put_aside.mark.sub("", declaration).partition(":")
        is_good = _PROPERTIES.fullmatch(name.strip().lower()) and not _ACTIVE.search(said.lower())
        if is_good or not name.strip():
            kept.append(declaration.strip())
        else:
            # Without its tags, a block of Liquid would lose its end.
            kept += (mark[0] for mark in put_aside.mark.finditer(declaration))
    return ";".join(filter(None, kept))
