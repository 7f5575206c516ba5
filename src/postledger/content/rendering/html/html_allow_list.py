"""The elements, attributes, URL schemes and styles that a mail may have; all others are refused.

The list lets through what MJML and the usual builders make, with Outlook's conditions and VML.
Scripts, event handlers and javascript: URLs are left to `checks`, which has codes of their own for
them. The time is linear in the text.
"""

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from postledger.content.rendering.html import html_tokens
from postledger.content.rendering.html.html_tokens import Attribute, Kind, Token
from postledger.lib.sentences import say

# fmt: off
ELEMENTS = frozenset({
    "a", "abbr", "acronym", "address", "area", "article", "aside", "audio", "b", "bdi", "bdo",
    "big", "blockquote", "body", "br", "caption", "center", "cite", "code", "col", "colgroup",
    "data", "dd", "del", "details", "dfn", "dir", "div", "dl", "dt", "em", "figcaption", "figure",
    "font", "footer", "h1", "h2", "h3", "h4", "h5", "h6", "head", "header", "hgroup", "hr", "html",
    "i", "img", "input", "ins", "kbd", "label", "li", "link", "main", "map", "mark", "menu",
    "meta", "nav", "nobr", "noscript", "ol", "p", "picture", "pre", "q", "rp", "rt", "ruby", "s",
    "samp", "section", "small", "source", "span", "strike", "strong", "style", "sub", "summary",
    "sup", "table", "tbody", "td", "tfoot", "th", "thead", "time", "title", "tr", "track", "tt",
    "u", "ul", "var", "video", "wbr", "xml",
})
# Word, which shows mail in Outlook, reads these in conditional comments.
_OFFICE_ELEMENT = re.compile(r"(?:[movw]|st1):[a-z0-9]++")
ATTRIBUTES = frozenset({
    "abbr", "align", "alink", "alt", "autoplay", "axis", "background", "bgcolor", "border",
    "bordercolor", "bordercolordark", "bordercolorlight", "bottommargin", "cellpadding",
    "cellspacing", "char", "charoff", "charset", "checked", "cite", "class", "clear",
    "clicktracking", "color", "colspan", "compact", "content", "controls", "coords",
    "crossorigin", "datetime", "decoding", "dir", "disable-tracking", "face", "fetchpriority",
    "for", "frame", "headers", "height", "hidden", "href", "hreflang", "hspace", "http-equiv",
    "id", "itemid", "itemprop", "itemref", "itemscope", "itemtype", "kind", "label", "lang",
    "leftmargin", "link", "loading", "longdesc", "loop", "marginheight", "marginwidth", "media",
    "muted", "name", "no-track", "nohref", "noshade", "notrack", "nowrap", "on", "open",
    "playsinline", "poster", "preload", "profile", "property", "referrerpolicy", "rel", "rev",
    "reversed", "rightmargin", "role", "rowspan", "rules", "scheme", "scope", "shape", "size",
    "sizes", "span", "src", "srclang", "srcset", "start", "style", "summary", "tabindex",
    "target", "text", "title", "topmargin", "translate", "type", "typeof", "unselectable",
    "usemap", "valign", "value", "version", "vertical-align", "vlink", "vocab", "vspace", "width",
    "xmlns", "yahoo",
    # of VML
    "adj", "adjustments", "allowincell", "alignshape", "angle", "arcsize", "aspect", "color2",
    "colors", "coordorigin", "coordsize", "cropbottom", "cropleft", "cropright", "croptop",
    "dashstyle", "endcap", "ext", "fill", "fillcolor", "filled", "fitpath", "fitshape", "focus",
    "focusposition", "focussize", "from", "gradientshapeok", "inset", "joinstyle", "linestyle",
    "method", "offset", "opacity", "origin", "path", "position", "recolor", "rotate", "spid",
    "string", "stroke", "strokecolor", "stroked", "strokeweight", "textboxrect", "to", "trim",
    "weight", "wrapcoords",
})
_ATTRIBUTE_PREFIXES = (
    "aria-", "data-", "esd-", "esdev-", "mc:", "o:", "ses:", "v:", "w:", "xml:", "xmlns:",
)
# fmt: on
_STRAY = re.compile(r"[\"',;/]++")  # what is left of a mistyped attribute means nothing

