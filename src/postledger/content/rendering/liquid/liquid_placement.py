"""Liquid between the tags of HTML and MJML: keeps it in place, and finds it where it moved.

Parsers move text out of tables and out of the head, but they leave comments where they are.
"""

from collections.abc import Iterator

from postledger.content.rendering.html import html_tokens
from postledger.content.rendering.html.checks import Finding
from postledger.content.rendering.html.html_tokens import Kind, Token
from postledger.content.rendering.liquid import liquid_markers
from postledger.content.rendering.liquid.liquid_markers import MarkedText
from postledger.lib.sentences import say

_START = Token(Kind.OPENING, 0, 0)
_TAGS = frozenset({Kind.OPENING, Kind.CLOSING})
# After these, text would stand in a table but in no cell.
_TABLE_OPENINGS = frozenset({"col", "colgroup", "table", "tbody", "tfoot", "thead", "tr"})
_TABLE_CLOSINGS = frozenset({"caption", "colgroup", "tbody", "td", "tfoot", "th", "thead", "tr"})
_BEFORE_BODIES = frozenset({"caption", "colgroup", "tbody", "tfoot", "thead"})


def is_structure(tag: Token) -> bool:
    """Whether the space behind a tag is between elements and takes no text."""
    return tag.name in (_TABLE_CLOSINGS if tag.kind is Kind.CLOSING else _TABLE_OPENINGS)


def find_astray(marked: MarkedText) -> Iterator[Finding]:
    """Liquid that parsers would lose or move, in an HTML text as it was written."""
    last = _START
    for token in html_tokens.tokenize(marked.text):
        if token.kind in _TAGS:
            last = token
            yield from find_in_tag(marked, token)
        elif token.kind is Kind.TEXT and is_structure(last):
            text = marked.text[token.start : token.end]
            if marked.marker.search(text) and marked.marker.sub("", text).strip():
                remedy = say(
                    "Put all text of a table into cells: mail programs move it out otherwise."
                )
                place = marked.place(marked.text, token.start)
                yield Finding("liquid_misplaced", place, remedy)


def find_in_tag(marked: MarkedText, tag: Token) -> Iterator[Finding]:
    """Liquid that is part of a tag, but of no attribute's value."""
    values: list[tuple[int, int]] | None = None
    for mark in marked.marker.finditer(marked.text, tag.start, tag.end):
        if values is None:
            attributes = html_tokens.attributes(marked.text, tag)
            values = [(attribute.start, attribute.end) for attribute in attributes]
        if not any(start <= mark.start() and mark.end() <= end for start, end in values):
            remedy = say(
                "Write Liquid inside the quotes of an attribute's value, as in class=\"{%%"
                ' if new %%}new{%% endif %%}".'
            )
            yield Finding("liquid_misplaced", marked.place(marked.text, mark.start()), remedy)
            return


def comment_out(marked: MarkedText) -> str:
    """The HTML with comments in place of the marks that must not be text."""
    text, last, parts = marked.text, _START, list[str]()
    for token in html_tokens.tokenize(text):
        written = text[token.start : token.end]
        if token.kind is Kind.TEXT:
            written = comment_text(written, marked, is_structure=is_structure(last))
        elif token.kind is Kind.DECLARATION and not written.lower().startswith("<!doctype"):
            # Parsers would make other comments of <![if mso]> and <?xml?>.
            written = liquid_markers.comment(marked.hide(written))
        elif token.kind in _TAGS:
            last = token
        parts.append(written)
    html = "".join(parts)
    return html_tokens.replace_parts(html, _missing_bodies(html, marked))


def comment_text(text: str, marked: MarkedText, *, is_structure: bool) -> str:
    """The text with tags as comments, and outputs as well where no text may be."""
    return marked.marker.sub(
        lambda mark: (
            liquid_markers.comment(mark[0])
            if is_structure or marked.tag(mark).is_silent
            else mark[0]
        ),
        text,
    )


def _missing_bodies(html: str, marked: MarkedText) -> Iterator[tuple[int, int, str]]:
    """Adds <tbody> before Liquid where a parser would add it behind, before the first row.

    The opening tag of a block would then be outside the body, and its end inside.
    """
    starts = {block[0] for block in marked.blocks}
    last, since = _START, -1
    for token in html_tokens.tokenize(html):
        if token.kind is Kind.COMMENT:
            number = marked.number(html[token.start : token.end])
            if number in starts:
                since = token.start if since < 0 else since
            elif number >= 0:
                since = token.end
        elif token.kind in _TAGS:
            if since >= 0 and _begins_body(last, token):
                yield since, since, "<tbody>"
            last, since = token, -1


def _begins_body(last: Token, token: Token) -> bool:
    """Whether a row follows where only bodies may stand."""
    before = {"col", "table"} if last.kind is Kind.OPENING else _BEFORE_BODIES
    return token.name == "tr" and token.kind is Kind.OPENING and last.name in before


def find_misplaced(html: str, *, marked: MarkedText) -> Iterator[Finding]:
    """The blocks of Liquid that begin in one element of a finished document and end in another."""
    parents: dict[int, list[object]] = {number: [] for block in marked.blocks for number in block}
    for token, parent in _with_parents(html):
        written = html[token.start : token.end]
        for mark in marked.marker.finditer(written):
            seen = parents.get(int(mark["number"]), [])
            is_content = token.kind is Kind.TEXT or marked.number(written) >= 0
            here = parent if is_content else (parent, token.start)
            # A comment holds its mark twice.
            if seen[-1:] != [here]:
                seen.append(here)
    for block in marked.blocks:
        if any(parents[number] != parents[block[0]] for number in block):
            yield Finding(
                "liquid_misplaced",
                marked.place_of(block[0]),
                say(
                    "This tag and its end are not in the same element. Put both around whole"
                    " elements, and close every element that begins between them."
                ),
            )


def _with_parents(html: str) -> Iterator[tuple[Token, int]]:
    """Every token of a document whose elements are all closed, with the element around it."""
    opened = [0]
    for token in html_tokens.tokenize(html):
        if token.kind is Kind.CLOSING and len(opened) > 1:
            opened.pop()
        yield token, opened[-1]
        if token.kind is Kind.OPENING and token.name not in html_tokens.VOID:
            opened.append(token.start)
