"""Our own layout: one column, for whatever comes without one."""

import re
from html import escape
from pathlib import Path
from string import Template

_LAYOUT = Template(Path(__file__).with_name("layout.html").read_text(encoding="utf-8"))
_DARK = Path(__file__).with_name("layout_dark.css").read_text(encoding="utf-8").strip()
# Colours that the content brings along were chosen for paper: on a dark page they would vanish.
_OWN_COLOURS = re.compile(r"(?<![\w-])(?:background-)?color\s*:|bgcolor\s*=", re.IGNORECASE)
_RIGHT_TO_LEFT = frozenset({"ar", "fa", "he", "ur"})


def direction(locale: str) -> str:
    """The way a locale's language is written, as HTML calls it."""
    language = locale.replace("_", "-").partition("-")[0].lower()
    return "rtl" if language in _RIGHT_TO_LEFT else "ltr"


def wrap(content: str, *, locale: str) -> str:
    """A whole document around some HTML; its styles are still to be inlined."""
    way = direction(locale)
    is_light = _OWN_COLOURS.search(content) is not None
    return _LAYOUT.substitute(
        lang=escape(locale.replace("_", "-")),
        direction=way,
        start="right" if way == "rtl" else "left",
        schemes="light" if is_light else "light dark",
        dark="" if is_light else _DARK,
        content=content,
    )
