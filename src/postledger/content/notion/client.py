"""Reads pages of Notion: their properties, and all their blocks in the order of the page."""

import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

from postledger.content.notion import fields, mailouts, parsing, refusals
from postledger.content.notion.blocks import Block, Blocks
from postledger.content.notion.fields import Record
from postledger.content.notion.mailouts import Mailout
from postledger.content.notion.wire import Wire
from postledger.content.notion.writing import Writer

API = "https://api.notion.com"
MOST_LEVELS = 50
MOST_BLOCKS = 10_000

_PAGE_SIZE = 100


@contextmanager
def connect(
    token: str,
    *,
    base_url: str = API,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
    seconds: float = 30.0,
) -> Iterator["Reader"]:
    """A reader for as long as the block lasts; `seconds` is how long one answer may take."""
    wire = Wire(token, base_url=base_url, sleep=sleep, clock=clock, seconds=seconds)
    with closing(wire):
        yield Reader(wire)


class Reader:
    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    def writer(self) -> Writer:
        """Writes over the same line, and together with the reader no faster than it allows."""
        return Writer(self._wire)

    def mailout(self, page_id: str) -> Mailout:
        return mailouts.parse(self._wire.get(f"pages/{canonical(page_id)}"))

    def blocks(self, page_id: str) -> Blocks:
        """The whole tree, or a refusal: never a part of it."""
        return _Walk(self._wire).inside(canonical(page_id), level=1)


class _Walk:
    """One walk over a page, depth-first; knows how much of it there is already."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._count = 0

    def inside(self, block_id: str, *, level: int) -> Blocks:
        if level > MOST_LEVELS:
            raise refusals.PageTooLargeError(
                f"The page is nested more than {MOST_LEVELS} levels deep, or its synced blocks"
                " contain themselves. Flatten it in Notion."
            )
        return tuple(self._block(raw, level) for raw in self._children(block_id))

    def _block(self, raw: Record, level: int) -> Block:
        source = parsing.children_of(raw)
        children = self.inside(source, level=level + 1) if source else ()
        return parsing.block(raw, children=children)

    def _children(self, block_id: str) -> Iterator[Record]:
        query = {"page_size": str(_PAGE_SIZE)}
        while True:
            answer = self._wire.get(f"blocks/{block_id}/children", query=query)
            found = fields.records(answer, "results")
            self._add(len(found))
            yield from found
            cursor = fields.text(answer, "next_cursor")
            if not fields.flag(answer, "has_more") or not cursor:
                return
            query["start_cursor"] = cursor

    def _add(self, count: int) -> None:
        self._count += count
        if self._count > MOST_BLOCKS:
            raise refusals.PageTooLargeError(
                f"The page has more than {MOST_BLOCKS} blocks, which is no mail any more."
                " Shorten it, or split it into several pages."
            )


def canonical(page_id: str) -> str:
    """The id of a page as Notion writes it; raises PageNotFoundError for what is none."""
    try:
        return str(uuid.UUID(page_id.strip()))
    except ValueError:
        raise refusals.PageNotFoundError(
            f"{page_id[:64]!r} is not the id of a Notion page: an id has 32 digits from 0 to f."
            " Copy it from the end of the page's link."
        ) from None
