"""The types of pictures that mail programs show, known by how a file begins. Pure.

SVG is none of them: it can run scripts, and no mail program shows it.
"""

import re
from collections.abc import Mapping

MOST_BYTES = 5 * 1024 * 1024

STARTS: Mapping[str, re.Pattern[bytes]] = {
    "image/png": re.compile(rb"\x89PNG\r\n\x1a\n"),
    "image/jpeg": re.compile(rb"\xff\xd8\xff"),
    "image/gif": re.compile(rb"GIF8[79]a"),
    "image/webp": re.compile(rb"RIFF.{4}WEBP", re.DOTALL),
}
ENDINGS: Mapping[str, str] = {
    "image/png": "png",
    "image/jpeg": "jpg",
    "image/gif": "gif",
    "image/webp": "webp",
}


def find_type(content: bytes) -> str | None:
    """The media type of a picture; None for anything else, whatever it is called."""
    return next((name for name, start in STARTS.items() if start.match(content)), None)
