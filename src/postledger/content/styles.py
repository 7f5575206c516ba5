"""Writes the rules of style sheets into the elements they are for; no mail program fetches any.

Styles that are written on elements stay as they are, behind the rules that come to them: what is
said later wins, as it did before. Nothing is ever read from a network or a disk.
"""

import re
from collections.abc import Iterator

import css_inline

from postledger.content import aside, walk
from postledger.content.aside import Aside
from postledger.content.checks import Finding
from postledger.content.walk import Kind

_INLINER = css_inline.CSSInliner(load_remote_stylesheets=False, keep_at_rules=True)
_MOST_MATCHES = 2_000_000
_MOST_PROPERTIES = 200
_DOCTYPE = re.compile(r"<!doctype\b[^>]*+>", re.IGNORECASE)
_SELECTED = re.compile(r"[^{};]*+\{")
_RULE = re.compile(r"[{,]")
_PROPERTY = re.compile(r"[{;]\s*+([-\w]++)\s*+:")


def findings(html: str, *, names: frozenset[str] = frozenset({"style"})) -> list[Finding]:
    """Rules that would take very long: too many for so many elements, or for any."""
    elements = rules = 0
    properties: set[str] = set()
    for piece in walk.pieces(html, raw=walk.RAW | names):
        elements += piece.kind is Kind.OPENING
        if piece.kind is Kind.RAW and piece.name in names:
            rules += len(_RULE.findall(html, piece.start, piece.end))
            properties.update(_PROPERTY.findall(html, piece.start, piece.end))
    if rules * elements > _MOST_MATCHES or len(properties) > _MOST_PROPERTIES:
        remedy = "Leave out the rules that this mail does not need."
        return [Finding("css_too_complex", "body", remedy)]
    return []


def inline(html: str, *, put_aside: Aside) -> str:
    """The whole document with its rules where they apply.

    Rules that depend on the screen stay in the head, and so does a block that is marked with
    data-css-inline="keep", or has Liquid tags in it or around it.
    """
    made = _INLINER.inline(covered(html, put_aside=put_aside))
    # An older one decides how mail programs draw, and the inliner forgets it.
    doctype = _DOCTYPE.search(html)
    return made.replace("<!DOCTYPE html>", doctype[0], 1) if doctype else made


def covered(text: str, *, put_aside: Aside, raw: frozenset[str] = walk.RAW) -> str:
    """The text with everything hidden that an inliner would misread."""
    sheets = walk.replaced(text, _conditional_sheets(text, put_aside, raw))
    return walk.replaced(sheets, _own_styles(sheets, put_aside, raw))


def _conditional_sheets(
    text: str, put_aside: Aside, raw: frozenset[str]
) -> Iterator[tuple[int, int, str]]:
    """Style sheets that may not be there, or not wholly: nobody can write them into elements."""
    steps = {block[0]: 1 for block in put_aside.blocks}
    steps |= {block[-1]: -1 for block in put_aside.blocks}
    start, depth = -1, 0
    for piece in walk.pieces(text, raw=raw):
        if piece.kind is Kind.COMMENT:
            depth += steps.get(put_aside.number(text[piece.start : piece.end]), 0)
        elif piece.name == "style" and piece.kind is Kind.OPENING:
            start = piece.start
        elif piece.kind is Kind.CLOSING and start >= 0:
            written = text[start : piece.end]
            if depth or _is_conditional(written, put_aside):
                yield start, piece.end, aside.comment(put_aside.hide(written))
            start = -1


def _is_conditional(sheet: str, put_aside: Aside) -> bool:
    """Whether Liquid decides which rules there are, or for which elements."""
    return any(
        put_aside.piece(mark).is_silent or _SELECTED.match(sheet, mark.end())
        for mark in put_aside.mark.finditer(sheet)
    )


def _own_styles(text: str, put_aside: Aside, raw: frozenset[str]) -> Iterator[tuple[int, int, str]]:
    for piece in walk.pieces(text, raw=raw):
        if piece.kind is Kind.OPENING:
            for value in walk.attributes(text, piece):
                if value.name == "style":
                    written = text[value.start : value.end].replace('"', "&quot;")
                    hidden = aside.doubled(put_aside.hide(written))
                    quote = 1 if value.is_quoted else 0
                    yield value.start - quote, value.end + quote, f'"{hidden}"'
