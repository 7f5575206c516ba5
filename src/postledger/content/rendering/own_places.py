"""Where an author wrote what a check found in the HTML that was made of it."""

from collections.abc import Iterable
from dataclasses import replace

from postledger.content.rendering.html.checks import Finding

_BEFORE_LINKS = ('"', "'", "(", "<", ": ")  # in HTML and in Markdown


def name_own_places(findings: Iterable[Finding], body: str) -> list[Finding]:
    """Lines of the HTML become lines of the body, or no lines: authors never see the HTML."""
    return [
        replace(finding, place=_find_place(finding.written, body))
        if finding.place.partition(",")[0] == "html"
        else finding
        for finding in findings
    ]


def _find_place(written: str, body: str) -> str:
    for text in _list_spellings(written, body) if written else ():
        if text in body:
            return f"body, line {body.count('\n', 0, body.index(text)) + 1}"
    return "body"


def _list_spellings(written: str, body: str) -> list[str]:
    """How the body may have it: a tag perhaps without the style that we added, or a link."""
    if not written.startswith("<"):
        return [before + written for before in _BEFORE_LINKS]
    opening = written.split(maxsplit=1)[0].rstrip("/>")
    return [written, opening] if body.count(opening) == 1 else [written]
