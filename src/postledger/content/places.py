"""Where in an HTML text values go, and whether escaping them is enough there."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from postledger.content import markup
from postledger.content.checks import Finding

# Two characters that mean nothing, around the number of a hole.
_MARK = re.compile("\ue000([0-9]+)\ue001")
_OPENED = re.compile("<[/!?]?\ue000")  # would be the name of a tag
_NO_MARKS = {0xE000: None, 0xE001: None}
# fmt: off
_URLS = frozenset({
    "action", "background", "cite", "data", "formaction", "href", "longdesc", "poster", "src",
    "xlink:href",
})
# fmt: on
_SAFE_URL = re.compile(r"\s*+(?:https?://|mailto:|tel:)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Places:
    urls: frozenset[int]  # the holes at which an address of something begins
    findings: tuple[Finding, ...]


def of(literals: Sequence[str]) -> Places:
    """Judges the holes of a text, each by its number."""
    marked = _marked(literals)
    urls: set[int] = set()
    findings = {_finding(marked, found.start()): None for found in _OPENED.finditer(marked)}
    for tag in markup.tags(marked):
        # What cannot be read is a finding of the checks.
        if isinstance(tag, markup.Tag):
            urls.update(_urls(tag))
            if _is_unsafe(tag):
                findings[_finding(marked, tag.offset)] = None
    return Places(frozenset(urls), tuple(findings))


def is_safe_url(text: str) -> bool:
    """Whether an address may stand where a value begins one: a page, an address, a number."""
    return _SAFE_URL.match(text) is not None


def _marked(literals: Sequence[str]) -> str:
    pieces = [literals[0].translate(_NO_MARKS)]
    for number, literal in enumerate(literals[1:]):
        pieces += (f"\ue000{number}\ue001", literal.translate(_NO_MARKS))
    return "".join(pieces)


def _urls(tag: markup.Tag) -> Iterator[int]:
    for name, value in tag.attributes():
        found = _MARK.match(value.lstrip())
        if name in _URLS and found:
            yield int(found[1])


def _is_unsafe(tag: markup.Tag) -> bool:
    """Whether a value could become more than a value: a name, or one that a space would end."""
    if _MARK.search(tag.name):
        return True
    return any(
        _MARK.search(name) or (_MARK.search(value) and value[:1] not in {'"', "'"})
        for name, value in tag.pairs()
    )


def _finding(marked: str, offset: int) -> Finding:
    line = marked.count("\n", 0, offset) + 1
    remedy = "Put quotes around the attribute's value, and use no variable in a name."
    return Finding("variable_unquoted", f"html, line {line}", remedy)
