"""The letter that an article's slices make: the title, the dek under it, and the body."""

import re

from postledger.content.slices import Assembled
from postledger.content.source import Format, Source

_LIQUID = re.compile(r"(\{\{.*?\}\}|\{%.*?%\})", re.DOTALL)
_MARKUP = re.compile(r"([!-/:-@\[-`{-~])")


def source(assembled: Assembled) -> Source:
    title, dek = (" ".join(words.split()) for words in (assembled.title, assembled.dek))
    parts = [f"# {_plain(title)}" if title else "", _plain(dek), assembled.body_md]
    body = "\n\n".join(part for part in parts if part)
    return Source(title or dek, body, Format.MARKDOWN)


def _plain(words: str) -> str:
    """As Markdown that shows every sign as it is; Liquid stays Liquid, as in the subject."""
    parts = _LIQUID.split(words)
    parts[::2] = [_MARKUP.sub(r"\\\1", part) for part in parts[::2]]
    return "".join(parts)
