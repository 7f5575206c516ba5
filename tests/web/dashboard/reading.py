"""What a person reads on a page."""

import re
from typing import Any


def read(response: Any) -> str:
    """Its words without tags, with every run of spaces as one."""
    return read_words(response.content.decode())


def read_words(page: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", page))
