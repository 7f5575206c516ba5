"""Finds the tags of an HTML text, in every way in which a mail program might read it.

Programs disagree about where comments, raw text and broken tags end, and so do the versions of
html.parser, which is why it is not used: what stands inside a comment or an attribute's value is
read here as if it were markup, too. The time is linear in the text, whatever it contains.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import unescape

_MOST_READINGS = 16
_MOST_ATTRIBUTES = 200

# The HTML standard's own rules for a start tag. Possessive repeats: no tag is read twice.
_ATTRIBUTE = r"""
    [\t\n\f\r /]*+ ({0}[^\t\n\f\r />] [^\t\n\f\r />=]*+)
    (?: [\t\n\f\r ]*+ = [\t\n\f\r ]*+ ({0}"[^"]*+" | '[^']*+' | [^\t\n\f\r >]*+) )?+
"""
_TAG = re.compile(
    rf"<(?P<name>[a-z][^\t\n\f\r />]*+) (?P<attributes>(?:{_ATTRIBUTE.format('?:')})"
    rf"{{0,{_MOST_ATTRIBUTES}}}+) [\t\n\f\r /]*+ > | <(?P<endless>[a-z])",
    re.ASCII | re.IGNORECASE | re.VERBOSE,
)
_PAIR = re.compile(_ATTRIBUTE.format(""), re.VERBOSE)
_INSIDE = re.compile(r"<[a-z]", re.ASCII | re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Tag:
    offset: int
    name: str
    written: str

    def attributes(self) -> Iterator[tuple[str, str]]:
        """The names and decoded values of the attributes that have a value."""
        for name, value in self.pairs():
            if value:
                yield name, unescape(_bare(value))

    def pairs(self) -> Iterator[tuple[str, str]]:
        """The names of the attributes, and their values as written, quotes included."""
        for name, value in _PAIR.findall(self.written):
            yield name.lower(), value


@dataclass(frozen=True, slots=True)
class Unreadable:
    """From here on there are more ways to read the text than anyone will try."""

    offset: int


def tags(html: str) -> Iterator[Tag | Unreadable]:
    """Every tag of every reading.

    A reading starts at the beginning and inside each tag that contains another one. It stops
    where it meets an earlier one, because from there on they agree, and at a tag that never ends.
    """
    starts = [0]
    seen: set[int] = set()
    readings = 0
    for start in starts:
        for number, found in enumerate(_TAG.finditer(html, start)):
            if found.start() in seen:
                break
            readings += number == 0
            if readings > _MOST_READINGS or _hides_more(html, found):
                yield Unreadable(found.start())
                return
            if found["endless"]:
                break
            seen.add(found.start())
            inside = _INSIDE.search(html, found.end("name"), found.end())
            if inside is not None:
                starts.append(inside.start())
            yield Tag(found.start(), found["name"].lower(), found["attributes"])


def _hides_more(html: str, found: re.Match[str]) -> bool:
    """A quote that is never closed: some programs drop the rest, others go on behind the next >."""
    return found["endless"] is not None and html.find(">", found.end()) >= 0


def _bare(value: str) -> str:
    is_quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
    return value[1:-1] if is_quoted else value
