"""Notion's rich text: its runs as values, as HTML and as plain text."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from html import escape
from itertools import groupby

from postledger.content.notion import colors, fields, links
from postledger.content.notion.fields import Record


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
    """One run of equally written text; `link` is as Notion gave it, followable or not."""

    text: str
    link: str = ""
    styles: tuple[Style, ...] = ()
    color: str = "default"


type RichText = tuple[Span, ...]

_LIQUID = re.compile(r"\{\{[^{}]*\}\}|\{%[^{}]*%\}")


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
    """For people: links stand in parentheses behind what they are under."""
    return "".join(_linked(text, link) for link, text in _by_link(spans))


def _by_link(spans: RichText) -> Iterator[tuple[str, str]]:
    for link, run in groupby(spans, key=lambda span: span.link):
        yield links.followable(link) or "", plain(tuple(run))


def _linked(text: str, link: str) -> str:
    bare = link.partition(":")[2].removeprefix("//")
    if not link or text.strip().rstrip("/") in {link.rstrip("/"), bare.rstrip("/")}:
        return text
    ending = text[len(text.rstrip()) :]
    return f"{text.rstrip()} ({link}){ending}" if text.strip() else link


def as_html(spans: RichText) -> str:
    """Escaped; only Liquid keeps its quotation marks and its >, which harm nobody inside a text."""
    return "".join(
        _anchor(link, "".join(map(_styled, run)))
        for link, run in groupby(spans, key=lambda span: span.link)
    )


def _anchor(link: str, html: str) -> str:
    url = links.followable(link)
    return f'<a href="{escape(url)}">{html}</a>' if url and html else html


def _styled(span: Span) -> str:
    html = _LIQUID.sub(_readable, escape(span.text, quote=False)).replace("\n", "<br>")
    if not html:
        return ""
    for style in reversed(span.styles):
        html = f"<{_ELEMENTS[style]}>{html}</{_ELEMENTS[style]}>"
    css = colors.css(span.color)
    return f'<span style="{css}">{html}</span>' if css else html


def _readable(liquid: re.Match[str]) -> str:
    return liquid[0].replace("&gt;", ">")
