"""What a page holds that a mail cannot show as Notion does, one finding for each."""

from collections.abc import Iterator, Sequence
from itertools import chain

from postledger.content.checks import Finding
from postledger.content.notion import blocks, links
from postledger.content.notion.blocks import Block
from postledger.content.notion.rich_text import RichText


def findings(found: Sequence[Block]) -> Iterator[Finding]:
    """In the order of the page."""
    for block in blocks.walk(found):
        match block:
            case blocks.Unknown():
                yield _unsupported(block)
            case blocks.HostedFile():
                yield _expiring(block)
            case blocks.Link(url=url) if links.followable(url) is None:
                yield _unfollowable(place(block.id, block.type), url)
            case _:
                pass
        for span in chain.from_iterable(_texts(block)):
            if span.link and links.followable(span.link) is None:
                yield _unfollowable(f"block {block.id}", span.link)


def place(block_id: str, block_type: str) -> str:
    return f"block {block_id} ({block_type})"


def _unsupported(block: blocks.Unknown) -> Finding:
    happened = (
        "It was left out, because it has no text."
        if block.text is None
        else "Its text is shown as a plain paragraph."
    )
    remedy = f"{happened} Replace it in Notion by a block that mails can show."
    return Finding("content_block_unsupported", place(block.id, block.type), remedy)


def _expiring(block: blocks.HostedFile) -> Finding:
    remedy = (
        "It is named without a link, because Notion's links to its files end after an hour."
        " Put the file where it can stay and link it from there."
    )
    return Finding("file_link_expires", place(block.id, block.type), remedy)


def _unfollowable(where: str, url: str) -> Finding:
    remedy = (
        f"The link to {url[:80]!r} was left out and its text kept."
        " Use an address that starts with https, http, mailto or tel."
    )
    return Finding("link_unsupported", where, remedy)


def _texts(block: Block) -> tuple[RichText, ...]:
    match block:
        case blocks.Row():
            return block.cells
        case blocks.Code() | blocks.Image():
            return (block.caption,)
        case _ if isinstance(block, blocks.ListItem | blocks.Titled):
            return (block.text or (),)
        case _:
            return ()
