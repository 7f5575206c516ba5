"""Notion's rich text as values, as HTML and as plain text; its colors and its links."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from html import escape
from itertools import groupby

from postledger.content.notion import fields
from postledger.content.notion.fields import Record

_NOTION = "https://www.notion.so"

# A browser leaves out tabs and line ends wherever they stand, so none may stand anywhere.
_FOLLOWABLE = re.compile(
    r"(?:https?://[^/\\\s]|mailto:\S|tel:\S)[^\x00-\x1f\x7f]*", re.ASCII | re.IGNORECASE
)
# How Notion writes a link from one of its pages to another.
_WITHIN = re.compile(r"/[0-9a-f]{32}(?:[?#][^\s]*)?", re.ASCII)
# The text and the background of each color: near Notion's own shades, but dark enough on white, or
# light enough behind black.
_COLORS: Mapping[str, tuple[str, str]] = {
    "gray": ("#73726e", "#f1f1ef"),
    "brown": ("#9f6b53", "#f4eeee"),
    "orange": ("#b35a00", "#fbecdd"),
    "yellow": ("#946400", "#fbf3db"),
    "green": ("#3b7a57", "#edf3ec"),
    "blue": ("#2b6cb0", "#e7f3f8"),
    "purple": ("#8050a8", "#f6f3f9"),
    "pink": ("#b03a7a", "#faf1f5"),
    "red": ("#c4423c", "#fdebec"),
}
_LIQUID = re.compile(r"\{\{[^{}]*\}\}|\{%[^{}]*%\}")


class Style(StrEnum):
    """In the order in which their elements are nested, the outermost first."""

    BOLD = "bold"
    ITALIC = "italic"
    STRIKETHROUGH = "strikethrough"
    UNDERLINE = "underline"
    CODE = "code"


_ELEMENTS = {
    Style.BOLD: "strong",
    Style.ITALIC: "em",
    Style.STRIKETHROUGH: "s",
    Style.UNDERLINE: "u",
    Style.CODE: "code",
}


@dataclass(frozen=True, slots=True)
class Span:
    """A run of text in one style; `link` is as Notion gave it, followable or not."""

    text: str
    link: str = ""
    styles: tuple[Style, ...] = ()
    color: str = "default"


type RichText = tuple[Span, ...]


def parse(items: Iterable[object]) -> RichText:
    return tuple(_span(item) for item in items if isinstance(item, dict))


def _span(item: Record) -> Span:
    annotations = fields.record(item, "annotations")
    is_equation = item.get("type") == "equation"
    return Span(
        text=_shown(item),
        link=fields.text(item, "href") or _own_link(item),
        styles=tuple(
            style
            for style in Style
            if fields.flag(annotations, style) or (is_equation and style is Style.CODE)
        ),
        color=fields.text(annotations, "color") or "default",
    )


def _shown(item: Record) -> str:
    mentioned = fields.record(item, "mention")
    if mentioned.get("type") == "date":
        return _date(fields.record(mentioned, "date")) or fields.text(item, "plain_text")
    return (
        fields.text(item, "plain_text")
        or fields.text(fields.record(item, "text"), "content")
        or fields.text(fields.record(item, "equation"), "expression")
    )


def _own_link(item: Record) -> str:
    return fields.text(fields.record(fields.record(item, "text"), "link"), "url")


def _date(date: Record) -> str:
    """Days as they are, times to the minute: 2026-11-30 09:00 → 2026-12-01 (Europe/Paris)."""
    ends = (fields.text(date, "start"), fields.text(date, "end"))
    shown = " → ".join(end[:16].replace("T", " ") for end in ends if end)
    zone = fields.text(date, "time_zone")
    return f"{shown} ({zone})" if shown and zone else shown


def plain(spans: RichText) -> str:
    """The text alone, without its links."""
    return "".join(span.text for span in spans)


def as_text(spans: RichText) -> str:
    """For people: a URL stands in parentheses behind the text that links to it."""
    return "".join(
        _with_url(plain(tuple(run)), followable(link) or "")
        for link, run in groupby(spans, key=lambda span: span.link)
    )


def _with_url(text: str, url: str) -> str:
    bare = url.partition(":")[2].removeprefix("//")
    if not url or text.strip().rstrip("/") in {url.rstrip("/"), bare.rstrip("/")}:
        return text
    ending = text[len(text.rstrip()) :]
    return f"{text.rstrip()} ({url}){ending}" if text.strip() else url


def as_html(spans: RichText) -> str:
    """Escaped; only Liquid keeps its quotation marks and its >, which are harmless in a text."""
    return "".join(
        _anchor(link, "".join(map(_styled, run)))
        for link, run in groupby(spans, key=lambda span: span.link)
    )


def _anchor(link: str, html: str) -> str:
    url = followable(link)
    return f'<a href="{escape(url)}">{html}</a>' if url and html else html


def _styled(span: Span) -> str:
    escaped = escape(span.text, quote=False)
    html = _LIQUID.sub(lambda liquid: liquid[0].replace("&gt;", ">"), escaped).replace("\n", "<br>")
    if not html:
        return ""
    for style in reversed(span.styles):
        html = f"<{_ELEMENTS[style]}>{html}</{_ELEMENTS[style]}>"
    declaration = css(span.color)
    return f'<span style="{declaration}">{html}</span>' if declaration else html


def followable(url: str) -> str | None:
    """The URL to put into a mail; None for one that leads nowhere or runs a program."""
    url = url.strip()
    if _WITHIN.fullmatch(url):
        return _NOTION + url
    return url if _FOLLOWABLE.fullmatch(url) else None


def page_url(page_id: str) -> str:
    return f"{_NOTION}/{page_id.replace('-', '')}"


def css(color: str) -> str:
    """A declaration such as color:#c4423c; empty for the default and for unknown names."""
    name = color.removesuffix("_background")
    if name not in _COLORS:
        return ""
    text, background = _COLORS[name]
    # A background has a text color of its own: the reader's is as pale as it in dark mode.
    return f"color:{text}" if name == color else f"background-color:{background};color:#1f2937"
