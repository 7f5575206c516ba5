"""Liquid between the tags of HTML and MJML: how it stays where it was put, and whether it did.

Parsers move text out of tables and out of the head, but they leave comments where they are.
"""

from collections.abc import Iterator

from postledger.content import aside, walk
from postledger.content.aside import Aside
from postledger.content.checks import Finding
from postledger.content.walk import Kind, Piece

_START = Piece(Kind.OPENING, 0, 0)
# After these, text would stand in a table but in no cell.
_TABLE_OPENINGS = frozenset({"col", "colgroup", "table", "tbody", "tfoot", "thead", "tr"})
_TABLE_CLOSINGS = frozenset({"caption", "colgroup", "tbody", "td", "tfoot", "th", "thead", "tr"})


def is_structure(tag: Piece) -> bool:
    """Whether what follows a tag is between elements that take no text."""
    if tag.kind is Kind.CLOSING:
        return tag.name in _TABLE_CLOSINGS
    return tag.name in _TABLE_OPENINGS


def astray(put_aside: Aside) -> Iterator[Finding]:
    """Liquid that parsers would lose or move, in an HTML text as it was written."""
    text, last = put_aside.marked, _START
    for piece in walk.pieces(text):
        if piece.kind in {Kind.OPENING, Kind.CLOSING}:
            last = piece
            yield from in_tag(put_aside, piece)
        elif piece.kind is Kind.TEXT and is_structure(last):
            yield from _among_text(put_aside, piece)


def in_tag(put_aside: Aside, tag: Piece) -> Iterator[Finding]:
    """Liquid that is part of a tag, but of no attribute's value."""
    text = put_aside.marked
    marks = list(put_aside.mark.finditer(text, tag.start, tag.end))
    values = [(value.start, value.end) for value in walk.attributes(text, tag)] if marks else []
    for mark in marks:
        if not any(start <= mark.start() and mark.end() <= end for start, end in values):
            remedy = (
                "Write Liquid inside the quotes of an attribute's value,"
                ' as in class="{% if new %}new{% endif %}".'
            )
            yield Finding("liquid_misplaced", put_aside.place(text, mark.start()), remedy)
            return


def _among_text(put_aside: Aside, piece: Piece) -> Iterator[Finding]:
    text = put_aside.marked[piece.start : piece.end]
    if put_aside.mark.search(text) and put_aside.mark.sub("", text).strip():
        remedy = "Put the text of a table into its cells: mail programs show it above the table."
        yield Finding("liquid_misplaced", put_aside.place(put_aside.marked, piece.start), remedy)


def comments(put_aside: Aside) -> str:
    """The HTML with comments in place of the marks that must not be text."""
    text, last, parts = put_aside.marked, _START, list[str]()
    for piece in walk.pieces(text):
        written = text[piece.start : piece.end]
        if piece.kind is Kind.TEXT:
            written = commented(written, put_aside, is_structure=is_structure(last))
        elif piece.kind is Kind.DECLARATION and not written.lower().startswith("<!doctype"):
            # Parsers would make other comments of <![if mso]> and <?xml?>.
            written = aside.comment(put_aside.hide(written))
        elif piece.kind in {Kind.OPENING, Kind.CLOSING}:
            last = piece
        parts.append(written)
    return _with_bodies("".join(parts), put_aside)


def commented(text: str, put_aside: Aside, *, is_structure: bool) -> str:
    """Tags as comments, and outputs as well where no text may be."""
    return put_aside.mark.sub(
        lambda mark: (
            aside.comment(mark[0]) if is_structure or put_aside.piece(mark).is_silent else mark[0]
        ),
        text,
    )


def _with_bodies(html: str, put_aside: Aside) -> str:
    """Writes <tbody> before Liquid where a parser would write it behind, before the first row.

    What opens there would stand outside the body, and what closes inside.
    """
    starts = {block[0] for block in put_aside.blocks}
    parts, at, last, since = list[str](), 0, _START, -1
    for piece in walk.pieces(html):
        if piece.kind is Kind.COMMENT:
            number = put_aside.number(html[piece.start : piece.end])
            if number in starts:
                since = piece.start if since < 0 else since
            elif number >= 0:
                since = piece.end
        elif piece.kind in {Kind.OPENING, Kind.CLOSING}:
            if since >= 0 and _begins_body(last, piece):
                parts += (html[at:since], "<tbody>")
                at = since
            last, since = piece, -1
    return "".join([*parts, html[at:]])


def _begins_body(last: Piece, piece: Piece) -> bool:
    """Whether a row comes where only bodies are."""
    if piece.name != "tr" or piece.kind is Kind.CLOSING:
        return False
    if last.kind is Kind.OPENING:
        return last.name in {"col", "table"}
    return last.name in {"caption", "colgroup", "tbody", "tfoot", "thead"}


def misplaced(html: str, *, put_aside: Aside) -> list[Finding]:
    """The blocks of Liquid that a finished document begins in one element and ends in another."""
    places: dict[int, list[object]] = {number: [] for block in put_aside.blocks for number in block}
    for piece, parent in _placed(html):
        written = html[piece.start : piece.end]
        for mark in put_aside.mark.finditer(written):
            found = places.get(int(mark["number"]), [])
            is_content = piece.kind is Kind.TEXT or put_aside.number(written) >= 0
            place = parent if is_content else (parent, piece.start)
            # The mark of a comment stands there twice.
            if not (found and found[-1] == place):
                found.append(place)
    return [
        Finding(
            "liquid_misplaced",
            put_aside.place_of(block[0]),
            "This tag and its end are not in the same element. Put both around whole elements, and"
            " close every element that begins between them.",
        )
        for block in put_aside.blocks
        if any(places[number] != places[block[0]] for number in block)
    ]


def _placed(html: str) -> Iterator[tuple[Piece, int]]:
    """Every piece of a document whose elements are all closed, with the element it stands in."""
    opened = [0]
    for piece in walk.pieces(html):
        if piece.kind is Kind.CLOSING and len(opened) > 1:
            opened.pop()
        yield piece, opened[-1]
        if piece.kind is Kind.OPENING and piece.name not in walk.VOID:
            opened.append(piece.start)
