"""Writes where a page ended as text that callers hand back, and reads it again."""

import binascii
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode

from postledger.deliveries.search import Cursor

PATTERN = "[0-9a-f]{1,6}-[0-9a-f]{1,16}"

_WRITTEN = re.compile(PATTERN)
_END = 1 << 62


def write(cursor: Cursor) -> str:
    return f"{cursor.month:x}-{cursor.position:x}"


def read(text: str) -> Cursor | None:
    """None for anything that was not written here: cursors come back from strangers."""
    if not _WRITTEN.fullmatch(text):
        return None
    month, position = (int(part, 16) for part in text.split("-"))
    return Cursor(month, min(position, _END))


def write_place(place: str) -> str:
    return urlsafe_b64encode(place.encode()).decode().rstrip("=")


def read_place(text: str) -> str:
    """ValueError for what was not written here."""
    try:
        place = urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode()
    except (binascii.Error, ValueError):
        place = ""
    if not place or "\0" in place:
        raise ValueError("give `next` of the page before")
    return place
