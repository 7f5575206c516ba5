"""The links and pictures of a mail that are the same for every reader."""

from postledger.content.rendering.html import html_tokens
from postledger.content.rendering.html.html_tokens import Kind
from postledger.content.rendering.liquid.liquid_text import split_liquid

_LIQUID = "\0"  # stands for a value or a tag; no link has it, not even as an entity
_ADDRESSES = {"a": "href", "img": "src"}
_ASKABLE = ("http://", "https://")


def list_links(html: str) -> tuple[str, ...]:
    """The web addresses of a letter, each once, in the order of its text.

    A link that Liquid writes or changes is left out: it may be one reader's own.
    """
    parts = split_liquid(html.replace(_LIQUID, ""))
    parts[1::2] = [_LIQUID] * len(parts[1::2])
    bare = "".join(parts)
    links = dict[str, None]()
    for tag in html_tokens.tags_of_every_reading(bare):
        if tag.kind is Kind.OPENING and tag.name in _ADDRESSES:
            link = html_tokens.decode(html_tokens.value(bare, tag, _ADDRESSES[tag.name])).strip()
            if link.lower().startswith(_ASKABLE) and _LIQUID not in link:
                links[link] = None
    return tuple(links)
