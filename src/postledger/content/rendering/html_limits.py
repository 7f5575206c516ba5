"""How much markup is accepted: markup that takes parsers minutes, or crashes them, is refused.

css-inline, mrml and nh3 follow nested elements with the machine's own stack, and a hundred
thousand of them end the process.
"""

from collections import Counter

from postledger.content.rendering.html import html_tokens
from postledger.content.rendering.html.checks import Finding
from postledger.content.rendering.html.html_tokens import Kind
from postledger.content.rendering.liquid.liquid_markers import MarkedText
from postledger.lib.sentences import say

DEEPEST = 75  # with rows and cells between them, three times as deep: lxml drops what is below 255
MOST_ELEMENTS = 10_000

_MOST_PIECES = 40_000
_MOST_REPEATS = 200_000
_FOREIGN = frozenset({"math", "svg"})
# A parser ends these by itself when the next one begins; only others can nest them.
# fmt: off
_SELF_ENDING = frozenset({
    "body", "caption", "colgroup", "dd", "dt", "head", "html", "li", "optgroup", "option", "p",
    "tbody", "td", "tfoot", "th", "thead", "tr",
})
# fmt: on
# A parser repeats these in every element that follows, until their end tag comes.
# fmt: off
_REPEATED = frozenset({
    "a", "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u",
})
# fmt: on


def findings(html: str, *, marked: MarkedText) -> list[Finding]:
    """A finding when an HTML text must not be parsed; empty when it may be."""
    is_foreign = any(f"<{name}" in html.lower() for name in _FOREIGN)
    leaves = html_tokens.VOID if is_foreign else html_tokens.VOID | _SELF_ENDING
    opened: Counter[str] = Counter()
    elements = depth = repeated = repeats = 0
    for count, token in enumerate(html_tokens.tokenize(html), start=1):
        if token.kind is Kind.BROKEN:
            return [unreadable(marked.place(html, token.start))]
        if token.name in leaves or (token.kind is Kind.CLOSING and not opened[token.name]):
            elements += token.kind is Kind.OPENING
        elif token.kind in {Kind.OPENING, Kind.CLOSING}:
            step = 1 if token.kind is Kind.OPENING else -1
            opened[token.name] += step
            depth += step
            elements += step > 0
            repeated += step if token.name in _REPEATED else 0
        repeats += repeated
        is_too_much = elements > MOST_ELEMENTS or repeats > _MOST_REPEATS or count > _MOST_PIECES
        if is_too_much or depth > DEEPEST:
            return [too_complex(marked.place(html, token.start))]
    return []


def unreadable(place: str) -> Finding:
    remedy = say("Close every tag and quote, and write &lt; for < inside attributes.")
    return Finding("markup_unreadable", place, remedy)


def too_complex(place: str) -> Finding:
    remedy = say(
        "Close what is open, nest at most %(deepest)s elements, and use at most %(most)s.",
        deepest=DEEPEST,
        most=MOST_ELEMENTS,
    )
    return Finding("markup_too_complex", place, remedy)
