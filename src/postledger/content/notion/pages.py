"""A page of Notion as a mail: subject, HTML, plain text, and the findings about it.

Pictures that Notion hosts are copied, because their URLs expire after an hour; others stay where
they are.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from postledger.content.notion import as_html, as_text, blocks, rich_text
from postledger.content.notion.album import NotCopiedError, UnavailableError
from postledger.content.notion.blocks import Block, Image
from postledger.content.notion.client import Reader
from postledger.content.notion.mailouts import MailoutPage
from postledger.content.notion.rich_text import RichText
from postledger.content.rendering.html.checks import Finding
from postledger.lib.sentences import say

# Copies the picture at a URL and returns the URL of the copy; may raise UnavailableError.
type Keep = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Page:
    mailout: MailoutPage
    html: str
    text: str
    findings: tuple[Finding, ...]


def read(reader: Reader, page_id: str, *, keep: Keep) -> Page:
    """Raises RefusedError when Notion does not show the page; an empty page is an empty text."""
    mailout = reader.mailout(page_id)
    content = reader.blocks(page_id)
    urls, missing = gather_pictures(content, keep=keep)
    return Page(
        mailout=mailout,
        html=as_html.render(content, pictures=urls),
        text=as_text.render(content),
        findings=(*inspect(content), *missing),
    )


def gather_pictures(
    content: Sequence[Block], *, keep: Keep
) -> tuple[Mapping[str, str], list[Finding]]:
    """The URLs of the pictures by the ids of their blocks, and a finding for each missing one."""
    urls: dict[str, str] = {}
    missing: dict[str, Finding] = {}
    for image in blocks.walk(content):
        if not isinstance(image, Image) or image.id in urls or image.id in missing:
            continue
        try:
            urls[image.id] = keep(image.url) if image.is_hosted else _public_url(image)
        except UnavailableError as error:
            place = _place(image.id, "image")
            is_warning = isinstance(error, NotCopiedError)
            missing[image.id] = Finding(error.code, place, error.sentence, is_warning)
    return urls, list(missing.values())


def _public_url(image: Image) -> str:
    url = rich_text.followable(image.url)
    if url is None or not url.lower().startswith(("http://", "https://")):
        raise UnavailableError(
            say(
                "The picture's address does not begin with http:// or https://. Its"
                " description is shown instead. Upload the picture to Notion."
            )
        )
    return url


def inspect(content: Sequence[Block]) -> Iterator[Finding]:
    """The parts that a mail cannot show as Notion does, in the order of the page."""
    for block in blocks.walk(content):
        match block:
            case blocks.Unknown():
                yield _unsupported(block)
            case blocks.HostedFile():
                yield _expiring(block)
            case blocks.Link(url=url) if rich_text.followable(url) is None:
                yield _unfollowable(_place(block.id, block.type), url)
            case _:
                pass
        for span in chain.from_iterable(_texts(block)):
            if span.link and rich_text.followable(span.link) is None:
                yield _unfollowable(say("block %(block)s", block=block.id), span.link)


def _place(block_id: str, block_type: str) -> str:
    return say("block %(block)s (%(type)s)", block=block_id, type=block_type)


def _unsupported(block: blocks.Unknown) -> Finding:
    happened = (
        say("It was left out, because it has no text.")
        if block.text is None
        else say("Its text is shown as a plain paragraph.")
    )
    remedy = say(
        "%(happened)s Replace it in Notion by a block that mails can show.", happened=happened
    )
    return Finding("content_block_unsupported", _place(block.id, block.type), remedy)


def _expiring(block: blocks.HostedFile) -> Finding:
    remedy = say(
        "It is named without a link, because Notion's links to its files end after an"
        " hour. Put the file where it can stay and link it from there."
    )
    return Finding("file_link_expires", _place(block.id, block.type), remedy)


def _unfollowable(place: str, url: str) -> Finding:
    remedy = say(
        "The link to '%(url)s' was left out and its text kept. Use an address that starts"
        " with https, http, mailto or tel.",
        url=url[:80],
    )
    return Finding("link_unsupported", place, remedy)


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