LINK_SCHEMES = frozenset(
    {"http", "https", "mailto", "tel", "sms", "callto", "facetime", "geo", "mid", "skype"}
    | {"tg", "viber", "webcal", "whatsapp"}
)
_LINKS = frozenset(
    {"cite", "href", "itemid", "itemtype", "longdesc", "profile", "usemap"}
    | {"o:href", "v:href", "w:href"}
)
_PICTURES = frozenset({"background", "o:src", "poster", "src", "v:src", "w:src"})
_PICTURE_URL = re.compile(
    r"(?:https?|cid):|data:image/(?:bmp|gif|jpe?g|png|webp|x-icon|vnd\.microsoft\.icon)[;,]"
)
_FONT_URL = re.compile(r"data:(?:font/|application/(?:x-)?font-)")
_SCHEME = re.compile(r"([a-z][a-z0-9+.\-]*+):")
_IGNORED = re.compile(r"[\x00-\x20]+")
_CANDIDATE = re.compile(r"(?:^|,)\s*+([^\s,]\S*+)")

_METAS = frozenset(
    {"cleartype", "content-language", "content-style-type", "content-type", "imagetoolbar"}
    | {"msthemecompatible", "x-dns-prefetch-control", "x-ua-compatible"}
)
_RELATIONS = frozenset(
    {"alternate", "apple-touch-icon", "canonical", "dns-prefetch", "icon", "preconnect"}
    | {"preload", "shortcut", "stylesheet"}
)
_INPUTS = frozenset({"checkbox", "radio"})  # without a form they only switch styles

_REMEDIES = {
    **dict.fromkeys(
        ("applet", "embed", "frame", "frameset", "iframe", "object", "portal"),
        say(
            "no mail program shows another page inside a mail. Link to it, or show a picture of it."
        ),
    ),
    **dict.fromkeys(
        ("button", "form", "input", "isindex", "keygen", "select", "textarea"),
        say("many mail programs block forms or warn of them. Link to a page with the form."),
    ),
    **dict.fromkeys(
        ("math", "svg"), say("few mail programs show it. Use a picture, such as a PNG.")
    ),
    "base": say("it changes where every link leads. Write each link in full."),
}
_UNKNOWN = say("it is no element of a mail. Where it is meant as text, write &lt; for <.")


@dataclass(frozen=True, slots=True)
class Refusal:
    code: str
    offset: int
    remedy: str


def find_refused(html: str) -> Iterator[Refusal]:
    """Everything in a mail that is not on the list."""
    if not _is_known_to_be_fine(html):
        for tag in html_tokens.tags_of_every_reading(html):
            if tag.kind is Kind.BROKEN:
                remedy = say("Close every tag and quote, and write &lt; for < inside attributes.")
                yield Refusal("markup_unreadable", tag.start, remedy)
            else:
                yield from _judge_tag(html, tag)
    for start, end in _style_sheets(html):
        yield from _judge_style(html[start:end], start)


# Mails of one kind have the same tags: each is judged once. The text of a tag here ends at the
# first >, so a tag that some program could read in another way is never among them.
_TAG = re.compile(r"<([a-zA-Z][^<>]*+>?)")
_PLAIN = re.compile(
    r"""
    [a-z] [^\t\n\f\r />"'=]*+
    (?:
        [\t\n\f\r /]++ [^\t\n\f\r />"'=]++
        (?: = (?: "[^"]*+" | '[^']*+' | [^\t\n\f\r />"'=`]++ ) )?+
    )*+
    [\t\n\f\r /]*+ >
    """,
    re.IGNORECASE | re.VERBOSE,
)
_LONGEST_REMEMBERED = 1_000
_MOST_REMEMBERED = 20_000
_fine: set[str] = set()


def is_plain(html: str) -> bool:
    """Whether every program reads its tags in the same way; any other HTML takes long to check."""
    return all(map(_PLAIN.fullmatch, set(_TAG.findall(html))))


def _is_known_to_be_fine(html: str) -> bool:
    unknown = set(_TAG.findall(html)) - _fine
    for text in unknown:
        if not _PLAIN.fullmatch(text):
            return False
        [tag] = html_tokens.tags_of_every_reading(f"<{text}")
        if any(_judge_tag(f"<{text}", tag)):
            return False
        if len(_fine) >= _MOST_REMEMBERED:
            _fine.clear()
        if len(text) <= _LONGEST_REMEMBERED:
            _fine.add(text)
    return True


def _judge_tag(html: str, tag: Token) -> Iterator[Refusal]:
    name = tag.name
    if name.rpartition(":")[2] == "script":
        return
    attributes = list(html_tokens.attributes(html, tag))
    if not (name in ELEMENTS or _OFFICE_ELEMENT.fullmatch(name)) or (
        name == "input" and not _INPUTS.issuperset(_values(html, attributes, "type") or [""])
    ):
        reason = _REMEDIES.get(name, _UNKNOWN)
        yield Refusal(
            "element_refused",
            tag.start,
            say("Remove the element %(name)s: %(reason)s", name=name[:40], reason=reason),
        )
        return
    yield from _judge_head(html, tag, attributes)
    for attribute in attributes:
        yield from _judge_attribute(html, tag, attribute)


