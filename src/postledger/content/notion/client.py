"""Reads pages of Notion: their properties, and all their blocks in the order of the page."""

import math
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

from postledger.content.notion import fields, mailouts, parsing
from postledger.content.notion.api import Api, NotionPageNotFoundError, NotionPageTooLargeError
from postledger.content.notion.blocks import Block, Blocks
from postledger.content.notion.fields import Record
from postledger.content.notion.mailouts import MailoutPage
from postledger.content.notion.writing import Writer
from postledger.lib.sentences import say

API = "https://api.notion.com"
MOST_LEVELS = 50
MOST_BLOCKS = 10_000

_PAGE_SIZE = 100


@contextmanager
def connect(  # noqa: PLR0913  the parts of a connection, each by its name
    token: str,
    *,
    base_url: str = API,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
    seconds: float = 30.0,
    patience: float = math.inf,
) -> Iterator["Reader"]:
    """A reader inside the block; `seconds` is how long one answer may take, and `patience` how long
    all of them.
    """
    api = Api(
        token, base_url=base_url, sleep=sleep, clock=clock, seconds=seconds, patience=patience
    )
    with closing(api):
        yield Reader(api)


class Reader:
    def __init__(self, api: Api) -> None:
        self._api = api

    def writer(self) -> Writer:
        """A writer that shares the connection and the rate limit of the reader."""
        return Writer(self._api)

    def check_token(self) -> None:
        """Raises RefusedError if Notion refuses the token, or cannot be asked; asks once."""
        self._api.call("GET", "users/me", is_repeatable=False)

    def check_database(self, database_id: str) -> None:
        """Raises RefusedError if Notion does not show the database; asks once."""
        self._api.call("GET", f"databases/{canonical(database_id)}", is_repeatable=False)

    def sees_any_page(self) -> bool:
        """Whether a page or a database is shared with the token; of new ones Notion learns late."""
        body: dict[str, object] = {"page_size": 1}
        answer = self._api.call("POST", "search", body=body, is_repeatable=False)
        return bool(fields.records(answer, "results"))

    def mailout(self, page_id: str) -> MailoutPage:
        return mailouts.parse(self._api.call("GET", f"pages/{canonical(page_id)}"))

    def blocks(self, page_id: str) -> Blocks:
        """All blocks of the page; raises RefusedError rather than returning a part of them."""
        return _Walk(self._api).inside(canonical(page_id), level=1)


class _Walk:
    """Walks over a page depth-first, and counts its blocks."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._count = 0

    def inside(self, block_id: str, *, level: int) -> Blocks:
        if level > MOST_LEVELS:
            raise NotionPageTooLargeError(
                say(
                    "The page is nested more than %(most)s levels deep, or its synced"
                    " blocks contain themselves. Flatten it in Notion.",
                    most=MOST_LEVELS,
                )
            )
        return tuple(self._block(raw, level) for raw in self._children(block_id))

    def _block(self, raw: Record, level: int) -> Block:
        source = parsing.children_id(raw)
        children = self.inside(source, level=level + 1) if source else ()
        return parsing.parse_block(raw, children=children)

    def _children(self, block_id: str) -> Iterator[Record]:
        query = {"page_size": str(_PAGE_SIZE)}
        while True:
            answer = self._api.call("GET", f"blocks/{block_id}/children", query=query)
            results = fields.records(answer, "results")
            self._count_blocks(len(results))
            yield from results
            cursor = fields.text(answer, "next_cursor")
            if not fields.flag(answer, "has_more") or not cursor:
                return
            query["start_cursor"] = cursor

    def _count_blocks(self, count: int) -> None:
        self._count += count
        if self._count > MOST_BLOCKS:
            raise NotionPageTooLargeError(
                say(
                    "The page has more than %(most)s blocks, which is too much for a"
                    " mail. Shorten it, or split it into several pages.",
                    most=MOST_BLOCKS,
                )
            )


def canonical(page_id: str) -> str:
    """The id of a page as Notion writes it; raises NotionPageNotFoundError for an invalid id."""
    try:
        return str(uuid.UUID(page_id.strip()))
    except ValueError:
        raise NotionPageNotFoundError(
            say(
                "'%(page_id)s' is not the id of a Notion page: an id has 32 digits from 0 to"
                " f. Copy it from the end of the page's link.",
                page_id=page_id[:64],
            )
        ) from None
