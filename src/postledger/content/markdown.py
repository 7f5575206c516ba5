"""Markdown as HTML and as text, both from one reading of it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token

from postledger.content import aside, markdown_liquid, markdown_text
from postledger.content.aside import Aside
from postledger.content.checks import Finding

_DEEPEST = 40
# What the parser stops at: each costs it some microseconds, and brackets in rows much more.
_STOP = re.compile(r"[\n!#$%&*+\-:<=>@\[\\\]^_`{|}~]")
_MOST_STOPS = 20_000


@dataclass(frozen=True, slots=True)
class Rendered:
    html: str
    text: str


def render(put_aside: Aside) -> Rendered | Finding:
    """Both versions, with the Liquid still aside."""
    stops = len(_STOP.findall(put_aside.marked))
    if stops > _MOST_STOPS:
        remedy = f"It has {stops} line ends and special characters; use at most {_MOST_STOPS}."
        return Finding("markup_too_complex", "body", remedy)
    read = _PARSER.parse(put_aside.marked, {"aside": put_aside})
    for token in read:
        # What is deeper, the parser leaves out without a word.
        if token.level >= _DEEPEST - 1:
            return Finding("markup_too_complex", "body", "Nest fewer lists and quotes.")
    tokens = markdown_liquid.settled(read, put_aside=put_aside)
    html = str(_PARSER.renderer.render(tokens, _PARSER.options, {}))
    return Rendered(html, markdown_text.of(tokens, put_aside=put_aside))


def _liquid(_renderer: RendererHTML, tokens: Sequence[Token], number: int, *_: object) -> str:
    return aside.comment(tokens[number].content) + "\n"


def _made() -> MarkdownIt:
    options = {"html": False, "maxNesting": _DEEPEST, "xhtmlOut": False}
    parser = MarkdownIt("commonmark", options).enable(["strikethrough", "table"])
    parser.block.ruler.before(
        "table",
        "liquid",
        markdown_liquid.rule,
        {"alt": ["paragraph", "reference", "blockquote", "list"]},
    )
    parser.add_render_rule("liquid", _liquid)
    return parser


_PARSER = _made()
