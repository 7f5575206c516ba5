"""The preheader: hidden text at the start of a mail; mail programs show it beside the subject."""

import re
from html import escape, unescape

from postledger.content.rendering.compiled_template import (
    CompiledTemplate,
    InvalidTemplateError,
)
from postledger.content.rendering.html import html_tokens
from postledger.content.rendering.html.checks import Finding
from postledger.content.rendering.html.html_tokens import Kind
from postledger.content.rendering.liquid.liquid_text import split_liquid, without_liquid
from postledger.lib.sentences import say

MAX_PREHEADER = 200  # characters; mail programs show about half of them

# As <mj-preview> becomes it, so that either is found in a mail.
_OPENING = (
    '<div style="display:none;font-size:1px;color:#ffffff;line-height:1px;max-height:0px;'
    'max-width:0px;opacity:0;overflow:hidden;">'
)
_CLOSING = "</div>"
_SPACES = re.compile(r"\s+")


def findings(preheader: str) -> list[Finding]:
    """A finding if it is too long, or if its Liquid would not be complete without the body's."""
    try:
        CompiledTemplate(preheader, is_html=True)
    except InvalidTemplateError as invalid:
        return [invalid.finding("preheader")]
    length = len(without_liquid(preheader))
    if length > MAX_PREHEADER:
        remedy = say(
            "It has %(size)s characters; shorten it to %(most)s.",
            size=length,
            most=MAX_PREHEADER,
        )
        return [Finding("preheader_too_long", "preheader", remedy)]
    return []


def insert(html: str, preheader: str) -> str:
    """The document with the preheader as the first text of its body; Liquid stays Liquid."""
    parts = split_liquid(preheader.strip())
    parts[::2] = [escape(_SPACES.sub(" ", part), quote=False) for part in parts[::2]]
    start = _find_start(html)
    return f"{html[:start]}{_OPENING}{''.join(parts)}{_CLOSING}{html[start:]}"


def find(html: str) -> str:
    """The preheader of a finished mail, as its reader sees it; empty if it has none."""
    hidden = html.partition(_OPENING)[2].partition(_CLOSING)[0]
    return _SPACES.sub(" ", unescape(hidden)).strip()


def _find_start(html: str) -> int:
    """Where the body begins; 0 in HTML without one."""
    parts = split_liquid(html)
    # Liquid could hold a tag; masked, it has the same length and none.
    parts[1::2] = [" " * len(part) for part in parts[1::2]]
    tags = html_tokens.tokenize("".join(parts))
    return next((tag.end for tag in tags if tag.kind is Kind.OPENING and tag.name == "body"), 0)
