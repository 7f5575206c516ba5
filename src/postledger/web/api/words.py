"""The words that callers send: keys, locales, variables and texts, each with its limit."""

from typing import Annotated

from pydantic import AfterValidator, Field, JsonValue

from postledger.accounts import names
from postledger.content import checks, locales
from postledger.content.source import Format, Source
from postledger.lib import values
from postledger.web.api.incoming import Incoming

MOST_VARIABLES = 100

_LARGEST_VALUES = 65_536


def _bounded(given: dict[str, JsonValue]) -> dict[str, JsonValue]:
    found = values.flaw(given, most=_LARGEST_VALUES)
    if found:
        raise ValueError(found)
    return given


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
