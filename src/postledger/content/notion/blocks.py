"""The blocks of a Notion page as values, with the parts of each that a mail can show."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby

from postledger.content.notion.rich_text import RichText


class Numbering(StrEnum):
    NUMBERS = "numbers"
    LETTERS = "letters"
    ROMAN = "roman"


@dataclass(frozen=True, slots=True)
class _TextBlock:
    id: str
    text: RichText
    color: str = "default"
    children: "Blocks" = ()


class Paragraph(_TextBlock):
    __slots__ = ()


class Toggle(_TextBlock):
    """A title over its content; a tab is one, too."""

    __slots__ = ()


class Quote(_TextBlock):
    __slots__ = ()


class Bullet(_TextBlock):
    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Numbered(_TextBlock):
    start: int | None = None  # given by the first item of a list that does not start at 1
    numbering: Numbering = Numbering.NUMBERS


@dataclass(frozen=True, slots=True)
class ToDo(_TextBlock):
    is_checked: bool = False


@dataclass(frozen=True, slots=True)
class Callout(_TextBlock):
    icon: str = ""


@dataclass(frozen=True, slots=True)
class Heading(_TextBlock):
    level: int = 1


@dataclass(frozen=True, slots=True)
class Unknown:
    """A type that this program does not know; it is shown if it has rich text."""

    id: str
    type: str
    text: RichText | None
    children: "Blocks" = ()


@dataclass(frozen=True, slots=True)
class Group:
    """Blocks that only hold others: columns and synced blocks."""

    id: str
    children: "Blocks"


@dataclass(frozen=True, slots=True)
class Code:
    id: str
    text: str
    language: str
    caption: RichText


@dataclass(frozen=True, slots=True)
class Equation:
    id: str
    expression: str


@dataclass(frozen=True, slots=True)
class Divider:
    id: str


@dataclass(frozen=True, slots=True)
class Image:
    id: str
    url: str
    is_hosted: bool  # by Notion, whose URLs expire after an hour
    caption: RichText


@dataclass(frozen=True, slots=True)
class HostedFile:
    """A video, a sound or a document that Notion hosts; its URL expires after an hour."""

    id: str
    type: str
    label: str


@dataclass(frozen=True, slots=True)
class Link:
    id: str
    type: str
    url: str
    label: str


@dataclass(frozen=True, slots=True)
class Row:
    id: str
    cells: tuple[RichText, ...]


@dataclass(frozen=True, slots=True)
class Table:
    id: str
    rows: tuple[Row, ...]
    has_column_header: bool
    has_row_header: bool


ListItem = Bullet | Numbered | ToDo
Titled = Paragraph | Heading | Toggle | Quote | Callout | Unknown
Parent = ListItem | Titled | Group
Embedded = Image | HostedFile | Link
LeafBlock = Code | Equation | Divider | Table | Row
type SingleBlock = Titled | Group | Embedded | LeafBlock
type Block = ListItem | SingleBlock
type Blocks = tuple[Block, ...]


def walk(blocks: Sequence[Block]) -> Iterator[Block]:
    """Every block, each before its children."""
    for block in blocks:
        yield block
        if isinstance(block, Parent):
            yield from walk(block.children)
        elif isinstance(block, Table):
            yield from block.rows


def group_lists(blocks: Sequence[Block]) -> Iterator[SingleBlock | tuple[ListItem, ...]]:
    """The blocks in their order, neighbouring items of one kind of list taken together."""
    for _, run in groupby(blocks, key=lambda block: isinstance(block, ListItem) and type(block)):
        items: list[ListItem] = []
        for block in run:
            if isinstance(block, ListItem):
                items.append(block)
            else:
                yield block
        if items:
            yield tuple(items)


def first_number(items: Sequence[ListItem]) -> int:
    match items[0]:
        case Numbered(start=int(start)) if start > 0:
            return start
        case _:
            return 1
