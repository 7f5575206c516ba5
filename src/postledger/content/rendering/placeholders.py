"""Finds the placeholders in HTML at which a URL begins, and those where no value is safe."""

import re
from collections.abc import Iterator, Sequence

from postledger.content.rendering.html import html_tokens
from postledger.content.rendering.html.checks import Finding
from postledger.content.rendering.html.html_tokens import Kind, LineNumbers, Token
from postledger.lib.sentences import say

# Two characters that mean nothing, around the number of a placeholder.
_MARK = re.compile("\ue000([0-9]+)\ue001")
_OPENED = re.compile("<[/!?]?\ue000")  # would be the name of a tag
_NO_MARKS = {0xE000: None, 0xE001: None}
# fmt: off
_URLS = frozenset({
    "action", "background", "cite", "data", "formaction", "href", "longdesc", "poster", "src",
    "xlink:href",
})
# fmt: on


def inspect(literals: Sequence[str]) -> tuple[set[int], list[Finding]]:
    """The numbers of the placeholders at which a URL begins, and those that escaping leaves unsafe.

    A value is unsafe where it could become a name, or end at a space.
    """
    parts = [literals[0].translate(_NO_MARKS)]
    for number, literal in enumerate(literals[1:]):
        parts += (f"\ue000{number}\ue001", literal.translate(_NO_MARKS))
    html = "".join(parts)
    urls: set[int] = set()
    unsafe = [match.start() for match in _OPENED.finditer(html)]
    for tag in html_tokens.tags_of_every_reading(html):
        # A broken tag is a finding of the checks.
        if tag.kind is Kind.OPENING:
            urls.update(_find_urls(html, tag))
            unsafe += [tag.start] if _is_unsafe(html, tag) else []
    lines = LineNumbers(html)
    places = dict.fromkeys(f"html, line {lines.at(offset)}" for offset in unsafe)
    remedy = say("Put quotes around the attribute's value, and use no variable in a name.")
    return urls, [Finding("variable_unquoted", place, remedy) for place in places]


def _find_urls(html: str, tag: Token) -> Iterator[int]:
    for attribute in html_tokens.attributes(html, tag):
        first = _MARK.match(attribute.decoded(html).lstrip())
        if attribute.name in _URLS and first:
            yield int(first[1])


def _is_unsafe(html: str, tag: Token) -> bool:
    return bool(_MARK.search(tag.name)) or any(
        _MARK.search(attribute.name)
        or (not attribute.is_quoted and _MARK.search(html, attribute.start, attribute.end))
        for attribute in html_tokens.attributes(html, tag)
    )
