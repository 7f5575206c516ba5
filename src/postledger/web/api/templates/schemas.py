"""Templates as callers send and get them."""

from datetime import datetime

from pydantic import Field

from postledger.content.rendering.source import Format
from postledger.content.versions import Version
from postledger.web.api.common.fields import (
    ContentLocale,
    Locale,
    Name,
    TemplateKey,
    TextOrNull,
    Values,
    VersionNumber,
)
from postledger.web.api.common.schemas import (
    DeclaredVariables,
    FindingOut,
    PreviewOut,
    RequestSchema,
    ResponseSchema,
    SourceIn,
)

MOST_TEXTS = 20


class NewTemplateIn(RequestSchema):
    """A new template without a version."""

    id: TemplateKey
    name: Name


class TextIn(SourceIn):
    """A version in one locale."""

    locale: ContentLocale


class VersionIn(DeclaredVariables):
    """A new version, in all its locales."""

    fallback_locale: ContentLocale | None = Field(
        default=None, description="Used for other locales; without it, such mail is refused."
    )
    texts: list[TextIn] = Field(min_length=1, max_length=MOST_TEXTS)

    def version(self) -> Version:
        return Version(
            tuple(self.required),
            tuple(self.optional),
            self.fallback_locale or "",
            tuple(text.source(text.locale) for text in self.texts),
        )


class TemplatePreviewIn(RequestSchema):
    locale: Locale
    version: VersionNumber | None = Field(default=None, description="The newest by default.")
    variables: Values = Field(default={})


class TemplateOut(ResponseSchema):
    """A template; a built-in one has no dates."""

    id: str = Field(validation_alias="key", examples=["welcome"])
    name: str
    newest_version: int | None = Field(
        validation_alias="newest", description="Null if it has no version yet."
    )
    is_builtin: bool
    created_at: datetime | None
    archived_at: datetime | None = Field(description="When it was archived.")


class TemplateList(ResponseSchema):
    templates: list[TemplateOut]


class AddedVersion(ResponseSchema):
    version: int
    findings: list[FindingOut] = Field(description="Warnings; their places begin with a locale.")


class VersionOut(ResponseSchema):
    """A version without its texts."""

    version: int = Field(validation_alias="number")
    required: list[str]
    optional: list[str]
    fallback_locale: TextOrNull
    locales: list[str]
    created_at: datetime | None


class VersionList(ResponseSchema):
    """The newest first."""

    versions: list[VersionOut]


class TextOut(ResponseSchema):
    locale: str
    subject: str
    preheader: str
    format: Format
    body: str
    text: str


class VersionWithTexts(VersionOut):
    """A version with its texts as they were sent."""

    texts: list[TextOut]


class TemplatePreview(PreviewOut):
    version: int
    locale: str = Field(description="The locale that serves the requested one.")
