"""The words that callers send: keys, locales, variables and texts, each with its limit."""

import json
import re
from collections.abc import Iterator
from typing import Annotated

from pydantic import AfterValidator, Field, JsonValue

from postledger.accounts import names
from postledger.content import checks, locales
from postledger.content.source import Format, Source
from postledger.web.api.incoming import Incoming

MOST_VARIABLES = 100

_LARGEST_VALUES = 65_536
_BROKEN = re.compile("[\x00\ud800-\udfff]")


def _bounded(values: dict[str, JsonValue]) -> dict[str, JsonValue]:
    try:
        size = len(json.dumps(values, allow_nan=False))
    except (ValueError, RecursionError):
        raise ValueError("they hold a number without end, or nest too deeply") from None
    if size > _LARGEST_VALUES:
        raise ValueError(f"they are {size} bytes of JSON; at most {_LARGEST_VALUES} are taken")
    if any(_BROKEN.search(text) for text in _texts(values)):
        raise ValueError("they hold U+0000 or half a character; remove it")
    return values


def _texts(values: JsonValue) -> Iterator[str]:
    left: list[object] = [values]
    while left:
        value = left.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, list):
            left += value
        elif isinstance(value, dict):
            left += [*value.keys(), *value.values()]


TemplateKey = Annotated[str, Field(pattern="^[a-z0-9][a-z0-9-]{0,63}$", examples=["welcome"])]
ArticleKey = Annotated[str, Field(pattern="^[a-z0-9-]{1,200}$", examples=["may-news"])]
Name = Annotated[str, Field(min_length=1, max_length=names.LONGEST, examples=["Welcome"])]
Locale = Annotated[
    str,
    Field(
        pattern="^[A-Za-z]{2,8}([-_][A-Za-z0-9]{1,8})*$",
        max_length=locales.LONGEST,
        examples=["en", "pt-BR"],
    ),
]
Variables = Annotated[
    list[Annotated[str, Field(pattern="^[A-Za-z_][A-Za-z0-9_]{0,63}$", examples=["name"])]],
    Field(max_length=MOST_VARIABLES),
]
Values = Annotated[
    dict[str, JsonValue],
    AfterValidator(_bounded),
    Field(description="Up to 65,536 bytes of JSON.", examples=[{"name": "Alice"}]),
]
# In bytes it is judged by what prepares it, with a finding.
Text = Annotated[str, Field(max_length=checks.MAX_HTML_BYTES)]


class WordsIn(Incoming):
    """A subject and a body, with Liquid in them."""

    subject: str = Field(max_length=2_000, examples=["Hello {{ name }}"])
    format: Format = Field(strict=False)
    body: Text = Field(
        description="Up to 524,288 bytes of UTF-8.", examples=["Hello, **{{ name }}**."]
    )
    text: Text = Field(
        default="", description="For readers without HTML; made from the body unless given."
    )

    def source(self, locale: str) -> Source:
        return Source(self.subject, self.body, self.format, self.text, locale)