def _values(html: str, attributes: Iterable[Attribute], name: str) -> list[str]:
    """All values of one attribute: of two, HTML takes the first, and other programs the last."""
    return [attribute.decoded(html).lower() for attribute in attributes if attribute.name == name]


def _judge_head(html: str, tag: Token, attributes: Sequence[Attribute]) -> Iterator[Refusal]:
    """The two elements that mean something else with each value of an attribute."""
    meanings = _values(html, attributes, "http-equiv") if tag.name == "meta" else ()
    if not _METAS.issuperset(meaning.strip() for meaning in meanings):
        remedy = say("Remove the meta element: a mail cannot lead to another page or set rules.")
        yield Refusal("element_refused", tag.start, remedy)
    relations = " ".join(_values(html, attributes, "rel") if tag.name == "link" else ())
    if not _RELATIONS.issuperset(relations.split()):
        remedy = say("Remove the link element: only style sheets and icons can be linked.")
        yield Refusal("element_refused", tag.start, remedy)


def _judge_attribute(html: str, tag: Token, attribute: Attribute) -> Iterator[Refusal]:
    name = attribute.name
    if name.startswith("on") and name != "on":
        return
    if not (name in ATTRIBUTES or name.startswith(_ATTRIBUTE_PREFIXES) or _STRAY.fullmatch(name)):
        remedy = say(
            "Remove the attribute %(name)s of %(element)s: mails need none of this name.",
            name=name[:40],
            element=tag.name,
        )
        yield Refusal("attribute_refused", tag.start, remedy)
    elif name == "style":
        yield from _judge_style(attribute.decoded(html), tag.start)
    else:
        urls = _urls(name, attribute.decoded(html).lower())
        if not all(_is_allowed_url(name, url) for url in urls):
            yield Refusal("url_refused", tag.start, _URL_REMEDY)


_URL_REMEDY = say(
    "Begin links with https:, mailto:, tel: or sms:, and the addresses of pictures with"
    " https:, cid: or data:image/png."
)


def _urls(name: str, value: str) -> Iterator[str]:
    if name in _LINKS or name in _PICTURES:
        yield _IGNORED.sub("", value)
    elif name == "srcset":
        yield from (match[1] for match in _CANDIDATE.finditer(value))


def _is_allowed_url(name: str, url: str) -> bool:
    scheme = _SCHEME.match(url)
    if scheme is None or scheme[1] == "javascript":
        return True
    return scheme[1] in LINK_SCHEMES if name in _LINKS else bool(_PICTURE_URL.match(url))


_STYLE = re.compile(r"<[sS][tT][yY][lL][eE]\b[^>]*+>?")
_STYLE_END = re.compile(r"</style(?=[\s/>])", re.IGNORECASE)
_COMMENT = re.compile(r"/\*(?:[^*]++|\*(?!/))*+(?:\*/)?+")
_ESCAPE = re.compile(r"\\(?:([0-9a-f]{1,6})\s?|(.))", re.DOTALL)
_ACTIVE = re.compile(
    r"expression\s*+\(|-moz-binding|behaviou?r\s*+:\s*+(?!url\(\s*+[\"']?+#default#)"
)
_STYLE_URL = re.compile(r"(?:url\(|@import)\s*+[\"']?+\s*+([a-z][a-z0-9+.\-]*+:[^\s\"')]{0,60})")


def _style_sheets(html: str) -> Iterator[tuple[int, int]]:
    """Where the contents of style elements begin and end; one without an end takes all."""
    at = 0
    while match := _STYLE.search(html, at):
        end = _STYLE_END.search(html, match.end())
        at = end.start() if end else len(html)
        yield match.end(), at


def _judge_style(css: str, offset: int) -> Iterator[Refusal]:
    """What a style could run or load."""
    text = css.lower()
    # What looks like a comment inside a string is none.
    readings = (text, _COMMENT.sub("", text)) if "/*" in text else (text,)
    for reading in readings:
        yield from _judge_reading(_ESCAPE.sub(_decode_escape, reading), offset)


def _judge_reading(text: str, offset: int) -> Iterator[Refusal]:
    if match := _ACTIVE.search(text):
        remedy = say(
            "Remove %(written)s from the style: old programs run what stands there.",
            written=match[0],
        )
        yield Refusal("style_refused", offset, remedy)
    for match in _STYLE_URL.finditer(text):
        url = match[1]
        is_allowed = _PICTURE_URL.match(url) or _FONT_URL.match(url)
        if not is_allowed and not url.startswith("javascript:"):
            yield Refusal("url_refused", offset, _URL_REMEDY)


def _decode_escape(match: re.Match[str]) -> str:
    number = int(match[1], 16) if match[1] else 0
    return match[2] or (chr(number) if number <= sys.maxunicode else "")
