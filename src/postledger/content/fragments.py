"""What stays of a piece of HTML that somebody wrote to be put into our layout."""

import re
from collections.abc import Iterator

import nh3

from postledger.content.aside import Aside

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
_ACTIVE = re.compile(r"expression\s*\(|url\s*\(|\\\\")
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)


def clean(html: str, *, put_aside: Aside) -> str:
    """The HTML with only what is good in a mail; Liquid stays where it stands."""

    def only_good(_tag: str, name: str, value: str) -> str | None:
        return (_style(value, put_aside) or None) if name == "style" else value

    cleaned = nh3.clean(
        html,
        tags=_TAGS,
        attributes=_ATTRIBUTES,
        attribute_filter=only_good,
        url_schemes=_SCHEMES.union(_led_schemes(html, put_aside)),
        strip_comments=False,
        link_rel=None,
    )
    return _COMMENT.sub(lambda found: found[0] if put_aside.is_comment(found[0]) else "", cleaned)


def _led_schemes(html: str, put_aside: Aside) -> Iterator[str]:
    """The schemes of addresses before which Liquid stands: the parser takes it for a part."""
    named = "|".join(sorted(_SCHEMES))
    led = rf"(?:{put_aside.mark.pattern.replace('?P<number>', '?:')})++(?:(?:{named})(?=:)|(?=://))"
    return (found[0].lower() for found in re.finditer(led, html, re.IGNORECASE))


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
