"""Which addresses a reader of a mail may follow, and how Notion's own are written in full."""

import re

NOTION = "https://www.notion.so"

# A browser leaves out tabs and line ends wherever they stand, so none may stand anywhere.
_FOLLOWABLE = re.compile(
    r"(?:https?://[^/\\\s]|mailto:\S|tel:\S)[^\x00-\x1f\x7f]*", re.ASCII | re.IGNORECASE
)
# How Notion writes a link from one of its pages to another.
_WITHIN = re.compile(r"/[0-9a-f]{32}(?:[?#][^\s]*)?", re.ASCII)


def followable(url: str) -> str | None:
    """The address to put into a mail; None for one that leads nowhere or runs a program."""
    url = url.strip()
    if _WITHIN.fullmatch(url):
        return NOTION + url
    return url if _FOLLOWABLE.fullmatch(url) else None


def loadable(url: str) -> str | None:
    """The same for what is loaded and shown, as a picture is."""
    found = followable(url)
    return found if found and found.lower().startswith(("http://", "https://")) else None


def to_page(page_id: str) -> str:
    return f"{NOTION}/{page_id.replace('-', '')}"
