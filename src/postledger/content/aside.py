"""Puts the Liquid of a text aside, and back, so that no parser of anything else sees it.

In its place stands a mark: letters and digits, which Markdown, MJML, HTML, CSS and addresses all
keep as they are. It is made of the text's own digest, so that nobody can have typed it.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import accumulate

from postledger.content.checks import Finding

_MOST = 2_000
_DEEPEST = 30
# Nobody means them, and parsers stumble over them.
_NO_CONTROLS = dict.fromkeys({*range(1, 32), 127} - {*map(ord, "\t\n\r")}, " ")
_OPENING = re.compile(r"\{\{|\{%-?\s*+(?P<name>#|\w*+)")
_QUOTED = re.compile(r"\"[^\"]*+\"|'[^']*+'")
_NESTED = re.compile(r"\{[{%]")
# Blocks without Liquid in them: they are one piece.
_WHOLE = frozenset({"comment", "doc", "raw"})
# Tags that print something, as outputs do.
_PRINTING = frozenset({"cycle", "decrement", "echo", "increment", "raw"})
_INNER = frozenset({"else", "elsif", "when"})


@dataclass(frozen=True, slots=True)
class Piece:
    """One piece of Liquid: an output, a tag, or a block without Liquid in it."""

    start: int
    end: int
    name: str  # of the tag; empty for an output

    @property
    def is_silent(self) -> bool:
        """Whether it leaves nothing where it stands."""
        return bool(self.name) and self.name not in _PRINTING

    @property
    def is_note(self) -> bool:
        """Whether it is for those who read the source, and nobody misses it."""
        return self.name in {"comment", "doc", "#"}


class Aside:
    """A text with marks in place of its Liquid, and what they stand for."""

    def __init__(self, text: str, pieces: Sequence[Piece], *, place: str) -> None:
        self._text, self._place = text, place
        self.pieces = tuple(pieces)
        self._hidden: list[str] = []
        self._prefix = f"q{sha256(text.encode()).hexdigest()[:12]}"
        self.mark = re.compile(rf"{self._prefix}(?P<number>\d{{6}})z")
        parts, at = list[str](), 0
        for number, piece in enumerate(pieces):
            parts += (text[at : piece.start], f"{self._prefix}{number:06d}z")
            at = piece.end
        self.marked = "".join([*parts, text[at:]]).translate(_NO_CONTROLS)
        # The numbers of the tags that belong together: if, else, endif.
        self.blocks = tuple(_blocks([piece.name for piece in pieces]))
        self.openings = {number: block[0] for block in self.blocks for number in block[1:]}

    def put_back(self, text: str) -> str:
        """The text with all Liquid in it again, byte for byte."""
        return self._replaced(text, "z", self._written)

    def hide(self, text: str) -> str:
        """A word that stands for a text which nobody but `unhide` is to read."""
        self._hidden.append(text)
        return f"{self._prefix}{len(self._hidden) - 1:06d}y"

    def unhide(self, text: str) -> str:
        return self._replaced(text, "y", self._hidden.__getitem__)

    def piece(self, found: re.Match[str]) -> Piece:
        return self.pieces[int(found["number"])]

    def is_silent(self, text: str) -> bool:
        """Whether a text consists of tags that leave nothing, and of spaces."""
        found = list(self.mark.finditer(text))
        return (
            bool(found)
            and all(self.piece(mark).is_silent for mark in found)
            and not self.mark.sub("", text).strip()
        )

    def number(self, written: str) -> int:
        """Which piece a comment stands for; -1 where somebody wrote it."""
        found = self.mark.search(written)
        return int(found["number"]) if found and written == comment(found[0]) else -1

    def place(self, marked: str, offset: int) -> str:
        """Where something of a marked text stands in what was written."""
        return self._line(self.put_back(marked[:offset]))

    def place_of(self, number: int) -> str:
        return self._line(self._text[: self.pieces[number].start])

    def _replaced(self, text: str, end: str, written: Callable[[int], str]) -> str:
        mark = rf"({self._prefix}(?P<number>\d{{6}}){end})"
        # Patterns that begin with a letter of their own are found at the speed of a plain search.
        words = re.sub(rf"<!--{mark}:\1-->", r"\1", text)
        return re.sub(rf"{mark}(?:: ?\1)?", lambda found: written(int(found["number"])), words)

    def _line(self, before: str) -> str:
        return f"{self._place}, line {before.count('\n') + 1}"

    def _written(self, number: int) -> str:
        piece = self.pieces[number]
        return self._text[piece.start : piece.end]


def doubled(mark: str) -> str:
    """A mark that has to be more than a word: a declaration, or the content of a comment.

    It stands there twice, which neither a comment nor a style that somebody wrote can do.
    """
    return f"{mark}:{mark}"


def comment(mark: str) -> str:
    return f"<!--{doubled(mark)}-->"


def take(text: str, *, place: str) -> Aside | Finding:
    """The text without its Liquid, or what is wrong with that."""
    pieces: list[Piece] = []
    for piece in _pieces(text):
        if piece.end < 0:
            line = text.count("\n", 0, piece.start) + 1
            opening = text[piece.start : piece.start + 2]
            remedy = f"{opening} has no end here; close it before the next one."
            return Finding("liquid_unclosed", f"{place}, line {line}", remedy)
        pieces.append(piece)
        if len(pieces) > _MOST:
            return Finding("liquid_too_many", place, f"Use at most {_MOST} Liquid tags.")
    put_aside = Aside(text, pieces, place=place)
    if _depth(put_aside.blocks) > _DEEPEST:
        return Finding("liquid_too_deep", place, "Nest fewer conditions and loops.")
    return put_aside


def _pieces(text: str) -> Iterator[Piece]:
    """All pieces in order, up to one that does not end."""
    at = 0
    while at >= 0 and (found := _OPENING.search(text, at)):
        at = _end(text, found)
        yield Piece(found.start(), at, found["name"] or "")


def _end(text: str, opening: re.Match[str]) -> int:
    closing = "}}" if opening["name"] is None else "%}"
    end = text.find(closing, opening.end())
    if end < 0 or _NESTED.search(_QUOTED.sub("", text[opening.end() : end])):
        return -1
    end += len(closing)
    return _block_end(text, opening["name"], end) if opening["name"] in _WHOLE else end


def _block_end(text: str, name: str, start: int) -> int:
    """Where a block that is one piece ends; comments may hold comments."""
    depth = 1
    for found in re.compile(rf"\{{%-?\s*+(end)?{name}\s*+-?%\}}").finditer(text, start):
        if found[1]:
            depth -= 1
        elif name == "comment":
            depth += 1
        if not depth:
            return found.end()
    return -1


def _blocks(names: Sequence[str]) -> Iterator[tuple[int, ...]]:
    closed = {name.removeprefix("end") for name in names if name.startswith("end")}
    opened: list[list[int]] = []
    for number, name in enumerate(names):
        if name in closed:
            opened.append([number])
        elif name in _INNER and opened:
            opened[-1].append(number)
        elif name.startswith("end"):
            while opened and names[opened[-1][0]] != name.removeprefix("end"):
                opened.pop()
            if opened:
                yield (*opened.pop(), number)


def _depth(blocks: Sequence[tuple[int, ...]]) -> int:
    """How many blocks are inside one another."""
    steps = sorted([(block[0], 1) for block in blocks] + [(block[-1], -1) for block in blocks])
    return max(accumulate(step for _, step in steps), default=0)
