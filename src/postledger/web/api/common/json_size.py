"""Bounds the number of values in a JSON text before anybody parses it.

A parsed value takes up to a hundred times the bytes that it has in the text.
"""

import re

from postledger.lib.errors import TooLargeError

MOST_VALUES = 100_000

# Every value but the first follows a comma or the start of a list or an object.
_STARTS = (b",", b"[", b"{")
_STRING_OR_START = re.compile(rb'"[^"]*+"?|[,\[{]')
# Keys and values.
_MOST_STRINGS = 2 * MOST_VALUES


class TooManyValuesError(TooLargeError):
    code = "too_many_values"


def refuse_many_values(text: bytes) -> None:
    if _exceeds(text):
        raise TooManyValuesError(
            f"The body has more than {MOST_VALUES:,} values. Divide it into several requests."
        )


def _exceeds(text: bytes) -> bool:
    """Takes a time that is linear in the size of the text."""
    # Counts commas in strings as well, and is right about nearly every request.
    if sum(map(text.count, _STARTS)) <= MOST_VALUES:
        return False
    values = strings = 0
    text = text.replace(rb"\\", b"").replace(rb"\"", b"")
    for match in _STRING_OR_START.finditer(text):
        if text[match.start()] == ord('"'):
            strings += 1
        else:
            values += 1
        if values > MOST_VALUES or strings > _MOST_STRINGS:
            return True
    return False
