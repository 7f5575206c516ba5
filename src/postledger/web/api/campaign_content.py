"""What campaigns say and when, as callers send and get it."""

from datetime import datetime
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from postledger.campaigns import material, timing
from postledger.campaigns.material import Material, OfArticle, OfPage, OfTemplate
from postledger.campaigns.timing import At, AtOnce, Local, When
from postledger.web.api.fields import Moment
from postledger.web.api.incoming import Incoming
from postledger.web.api.words import ArticleKey, Locale, TemplateKey, Variables, WordsIn

_LOCAL = r"^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?$"


def _local_time(value: object) -> datetime:
    """A time without a zone: everybody has their own."""
    try:
        found = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        found = None
    if found is None or found.tzinfo is not None or found.microsecond:
        raise ValueError("write a time without a zone, as in 2026-01-31T09:00")
    return found


LocalTime = Annotated[
    datetime,
    BeforeValidator(_local_time),
    WithJsonSchema({"type": "string", "pattern": _LOCAL, "examples": ["2026-01-31T09:00"]}),
]


class WordsContent(WordsIn):
    """Words of its own, in one language."""

    kind: Literal["words"]
    locale: Locale = "en"
    required: Variables = Field(default=[], description="Attributes that every reader has.")
    optional: Variables = Field(default=[], description="Attributes that a reader may lack.")

    def material(self) -> Material:
        return material.Words(
            self.subject,
            self.body,
            self.format,
            self.text,
            self.locale,
            tuple(self.required),
            tuple(self.optional),
        )


class TemplateContent(Incoming):
    """A template, in the language of each reader."""

    kind: Literal["template"]
    id: TemplateKey
    version: int | None = Field(
        default=None, ge=1, le=2**31 - 1, description="The newest at launch, unless said."
    )

    def material(self) -> Material:
        return OfTemplate(self.id, self.version)


class ArticleContent(Incoming):
    """An article, put together for the places of each reader."""

    kind: Literal["article"]
    key: ArticleKey

    def material(self) -> Material:
        return OfArticle(self.key)


class PageContent(Incoming):
    """A page of Notion, as it is at launch."""

    kind: Literal["page"]
    page_id: str = Field(pattern="^[0-9a-fA-F]{8}(-?[0-9a-fA-F]{4}){3}-?[0-9a-fA-F]{12}$")

    def material(self) -> Material:
        return OfPage(self.page_id)


Content = Annotated[
    WordsContent | TemplateContent | ArticleContent | PageContent, Field(discriminator="kind")
]


class Timing(Incoming):
    """At once, unless one of the two is given."""

    at: Moment | None = Field(default=None, description="The same moment for everybody.")
    local_time: LocalTime | None = Field(
        default=None, description="The same time on the clock of each reader's own zone."
    )

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        if self.at is not None and self.local_time is not None:
            raise ValueError("give at or local_time, not both")
        return self

    def when(self) -> When:
        if self.at is not None:
            return At(self.at)
        return AtOnce() if self.local_time is None else Local(self.local_time)


def content(said: Material) -> Content:
    match said:
        case material.Words():
            return WordsContent(
                kind="words",
                subject=said.subject,
                format=said.format,
                body=said.body,
                text=said.text,
                locale=said.locale,
                required=list(said.required),
                optional=list(said.optional),
            )
        case OfTemplate(key, version):
            return TemplateContent(kind="template", id=key, version=version)
        case OfArticle(key):
            return ArticleContent(kind="article", key=key)
        case OfPage(page_id):
            return PageContent(kind="page", page_id=page_id)


def timing_(when: When) -> Timing:
    written = timing.written(when)
    return Timing.model_validate(
        {name: value.replace("+00:00", "Z") for name, value in written.items()}
    )
