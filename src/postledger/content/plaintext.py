"""The text version of an HTML document: what it says, with the addresses of its links."""

import re

from inscriptis import get_text  # type: ignore[import-untyped]  # it has types and hides them
from inscriptis.css_profiles import STRICT_CSS_PROFILE  # type: ignore[import-untyped]  # the same
from inscriptis.html_properties import Display  # type: ignore[import-untyped]  # the same
from inscriptis.model.config import ParserConfig  # type: ignore[import-untyped]  # the same
from inscriptis.model.html_element import HtmlElement  # type: ignore[import-untyped]  # the same

from postledger.content import skeleton
from postledger.content.aside import Aside

_LIST = HtmlElement(display=Display.block, padding_inline=2)
_QUOTE = HtmlElement(display=Display.block, margin_before=1, margin_after=1, padding_inline=4)
_CONFIG = ParserConfig(css=STRICT_CSS_PROFILE | {"blockquote": _QUOTE, "ol": _LIST, "ul": _LIST})
_BLANK_LINES = re.compile(r"\n{3,}")


def of_html(html: str, *, put_aside: Aside) -> str:
    """The text of a finished document in which marks still stand for the Liquid."""
    text = str(get_text(skeleton.of(html, put_aside=put_aside), _CONFIG))
    return glued(tidy(text.replace("\xa0", " ")), put_aside=put_aside)


def tidy(text: str) -> str:
    """Without blanks at the ends of lines, and with at most one blank line in a row."""
    lines = "\n".join(line.rstrip() for line in text.split("\n"))
    return _BLANK_LINES.sub("\n\n", lines).strip("\n")


def glued(text: str, *, put_aside: Aside) -> str:
    """The text with tags that have a line to themselves moved to the beginning of the next one.

    There they leave no empty line behind. A blank line stays after them only where there is none
    before them.
    """
    lines, waiting, before, after = list[str](), "", 0, 0
    for line in text.split("\n"):
        is_tags = put_aside.is_silent(line)
        if waiting and not line.strip():
            after += 1
            continue
        if waiting and after > before:
            lines += [waiting, *[""] * (after - before - 1)]
            waiting, before = "", after
        elif not waiting:
            before = _blank_count(lines)
        if is_tags:
            waiting, after = waiting + line.strip(), 0
        else:
            lines.append(waiting + line)
            waiting = ""
    return "\n".join([*lines, waiting] if waiting else lines)


def _blank_count(lines: list[str]) -> int:
    """How many blank lines there are at the end; at the beginning there are enough."""
    counted = enumerate(reversed(lines))
    return next((count for count, line in counted if line), len(lines) + 1)
