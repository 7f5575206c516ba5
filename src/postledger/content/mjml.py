"""The HTML that MJML becomes; what may stand where is judged by `mjml_rules` before."""

import re
from collections.abc import Iterator
from html import escape

import mrml

from postledger.content import aside, between, layout, mjml_rules, styles, walk
from postledger.content.aside import Aside
from postledger.content.checks import Finding
from postledger.content.walk import Kind, Piece

_PARSER = mrml.ParserOptions(include_loader=mrml.memory_loader({}))
# By itself, mrml has every reader fetch its default font from Google.
_RENDERER = mrml.RenderOptions(fonts={})
_OWN_BODY = re.compile(r"<(?:caption|colgroup|tbody|tfoot|thead)\b", re.IGNORECASE)


def render(put_aside: Aside, *, locale: str) -> str | Finding:
    """The document, with the Liquid still aside; of valid MJML only."""
    written = walk.replaced(put_aside.marked, _prepared(put_aside, locale))
    covered = styles.covered(written, put_aside=put_aside, raw=mjml_rules.RAW)
    start = covered.index("<mjml")
    try:
        html = mrml.to_html(covered[start:], _PARSER, _RENDERER).content
    except OSError as error:
        # What the rules let through: values that are no CSS.
        remedy = f"This cannot be rendered: {error}. Check the values of the attributes."
        return Finding("mjml_invalid", "body", remedy)
    return covered[:start].strip() + html


def lost(html: str, *, put_aside: Aside) -> list[Finding]:
    """The Liquid that MJML did not pass on: it reckons with some values, and drops others."""
    found = {int(mark["number"]) for mark in put_aside.mark.finditer(html)}
    remedy = "MJML does not pass this on. Put it into a text, a link, a colour or an address."
    return [
        Finding("liquid_misplaced", put_aside.place_of(number), remedy)
        for number, piece in enumerate(put_aside.pieces)
        if number not in found and not piece.is_note
    ]


def _prepared(put_aside: Aside, locale: str) -> Iterator[tuple[int, int, str]]:
    """What has to be written otherwise, for mrml to keep it as it is."""
    text, last, is_wrapped = put_aside.marked, Piece(Kind.CLOSING, 0, 0, "mjml"), False
    for piece in walk.pieces(text, raw=mjml_rules.RAW):
        written = text[piece.start : piece.end]
        is_structure = _is_structure(text, last)
        if piece.kind is Kind.TEXT:
            # mrml dies of a > behind a character of three bytes, and of the end of a CDATA part.
            new = between.commented(
                written.replace(">", "&gt;"), put_aside, is_structure=is_structure
            )
            yield piece.start, piece.end, new
        elif piece.kind is Kind.COMMENT:
            new = "" if is_structure else aside.comment(put_aside.hide(written))
            yield piece.start, piece.end, new
        elif piece.kind is Kind.OPENING:
            yield from _opening(text, piece, locale)
            if piece.name == "mj-table":
                is_wrapped = not _OWN_BODY.search(
                    text, piece.end, text.find("</mj-table", piece.end)
                )
                yield piece.end, piece.end, "<tbody>" if is_wrapped else ""
            last = piece
        elif piece.kind is Kind.CLOSING:
            if piece.name == "mj-table" and is_wrapped:
                yield piece.start, piece.start, "</tbody>"
            last = piece


def _opening(text: str, tag: Piece, locale: str) -> Iterator[tuple[int, int, str]]:
    if tag.name == "mjml" and not walk.value(text, tag, "lang"):
        lang = escape(locale.replace("_", "-"))
        new = f' lang="{lang}" dir="{layout.direction(locale)}"'
        yield tag.attributes, tag.attributes, new
    for value in walk.attributes(text, tag):
        # mrml would write a quote inside as \", which ends the value.
        new = text[value.start : value.end].replace('"', "&quot;")
        yield value.start - 1, value.end + 1, f'"{new}"'


def _is_structure(text: str, last: Piece) -> bool:
    """Whether a tag is followed by the place of other tags, and not of text."""
    if not mjml_rules.is_mjml(last):
        return between.is_structure(last)
    is_open = last.kind is Kind.OPENING and text[last.end - 2] != "/"
    return not is_open or last.name == "mj-table" or last.name not in mjml_rules.CONTENT
