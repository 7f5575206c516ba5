"""Replaces the Liquid of a text by marks, and puts it back, so that no other parser sees it.

A mark consists of letters and digits, which Markdown, MJML, HTML, CSS and URLs all keep as they
are. It contains the text's own digest, so that nobody can have typed it.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import accumulate

from postledger.content.rendering.html.checks import Finding
from postledger.lib.sentences import say

_MOST = 2_000
_DEEPEST = 30
# Nobody types them on purpose, and parsers stumble over them.
_NO_CONTROLS = dict.fromkeys({*range(1, 32), 127} - {*map(ord, "\t\n\r")}, " ")
_OPENING = re.compile(r"\{\{|\{%-?\s*+(?P<name>#|\w*+)")
_QUOTED = re.compile(r"\"[^\"]*+\"|'[^']*+'")
_NESTED = re.compile(r"\{[{%]")
# Blocks without Liquid in them: they are one tag.
_VERBATIM = frozenset({"comment", "doc", "raw"})
# Tags that print something, as outputs do.
_PRINTING = frozenset({"cycle", "decrement", "echo", "increment", "raw"})
_INNER = frozenset({"else", "elsif", "when"})


@dataclass(frozen=True, slots=True)
class LiquidTag:
    """An output, a tag, or a block without Liquid in it."""

    start: int
    end: int
    name: str  # of the tag; empty for an output

    @property
    def is_silent(self) -> bool:
        """Whether it prints nothing."""
        return bool(self.name) and self.name not in _PRINTING

    @property
    def is_note(self) -> bool:
        """Whether it is a comment for readers of the source."""
        return self.name in {"comment", "doc", "#"}


class MarkedText:
    """A text with marks in place of its Liquid, and the Liquid that they stand for."""

    def __init__(self, text: str, tags: Sequence[LiquidTag], *, place: str) -> None:
        self._original, self._place = text, place
        self.tags = tuple(tags)
        self._hidden: list[str] = []
        self._prefix = f"q{sha256(text.encode()).hexdigest()[:12]}"
        self.marker = re.compile(rf"{self._prefix}(?P<number>\d{{6}})z")
        parts, at = list[str](), 0
        for number, tag in enumerate(tags):
            parts += (text[at : tag.start], f"{self._prefix}{number:06d}z")
            at = tag.end
        self.text = "".join([*parts, text[at:]]).translate(_NO_CONTROLS)
        # The numbers of the tags that belong together: if, else, endif.
        self.blocks = tuple(_blocks([tag.name for tag in tags]))
        self.openings = {number: block[0] for block in self.blocks for number in block[1:]}

    def put_back(self, text: str) -> str:
        """The text with all Liquid in it again, byte for byte."""
        return self._replace(text, "z", self._liquid)

    def hide(self, text: str) -> str:
        """A word that stands for a text until `unhide` restores it."""
        self._hidden.append(text)
        return f"{self._prefix}{len(self._hidden) - 1:06d}y"

    def unhide(self, text: str) -> str:
        return self._replace(text, "y", self._hidden.__getitem__)

    def tag(self, mark: re.Match[str]) -> LiquidTag:
        return self.tags[int(mark["number"])]

    def is_silent(self, text: str) -> bool:
        """Whether a text consists of tags that print nothing, and of spaces."""
        marks = list(self.marker.finditer(text))
        is_silent = bool(marks) and all(self.tag(mark).is_silent for mark in marks)
        return is_silent and not self.marker.sub("", text).strip()

    def number(self, written: str) -> int:
        """The number of the tag that a comment stands for; -1 for an author's comment."""
        mark = self.marker.search(written)
        return int(mark["number"]) if mark and written == comment(mark[0]) else -1

    def place(self, marked: str, offset: int) -> str:
        """The line of the original that an offset of a marked text is on."""
        return self._line(self.put_back(marked[:offset]))

    def place_of(self, number: int) -> str:
        return self._line(self._original[: self.tags[number].start])

    def _replace(self, text: str, end: str, restore: Callable[[int], str]) -> str:
        mark = rf"({self._prefix}(?P<number>\d{{6}}){end})"
        # Patterns that begin with a letter of their own are found at the speed of a plain search.
        words = re.sub(rf"<!--{mark}:\1-->", r"\1", text)
        return re.sub(rf"{mark}(?:: ?\1)?", lambda match: restore(int(match["number"])), words)

    def _line(self, before: str) -> str:
        return f"{self._place}, line {before.count('\n') + 1}"

    def _liquid(self, number: int) -> str:
        tag = self.tags[number]
        return self._original[tag.start : tag.end]


def doubled(mark: str) -> str:
    """A mark that is a declaration, or the content of a comment.

    It is repeated, which no comment and no style of an author can be.
    """
    return f"{mark}:{mark}"


def comment(mark: str) -> str:
    return f"<!--{doubled(mark)}-->"


def mark_liquid(text: str, *, place: str) -> MarkedText | Finding:
    """The text with marks in place of its Liquid, or the problem with the Liquid."""
    tags: list[LiquidTag] = []
    for tag in _find_tags(text):
        if tag.end < 0:
            line = text.count("\n", 0, tag.start) + 1
            remedy = say(
                "%(opening)s has no end here; close it with %(closing)s.",
                opening=text[tag.start : tag.start + 2],
                closing=_name_end(tag, text),
            )
            return Finding("liquid_unclosed", f"{place}, line {line}", remedy)
        tags.append(tag)
        if len(tags) > _MOST:
            return Finding(
                "liquid_too_many", place, say("Use at most %(most)s Liquid tags.", most=_MOST)
            )
    marked = MarkedText(text, tags, place=place)
    if _depth(marked.blocks) > _DEEPEST:
        return Finding("liquid_too_deep", place, say("Nest fewer conditions and loops."))
    return marked


def _name_end(tag: LiquidTag, text: str) -> str:
    if tag.name in _VERBATIM:
        return f"{{% end{tag.name} %}}"
    return "}}" if text.startswith("{{", tag.start) else "%}"


def _find_tags(text: str) -> Iterator[LiquidTag]:
    """All tags in order, up to one without an end."""
    at = 0
    while at >= 0 and (opening := _OPENING.search(text, at)):
        at = _end(text, opening)
        yield LiquidTag(opening.start(), at, opening["name"] or "")


def _end(text: str, opening: re.Match[str]) -> int:
    closing = "}}" if opening["name"] is None else "%}"
    end = text.find(closing, opening.end())
    if end < 0 or _NESTED.search(_QUOTED.sub("", text[opening.end() : end])):
        return -1
    end += len(closing)
    return _block_end(text, opening["name"], end) if opening["name"] in _VERBATIM else end


def _block_end(text: str, name: str, start: int) -> int:
    """Where a verbatim block ends; comments may contain comments."""
    depth = 1
    for tag in re.compile(rf"\{{%-?\s*+(end)?{name}\s*+-?%\}}").finditer(text, start):
        if tag[1]:
            depth -= 1
        elif name == "comment":
            depth += 1
        if not depth:
            return tag.end()
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
    """How deep the blocks are nested."""
    steps = sorted([(block[0], 1) for block in blocks] + [(block[-1], -1) for block in blocks])
    return max(accumulate(step for _, step in steps), default=0)
