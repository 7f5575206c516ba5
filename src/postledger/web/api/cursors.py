"""Writes a search's cursor as text that callers hand back, and reads it again."""

import re

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
