"""The blocks of a Notion page as values: what a mail can show of each, and nothing else."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from postledger.content.notion.rich_text import RichText


class Numbering(StrEnum):
    NUMBERS = "numbers"
    LETTERS = "letters"
    ROMAN = "roman"


@dataclass(frozen=True, slots=True)
class Paragraph:
    id: str
    text: RichText
    color: str = "default"
    children: "Blocks" = ()


@dataclass(frozen=True, slots=True)
class Heading:
    id: str
    level: int
    text: RichText
    color: str = "default"
    children: "Blocks" = ()


@dataclass(frozen=True, slots=True)
class Bullet:
    id: str
    text: RichText
    color: str = "default"
    children: "Blocks" = ()


@dataclass(frozen=True, slots=True)
class Numbered:
    id: str
    text: RichText
    color: str = "default"
    children: "Blocks" = ()
    start: int | None = None  # given by the first item of a list that does not start at 1
    numbering: Numbering = Numbering.NUMBERS


@dataclass(frozen=True, slots=True)
class ToDo:
    id: str
    text: RichText
    is_checked: bool
    color: str = "default"
    children: "Blocks" = ()


@dataclass(frozen=True, slots=True)
class Toggle:
    """A title over what belongs to it; a tab is one, too."""

    id: str
    text: RichText
    color: str = "default"
    children: "Blocks" = ()


@dataclass(frozen=True, slots=True)
class Quote:
    id: str
    text: RichText
    color: str = "default"
    children: "Blocks" = ()


@dataclass(frozen=True, slots=True)
class Callout:
    id: str
    text: RichText
    icon: str
    color: str = "default"
    children: "Blocks" = ()


@dataclass(frozen=True, slots=True)
class Unknown:
    """A type this program does not know; only what has rich text can be shown."""

    id: str
    type: str
    text: RichText | None
    children: "Blocks" = ()


@dataclass(frozen=True, slots=True)
class Group:
    """Blocks without a look of their own: columns and synced blocks."""

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
class Nothing:
    """What only helps inside Notion: breadcrumbs, tables of contents, template buttons."""

    id: str


@dataclass(frozen=True, slots=True)
class Image:
    id: str
    url: str
    is_hosted: bool  # by Notion, whose addresses end after an hour
    caption: RichText


@dataclass(frozen=True, slots=True)
class HostedFile:
    """A film, a sound or a document that Notion keeps; its address would end after an hour."""

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
Literal = Code | Equation | Divider | Nothing
Tabular = Table | Row
type Alone = Titled | Group | Embedded | Literal | Tabular
type Block = ListItem | Alone
type Blocks = tuple[Block, ...]


def walk(blocks: Sequence[Block]) -> Iterator[Block]:
    """Every block, top-down, each before what is inside it."""
    for block in blocks:
        yield block
        if isinstance(block, Parent):
            yield from walk(block.children)
        elif isinstance(block, Table):
            yield from block.rows
