"""The pieces of an HTML or MJML text, one after another, as today's parsers read them.

One reading is enough here, where texts are made into mails; whether a mail may be sent is judged
by `checks`, in every reading. The time is linear in the text, whatever it contains.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum, auto

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
# The HTML standard's own rules for a start tag. Possessive repeats: nothing is read twice.
_ATTRIBUTE = r"""
    [\t\n\f\r /]*+ ({0}[^\t\n\f\r />] [^\t\n\f\r />=]*+) [\t\n\f\r ]*+
    (?: = [\t\n\f\r ]*+ ({0}"[^"]*+" | '[^']*+' | (?!["'])[^\t\n\f\r >]*+) | (?!=) )
"""
_PIECE = re.compile(
    rf"""
    < (?=[a-z!?/]) (?:
        !-- (?P<comment> -?> | .*?--!?> )
        | (?P<declaration> !(?!--) | \? | /[^a-z>] ) [^>]*+ >
        | (?P<closing>/?) (?P<name>[a-z][^\t\n\f\r />]*+)
          (?P<attributes>(?:{_ATTRIBUTE.format("?:")}){{0,{_MOST_ATTRIBUTES}}}+) [\t\n\f\r /]*+ >
        | (?P<broken>[a-z!?] | /[^>])
    )
    """,
    re.ASCII | re.DOTALL | re.IGNORECASE | re.VERBOSE,
)
_PAIR = re.compile(_ATTRIBUTE.format(""), re.VERBOSE)


class Kind(Enum):
    TEXT = auto()
    OPENING = auto()
    CLOSING = auto()
    COMMENT = auto()
    DECLARATION = auto()  # <!doctype>, <![if mso]>, <?xml?>
    RAW = auto()  # the content of an element of RAW
    BROKEN = auto()  # a tag or a comment without an end; nothing comes after it


@dataclass(frozen=True, slots=True)
class Piece:
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


def pieces(text: str, *, raw: frozenset[str] = RAW) -> Iterator[Piece]:
    """All of the text, in order and without gaps, up to what is broken."""
    at = 0
    while found := _PIECE.search(text, at):
        if found.start() > at:
            yield Piece(Kind.TEXT, at, found.start())
        piece = _piece(found)
        yield piece
        at = piece.end
        if piece.kind is Kind.OPENING and piece.name in raw and not _is_empty(text, piece):
            end = _raw_end(text, piece)
            kind, at = (Kind.RAW, end) if end >= 0 else (Kind.BROKEN, len(text))
            yield Piece(kind, piece.end, at, piece.name)
    if at < len(text):
        yield Piece(Kind.TEXT, at, len(text))


def _is_empty(text: str, tag: Piece) -> bool:
    """Whether a tag is its element's only one; in HTML the slash means nothing."""
    return tag.name.startswith("mj-") and text[tag.end - 2] == "/"


def _raw_end(text: str, tag: Piece) -> int:
    end = re.compile(rf"</{re.escape(tag.name)}(?=[\t\n\f\r />])", re.IGNORECASE)
    found = end.search(text, tag.end)
    return found.start() if found else -1


def _piece(found: re.Match[str]) -> Piece:
    start, end = found.span()
    if found["comment"]:
        return Piece(Kind.COMMENT, start, end)
    if found["declaration"]:
        return Piece(Kind.DECLARATION, start, end)
    if found["broken"]:
        return Piece(Kind.BROKEN, start, len(found.string))
    kind = Kind.CLOSING if found["closing"] else Kind.OPENING
    return Piece(kind, start, end, found["name"].lower(), found.start("attributes"))


def attributes(text: str, tag: Piece) -> Iterator[Attribute]:
    """The attributes of a tag that have a value."""
    at = tag.attributes
    while found := _PAIR.match(text, at, tag.end):
        at = found.end()
        if found[2]:
            is_quoted = found[2][0] in "\"'"
            start, end = found.span(2)
            yield Attribute(found[1].lower(), start + is_quoted, end - is_quoted, is_quoted)


def value(text: str, tag: Piece, name: str) -> str:
    """What is written as the value of one attribute; empty where there is none."""
    for attribute in attributes(text, tag):
        if attribute.name == name:
            return text[attribute.start : attribute.end]
    return ""


def replaced(text: str, changes: Iterable[tuple[int, int, str]]) -> str:
    """The text with other texts in place of some parts, which are given in order."""
    parts, at = list[str](), 0
    for start, end, new in changes:
        parts += (text[at:start], new)
        at = end
    return "".join([*parts, text[at:]])
