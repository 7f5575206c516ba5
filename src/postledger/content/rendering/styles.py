"""How a mail looks: our layout, and the rules of style sheets inlined into their elements.

Styles that are written on elements stay as they are, behind the inlined rules: the last one wins,
as it did before. Nothing is ever read from a network.
"""

import re
from collections.abc import Iterator
from html import escape
from pathlib import Path
from string import Template

import css_inline

from postledger.content.rendering.branding import NO_BRANDING, Branding, render_logo
from postledger.content.rendering.html import html_tokens
from postledger.content.rendering.html.checks import Finding
from postledger.content.rendering.html.html_tokens import Kind
from postledger.content.rendering.liquid import liquid_markers
from postledger.content.rendering.liquid.liquid_markers import MarkedText
from postledger.lib.sentences import say

_LAYOUT = Template(Path(__file__).with_name("layout.html").read_text(encoding="utf-8"))
_DARK = Path(__file__).with_name("layout_dark.css").read_text(encoding="utf-8").strip()
_ACCENT = "#1d4ed8"
# Colours that the content brings along were chosen for paper: on a dark page they would vanish.
_OWN_COLOURS = re.compile(r"(?<![\w-])(?:background-)?color\s*:|bgcolor\s*=", re.IGNORECASE)
_RIGHT_TO_LEFT = frozenset({"ar", "fa", "he", "ur"})
_INLINER = css_inline.CSSInliner(load_remote_stylesheets=False, keep_at_rules=True)
_MOST_MATCHES = 2_000_000
_MOST_PROPERTIES = 200
_DOCTYPE = re.compile(r"<!doctype\b[^<>]*+>", re.IGNORECASE)
_DELIMITER = re.compile(r"[{};]")
_RULE = re.compile(r"[{,]")
_PROPERTY = re.compile(r"[{;]\s*+([-\w]++)\s*+:")


def direction(locale: str) -> str:
    """The writing direction of a locale's language, as HTML names it."""
    language = locale.replace("_", "-").partition("-")[0].lower()
    return "rtl" if language in _RIGHT_TO_LEFT else "ltr"


def wrap_in_layout(content: str, *, locale: str, branding: Branding = NO_BRANDING) -> str:
    """A document around some HTML, in one column; its styles are still to be inlined."""
    way = direction(locale)
    is_light = _OWN_COLOURS.search(content) is not None
    return _LAYOUT.substitute(
        lang=escape(locale.replace("_", "-")),
        direction=way,
        start="right" if way == "rtl" else "left",
        schemes="light" if is_light else "light dark",
        dark="" if is_light else _DARK,
        accent=branding.accent or _ACCENT,
        logo=render_logo(branding),
        content=content,
    )


def findings(html: str, *, names: frozenset[str] = frozenset({"style"})) -> list[Finding]:
    """A finding where the rules would take too long: too many for the elements, or at all."""
    elements = rules = 0
    properties: set[str] = set()
    for token in html_tokens.tokenize(html, raw=html_tokens.RAW | names):
        elements += token.kind is Kind.OPENING
        if token.kind is Kind.RAW and token.name in names:
            rules += len(_RULE.findall(html, token.start, token.end))
            properties.update(_PROPERTY.findall(html, token.start, token.end))
    if rules * elements > _MOST_MATCHES or len(properties) > _MOST_PROPERTIES:
        remedy = say("Leave out the rules that this mail does not need.")
        return [Finding("css_too_complex", "body", remedy)]
    return []


def inline(html: str, *, marked: MarkedText) -> str:
    """The document with its rules inlined.

    Rules that depend on the screen stay in the head, and so does a block that has the attribute
    data-css-inline="keep", or has Liquid tags in it or around it.
    """
    inlined = _INLINER.inline(hide_styles(html, marked=marked))
    # The doctype decides how mail programs draw, and the inliner drops an older one.
    doctype = _DOCTYPE.search(html)
    return inlined.replace("<!DOCTYPE html>", doctype[0], 1) if doctype else inlined


def hide_styles(text: str, *, marked: MarkedText, raw: frozenset[str] = html_tokens.RAW) -> str:
    """The text with everything hidden that an inliner would misread."""
    sheets = html_tokens.replace_parts(text, _conditional_sheets(text, marked, raw))
    return html_tokens.replace_parts(sheets, _own_styles(sheets, marked, raw))


def _conditional_sheets(
    text: str, marked: MarkedText, raw: frozenset[str]
) -> Iterator[tuple[int, int, str]]:
    """Style sheets that Liquid includes or changes: they cannot be inlined."""
    steps = {block[0]: 1 for block in marked.blocks}
    steps |= {block[-1]: -1 for block in marked.blocks}
    start, depth = -1, 0
    for token in html_tokens.tokenize(text, raw=raw):
        if token.kind is Kind.COMMENT:
            depth += steps.get(marked.number(text[token.start : token.end]), 0)
        elif token.name == "style" and token.kind is Kind.OPENING:
            start = token.start
        elif token.kind is Kind.CLOSING and start >= 0:
            written = text[start : token.end]
            if depth or _is_conditional(written, marked):
                yield start, token.end, liquid_markers.comment(marked.hide(written))
            start = -1


def _is_conditional(sheet: str, marked: MarkedText) -> bool:
    """Whether Liquid decides which rules there are, or for which elements."""
    behind = -1  # the delimiter behind the last mark
    for mark in marked.marker.finditer(sheet):
        if behind < mark.end():
            delimiter = _DELIMITER.search(sheet, mark.end())
            behind = delimiter.start() if delimiter else len(sheet)
        if marked.tag(mark).is_silent or sheet[behind : behind + 1] == "{":
            return True
    return False


def _own_styles(
    text: str, marked: MarkedText, raw: frozenset[str]
) -> Iterator[tuple[int, int, str]]:
    for token in html_tokens.tokenize(text, raw=raw):
        if token.kind is Kind.OPENING:
            for value in html_tokens.attributes(text, token):
                if value.name == "style" and value.has_value:
                    written = text[value.start : value.end].replace('"', "&quot;")
                    hidden = liquid_markers.doubled(marked.hide(written))
                    quote = 1 if value.is_quoted else 0
                    yield value.start - quote, value.end + quote, f'"{hidden}"'
