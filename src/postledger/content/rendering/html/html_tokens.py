"""The tokens of an HTML or MJML text.

`tokenize` reads a text as today's parsers do, which is enough where texts are made into mails.
`tags_of_every_reading` finds every tag that any mail program might see, which decides whether a
mail may be sent: programs disagree about where comments, raw text and broken tags end, and so do
the versions of html.parser, which is why it is not used. The time of both is linear in the text.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum, auto
from functools import cached_property
from html import unescape

# Elements whose content is text up to their end tag, whatever it looks like.
# fmt: off
RAW = frozenset({
    "iframe", "noembed", "noframes", "plaintext", "script", "style", "textarea", "title", "xmp",
})
VOID = frozenset({
    "area", "base", "basefont", "bgsound", "br", "col", "embed", "frame", "hr", "img", "input",
    "keygen", "link", "meta", "param", "source", "track", "wbr",
})
# fmt: on

_MOST_ATTRIBUTES = 200
_MOST_READINGS = 16
_FLAGS = re.ASCII | re.DOTALL | re.IGNORECASE | re.VERBOSE
# The HTML standard's own rules for a start tag. Possessive repeats: nothing is read twice.
_NAME = r"[\t\n\f\r /]*+ ({0}[^\t\n\f\r />] [^\t\n\f\r />=]*+) [\t\n\f\r ]*+"
_VALUE = r"""= [\t\n\f\r ]*+ ({0}"[^"]*+" | '[^']*+' | {1}[^\t\n\f\r >]*+)"""
_ATTRIBUTE = re.compile(f"{_NAME} (?: {_VALUE} )?+".format("", ""), re.VERBOSE)
# Here a quote without an end makes the tag broken; in some programs it is part of a value.
_STRICT = f"(?: {_NAME} (?: {_VALUE} | (?!=) ) )".format("?:", "(?![\"'])")
_LENIENT = f"(?: {_NAME} (?: {_VALUE} )?+ )".format("?:", "")
_TAG = rf"""
    (?P<name>[a-z][^\t\n\f\r />]*+)
    (?P<attributes>%s{{0,{_MOST_ATTRIBUTES}}}+) [\t\n\f\r /]*+ >
"""
_TOKEN = re.compile(
    rf"""
    < (?=[a-z!?/]) (?:
        !-- (?P<comment> -?> | .*?--!?> )
        | (?P<declaration> !(?!--) | \? | /[^a-z>] ) [^>]*+ >
        | (?P<closing>/?) {_TAG % _STRICT}
        | (?P<broken>[a-z!?] | /[^>])
    )
    """,
    _FLAGS,
)
_ANY_TAG = re.compile(rf"< (?: {_TAG % _LENIENT} | (?P<broken>[a-z]) )", _FLAGS)
_LINE_END = re.compile("\n")
_INSIDE = re.compile(r"<[a-z]", re.ASCII | re.IGNORECASE)
# A character by its number: Python reads no number of more than 4,300 digits.
_LEADING_ZEROS = re.compile(r"&#0++(?=[0-9])")
_NO_CHARACTER = re.compile(r"&#[0-9]{8,}+;?+")


class Kind(Enum):
    TEXT = auto()
    OPENING = auto()
    CLOSING = auto()
    COMMENT = auto()
    DECLARATION = auto()  # <!doctype>, <![if mso]>, <?xml?>
    RAW = auto()  # the content of an element of RAW
    BROKEN = auto()  # a tag or a comment without an end; nothing comes after it


@dataclass(frozen=True, slots=True)
class Token:
    kind: Kind
    start: int
    end: int
    name: str = ""  # of a tag, or of the element whose content this is
    attributes: int = 0  # where they begin


@dataclass(frozen=True, slots=True)
class Attribute:
    name: str
    start: int  # of its value, without quotes
    end: int
    is_quoted: bool

    @property
    def has_value(self) -> bool:
        return self.is_quoted or self.end > self.start

    def decoded(self, text: str) -> str:
        return decode(text[self.start : self.end])


