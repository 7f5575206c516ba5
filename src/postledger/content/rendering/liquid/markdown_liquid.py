"""Liquid between the blocks of Markdown: a line of tags is no paragraph, and ends no list.

Items or rows behind such a line belong to the same list or table: a loop around an item makes
items, not lists.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from markdown_it.rules_block import StateBlock
from markdown_it.token import Token

from postledger.content.rendering.liquid.liquid_markers import MarkedText

type Unit = list[Token]  # one block with its content

_LISTS = frozenset({"bullet_list_open", "ordered_list_open"})
_LOOPS = frozenset({"for", "tablerow"})
_NEUTRAL = ""
_OTHER = "other"


def rule(state: StateBlock, start_line: int, _end_line: int, silent: bool) -> bool:  # noqa: FBT001  as the parser calls it
    """Reads a line that holds nothing but tags."""
    marked: MarkedText = state.env["marked"]
    start = state.bMarks[start_line] + state.tShift[start_line]
    line = state.src[start : state.eMarks[start_line]]
    if not marked.is_silent(line):
        return False
    if silent and state.parentType == "table":
        return _ends_table(line, state, marked)
    if not silent:
        for mark in marked.marker.finditer(line):
            state.push("liquid", "", 0).content = mark[0]
        state.line = start_line + 1
    return True


def _ends_table(line: str, state: StateBlock, marked: MarkedText) -> bool:
    """Whether a line of tags continues a block of Liquid that began before the table."""
    first = next(marked.marker.finditer(state.src, state.bMarks[state.line]))
    here = int(next(marked.marker.finditer(line))["number"])
    return marked.openings.get(here, here) < int(first["number"])


def units(tokens: Sequence[Token]) -> Iterator[Unit]:
    """The blocks in their order, each with its content."""
    unit, depth = list[Token](), 0
    for token in tokens:
        unit.append(token)
        depth += token.nesting
        if not depth:
            yield unit
            unit = []


def join_divided(tokens: Sequence[Token], *, marked: MarkedText) -> list[Token]:
    """The same blocks, with lists and tables joined that only Liquid divides."""
    inner = [part for unit in units(tokens) for part in _join_inside(unit, marked=marked)]
    return list(_Siblings(inner, marked).tokens(0, len(inner)))


def _join_inside(unit: Unit, *, marked: MarkedText) -> Iterator[Unit]:
    if unit[0].type == "table_open":
        yield from _table(unit, marked=marked)
    elif unit[0].nesting:
        yield [unit[0], *join_divided(unit[1:-1], marked=marked), unit[-1]]
    else:
        yield unit


def _table(unit: Unit, *, marked: MarkedText) -> Iterator[Unit]:
    """A table in which rows of tags are not rows; the last of them may belong behind it."""
    kept: Unit = []
    row: Unit | None = None
    for token in unit:
        if token.type == "tr_open":
            row = []
        (kept if row is None else row).append(token)
        if token.type == "tr_close" and row is not None:
            written = " ".join(cell.content for cell in row)
            kept += _tags(written, marked) if marked.is_silent(written) else row
            row = None
    inside = {_number(token, marked) for token in kept if token.type == "liquid"}
    blocks = marked.blocks if inside else ()
    complete = {number for block in blocks if inside.issuperset(block) for number in block}
    behind: Unit = []
    # Behind the last row come the ends of the body and of the table.
    while kept[-3].type == "liquid" and _number(kept[-3], marked) not in complete:
        behind.insert(0, kept.pop(-3))
    yield kept
    yield from ([token] for token in behind)


def _tags(written: str, marked: MarkedText) -> Iterator[Token]:
    for mark in marked.marker.finditer(written):
        yield Token("liquid", "", 0, content=mark[0])


def _number(token: Token, marked: MarkedText) -> int:
    match = marked.marker.fullmatch(token.content)
    return int(match["number"]) if match else -1


@dataclass(frozen=True, slots=True)
class _Node:
    """One block, or a block of Liquid with all blocks in it."""

    start: int
    end: int
    kind: str


class _Siblings:
    def __init__(self, inner: Sequence[Unit], marked: MarkedText) -> None:
        self._units, self._marked = inner, marked
        at_number = {
            _number(unit[0], marked): at
            for at, unit in enumerate(inner)
            if unit[0].type == "liquid"
        }
        # The tags of each block of Liquid that is complete here, by the first.
        self._blocks = {
            at_number[block[0]]: [at_number[number] for number in block]
            for block in (marked.blocks if at_number else ())
            if all(number in at_number for number in block)
        }

    def tokens(self, start: int, end: int) -> Iterator[Token]:
        nodes = self._nodes(start, end)
        at = 0
        while at < len(nodes):
            run = self._run(nodes, at)
            if run:
                yield from self._join_list(run)
            else:
                yield from self._keep_apart(nodes[at])
            at += len(run) or 1

    def _nodes(self, start: int, end: int) -> list[_Node]:
        nodes = []
        while start < end:
            last = self._blocks.get(start, [start])[-1]
            nodes.append(_Node(start, last + 1, self._kind(start, last)))
            start = last + 1
        return nodes

    def _kind(self, start: int, last: int) -> str:
        """The list that all units are part of; `_OTHER` where they are not part of one list."""
        kinds = {_kind(self._units[at][0]) for at in range(start, last + 1)} - {_NEUTRAL}
        return kinds.pop() if len(kinds) == 1 else (_OTHER if kinds else _NEUTRAL)

    def _run(self, nodes: Sequence[_Node], at: int) -> Sequence[_Node]:
        """The nodes from `at` on that make one list; empty where the node is a list already."""
        kind = nodes[at].kind
        if kind in {_OTHER, _NEUTRAL}:
            return ()
        end = at + 1
        for number in range(at + 1, len(nodes)):
            if nodes[number].kind == kind:
                end = number + 1
            elif nodes[number].kind != _NEUTRAL:
                break
        return nodes[at:end] if end > at + 1 or self._is_loop(nodes[at]) else ()

    def _is_loop(self, node: _Node) -> bool:
        number = _number(self._units[node.start][0], self._marked)
        return number >= 0 and self._marked.tags[number].name in _LOOPS

    def _join_list(self, run: Sequence[_Node]) -> Iterator[Token]:
        inside = self._units[run[0].start : run[-1].end]
        first = next(unit for unit in inside if unit[0].type in _LISTS)
        yield first[0]
        for unit in inside:
            yield from unit if unit[0].type == "liquid" else unit[1:-1]
        yield first[-1]

    def _keep_apart(self, node: _Node) -> Iterator[Token]:
        """A block as it is; content between the tags of a block of Liquid is joined by itself."""
        tags = self._blocks.get(node.start, [node.start])
        yield from self._units[node.start]
        for before, tag in pairwise(tags):
            yield from self.tokens(before + 1, tag)
            yield from self._units[tag]


def _kind(token: Token) -> str:
    if token.type == "liquid":
        return _NEUTRAL
    return f"{token.type} {token.markup}" if token.type in _LISTS else _OTHER
