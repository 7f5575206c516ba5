"""Values that came as JSON and are to be kept: what of them cannot be stored."""

import json
import re
from collections.abc import Iterator, Mapping

_BROKEN = re.compile("[\x00\ud800-\udfff]")


def flaw(values: Mapping[str, object], *, most: int) -> str | None:
    """Why they cannot be kept, as a sentence; `most` is how many bytes of JSON they may be."""
    try:
        size = len(json.dumps(values, allow_nan=False))
    except (ValueError, RecursionError):
        return "They hold a number without end, or nest too deeply."
    if size > most:
        return f"They are {size} bytes of JSON; at most {most} are taken."
    # PostgreSQL stores no NUL, and half a character has no bytes.
    if any(_BROKEN.search(text) for text in _texts(values)):
        return "They hold U+0000 or half a character; remove it."
    return None


def _texts(values: object) -> Iterator[str]:
    left: list[object] = [values]
    while left:
        match left.pop():
            case str(text):
                yield text
            case list(items):
                left += items
            case dict(items):
                left += [*items.keys(), *items.values()]
            case _:
                pass
