"""The HTML version of a plain text: its paragraphs, its lines, and links that can be followed."""

import re
from html import escape
from itertools import groupby

_URL = re.compile(r"https?://[^\s<>\"]++")
_TAB = 4
# What ends a sentence, and is hardly ever the end of an address.
_AFTER_URL = ".,;:!?'"


def from_text(text: str) -> str:
    """HTML that reads as the text does; blank for a blank text."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return "\n".join(
        f'<p dir="auto">{"<br>\n".join(map(_render_line, paragraph))}</p>'
        for has_text, paragraph in groupby(lines, key=lambda line: bool(line.strip()))
        if has_text
    )


def _render_line(line: str) -> str:
    parts, at = list[str](), 0
    line = line.expandtabs(_TAB).rstrip()
    for match in _URL.finditer(line):
        url = _trim_url(match[0])
        parts += (_render_words(line[at : match.start()]), _render_link(url))
        at = match.start() + len(url)
    return "".join([*parts, _render_words(line[at:])])


def _trim_url(url: str) -> str:
    """The URL without the punctuation of the sentence that it stands in."""
    url = url.rstrip(_AFTER_URL)
    if url.endswith(")") and url.count("(") < url.count(")"):
        return url[:-1].rstrip(_AFTER_URL)
    return url


def _render_link(url: str) -> str:
    return f'<a href="{escape(url)}">{escape(url)}</a>'


def _render_words(text: str) -> str:
    """Browsers show several spaces as one, and none at the beginning of a line."""
    indented = len(text) - len(text.lstrip(" "))
    html = escape(text.lstrip(" "), quote=False).replace("  ", " &nbsp;")
    return "&nbsp;" * indented + html
