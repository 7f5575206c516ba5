"""How neighbouring list items make one list, and how its items are marked in plain text."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import assert_never

from postledger.content.notion import blocks
from postledger.content.notion.blocks import Alone, Block, ListItem, Numbering

_ROMAN = (
    *((1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc")),
    *((50, "l"), (40, "xl"), (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i")),
)
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_LARGEST_ROMAN = 3999


def runs(found: Sequence[Block]) -> Iterator[Alone | tuple[ListItem, ...]]:
    """The blocks in their order, neighbouring items of one kind of list taken together."""
    for _, run in groupby(found, key=_kind):
        items: list[ListItem] = []
        for block in run:
            if isinstance(block, ListItem):
                items.append(block)
            else:
                yield block
        if items:
            yield tuple(items)


def _kind(block: Block) -> type[ListItem] | None:
    return type(block) if isinstance(block, ListItem) else None


def start(items: Sequence[ListItem]) -> int:
    match items[0]:
        case blocks.Numbered(start=int(given)) if given > 0:
            return given
        case _:
            return 1


def marks(items: Sequence[ListItem]) -> Iterator[str]:
    """What stands before each item in plain text; the first item says how a list is numbered."""
    first = items[0]
    numbering = first.numbering if isinstance(first, blocks.Numbered) else Numbering.NUMBERS
    for number, item in enumerate(items, start(items)):
        match item:
            case blocks.Bullet():
                yield "-"
            case blocks.ToDo(is_checked=is_checked):
                yield "[x]" if is_checked else "[ ]"
            case blocks.Numbered():
                yield f"{_numeral(number, numbering)}."
            case _:
                assert_never(item)


def _numeral(number: int, numbering: Numbering) -> str:
    match numbering:
        case Numbering.LETTERS:
            return _letters(number)
        case Numbering.ROMAN if number <= _LARGEST_ROMAN:
            return _roman(number)
        case _:
            return str(number)


def _letters(number: int) -> str:
    """As browsers count: after z comes aa."""
    written = ""
    while number:
        number, place = divmod(number - 1, len(_LETTERS))
        written = _LETTERS[place] + written
    return written


def _roman(number: int) -> str:
    written = ""
    for value, sign in _ROMAN:
        count, number = divmod(number, value)
        written += sign * count
    return written
