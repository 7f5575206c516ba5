"""Which pictures a page shows and where a mail finds them.

Pictures that Notion hosts are copied, because Notion's addresses of them end after an hour;
others stay where they are.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from postledger.content.checks import Finding
from postledger.content.notion import blocks, inspection, links
from postledger.content.notion.blocks import Block, Image
from postledger.lib.errors import RefusedError

# Copies the picture behind an address and answers where the copy is; may raise UnavailableError.
type Keep = Callable[[str], str]


class UnavailableError(RefusedError):
    code = "picture_unavailable"


@dataclass(frozen=True, slots=True)
class Gathered:
    addresses: Mapping[str, str]  # by the ids of their blocks
    findings: tuple[Finding, ...]


def gather(found: Sequence[Block], *, keep: Keep) -> Gathered:
    addresses: dict[str, str] = {}
    missing: dict[str, Finding] = {}
    for image in blocks.walk(found):
        if not isinstance(image, Image) or image.id in addresses or image.id in missing:
            continue
        try:
            addresses[image.id] = _address(image, keep)
        except UnavailableError as error:
            where = inspection.place(image.id, "image")
            missing[image.id] = Finding(UnavailableError.code, where, str(error))
    return Gathered(addresses, tuple(missing.values()))


def _address(image: Image, keep: Keep) -> str:
    if image.is_hosted:
        return keep(image.url)
    url = links.loadable(image.url)
    if url is None:
        raise UnavailableError(
            "Its address is not one of the web. Its description is shown instead."
            " Upload the picture to Notion."
        )
    return url
