"""Templates as callers send and get them."""

from dataclasses import asdict
from datetime import datetime

from pydantic import BaseModel, Field

from postledger.content.source import Format, Source
from postledger.content.templates import TemplateFacts, VersionFacts
from postledger.web.api.findings import FindingOut, PreviewOut
from postledger.web.api.incoming import Incoming
from postledger.web.api.words import Locale, Name, TemplateKey, Values, Variables, WordsIn

MOST_TEXTS = 20


class NewTemplateIn(Incoming):
    """A new template, still without words."""

    id: TemplateKey
    name: Name


class TextIn(WordsIn):
    """A version in one locale."""

    locale: Locale


class VersionIn(Incoming):
    """What a template says from now on, in all its locales."""

    required: Variables = Field(default=[], description="Variables that every mail gives.")
    optional: Variables = Field(default=[], description="Variables that may be left out.")
    fallback_locale: Locale | None = Field(
        default=None, description="For who asks for another; without one, that mail is refused."
    )
    texts: list[TextIn] = Field(min_length=1, max_length=MOST_TEXTS)

    def sources(self) -> list[Source]:
        return [text.source(text.locale) for text in self.texts]


class TemplatePreviewIn(Incoming):
    """Which text of a template to show, and what fills it in."""

    locale: Locale
    version: int | None = Field(
        default=None, ge=1, le=2**31 - 1, description="The newest, unless said."
    )
    variables: Values = Field(default={})


class TemplateOut(BaseModel):
    """A template; one that comes with the product has no dates."""

    id: str = Field(examples=["welcome"])
    name: str
    newest_version: int | None = Field(description="Null while it has none.")
    is_builtin: bool
    created_at: datetime | None
    archived_at: datetime | None = Field(description="Since when it is out of use.")


class TemplateList(BaseModel):
    templates: list[TemplateOut]


class AddedVersion(BaseModel):
    version: int
    findings: list[FindingOut] = Field(description="Warnings; their places begin with a locale.")


class VersionOut(BaseModel):
    """A version, without its words."""

    version: int
    required: list[str]
    optional: list[str]
    fallback_locale: str | None
    locales: list[str]
    created_at: datetime | None


class VersionList(BaseModel):
    """The newest first."""

    versions: list[VersionOut]


class TextOut(BaseModel):
    locale: str
    subject: str
    format: Format
    body: str
    text: str


class WholeVersion(VersionOut):
    """A version with its words, as they were sent."""

    texts: list[TextOut]


class TemplatePreview(PreviewOut):
    version: int
    locale: str = Field(description="Of the text that serves who asks for the one you named.")


def template(facts: TemplateFacts) -> TemplateOut:
    return TemplateOut(
        id=facts.key,
        name=facts.name,
        newest_version=facts.newest,
        is_builtin=facts.is_builtin,
        created_at=facts.created_at,
        archived_at=facts.archived_at,
    )


def version(facts: VersionFacts) -> VersionOut:
    return VersionOut(
        version=facts.number,
        required=list(facts.required),
        optional=list(facts.optional),
        fallback_locale=facts.fallback_locale or None,
        locales=list(facts.locales),
        created_at=facts.created_at,
    )


def whole(facts: VersionFacts, texts: list[Source]) -> WholeVersion:
    written = [TextOut(**asdict(text)) for text in texts]
    return WholeVersion(**dict(version(facts)), texts=written)