class LineNumbers:
    """The line of every offset of a text; its line ends are searched once, when they are needed."""

    def __init__(self, text: str) -> None:
        self._text = text

    def at(self, offset: int) -> int:
        return bisect_left(self._ends, offset) + 1

    @cached_property
    def _ends(self) -> list[int]:
        return [end.start() for end in _LINE_END.finditer(self._text)]


def decode(text: str) -> str:
    """The text with characters in place of references such as &amp; and &#65;."""
    if "&#" in text:
        text = _NO_CHARACTER.sub("\ufffd", _LEADING_ZEROS.sub("&#", text))
    return unescape(text)


def tokenize(text: str, *, raw: frozenset[str] = RAW) -> Iterator[Token]:
    """All of the text, in order and without gaps, up to a broken token."""
    at = 0
    while match := _TOKEN.search(text, at):
        if match.start() > at:
            yield Token(Kind.TEXT, at, match.start())
        token = _token(match)
        yield token
        at = token.end
        if token.kind is Kind.OPENING and token.name in raw and not _is_self_closed(text, token):
            end = _raw_end(text, token)
            kind, at = (Kind.RAW, end) if end >= 0 else (Kind.BROKEN, len(text))
            yield Token(kind, token.end, at, token.name)
    if at < len(text):
        yield Token(Kind.TEXT, at, len(text))


def tags_of_every_reading(html: str) -> Iterator[Token]:
    """Every opening tag of every reading; a broken token where there are too many readings.

    A reading starts at the beginning and inside each tag that contains another one. It stops
    where it meets an earlier one, because from there on they agree, and at a tag without an end.
    """
    starts = [0]
    seen: set[int] = set()
    readings = 0
    for start in starts:
        for number, match in enumerate(_ANY_TAG.finditer(html, start)):
            if match.start() in seen:
                break
            readings += number == 0
            # A quote is never closed: some programs drop all text behind it, others go on behind
            # the next >.
            hides_more = match["broken"] and html.find(">", match.end()) >= 0
            if readings > _MOST_READINGS or hides_more:
                yield Token(Kind.BROKEN, match.start(), len(html))
                return
            if match["broken"]:
                break
            seen.add(match.start())
            inside = _INSIDE.search(html, match.end("name"), match.end())
            if inside is not None:
                starts.append(inside.start())
            yield _tag(match, Kind.OPENING)


def attributes(text: str, tag: Token) -> Iterator[Attribute]:
    """The attributes of a tag, with and without a value."""
    at = tag.attributes
    while match := _ATTRIBUTE.match(text, at, tag.end):
        at = match.end()
        value = match[2] or ""
        is_quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
        start, end = match.span(2) if value else (at, at)
        yield Attribute(match[1].lower(), start + is_quoted, end - is_quoted, is_quoted)


def value(text: str, tag: Token, name: str) -> str:
    """The value of one attribute as it is written; empty for an attribute without one."""
    for attribute in attributes(text, tag):
        if attribute.name == name and attribute.has_value:
            return text[attribute.start : attribute.end]
    return ""


def replace_parts(text: str, changes: Iterable[tuple[int, int, str]]) -> str:
    """The text with other texts in place of some parts, which are given in order."""
    parts, at = list[str](), 0
    for start, end, new in changes:
        parts += (text[at:start], new)
        at = end
    return "".join([*parts, text[at:]])


def _token(match: re.Match[str]) -> Token:
    start, end = match.span()
    if match["comment"]:
        return Token(Kind.COMMENT, start, end)
    if match["declaration"]:
        return Token(Kind.DECLARATION, start, end)
    if match["broken"]:
        return Token(Kind.BROKEN, start, len(match.string))
    return _tag(match, Kind.CLOSING if match["closing"] else Kind.OPENING)


def _tag(match: re.Match[str], kind: Kind) -> Token:
    start, end = match.span()
    return Token(kind, start, end, match["name"].lower(), match.start("attributes"))


def _is_self_closed(text: str, tag: Token) -> bool:
    """Only in MJML: in HTML the slash means nothing."""
    return tag.name.startswith("mj-") and text[tag.end - 2] == "/"


def _raw_end(text: str, tag: Token) -> int:
    end = re.compile(rf"</{re.escape(tag.name)}(?=[\t\n\f\r />])", re.IGNORECASE)
    match = end.search(text, tag.end)
    return match.start() if match else -1
