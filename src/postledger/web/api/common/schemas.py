"""Bases of request and response schemas, and schemas that several resources share."""

from pydantic import BaseModel, ConfigDict, Field

from postledger.content.rendering.mail_preview import MailPreview
from postledger.content.rendering.source import Format, Source
from postledger.web.api.common.fields import Text, Variables


class RequestSchema(BaseModel):
    """Unknown fields are refused: the server would silently ignore a misspelt one."""

    model_config = ConfigDict(extra="forbid", strict=True)


class ResponseSchema(BaseModel):
    """Filled from the attributes of the object that a handler returns."""

    model_config = ConfigDict(from_attributes=True, populate_by_name=True)


class SourceIn(RequestSchema):
    """A subject and a body with Liquid."""

    subject: str = Field(max_length=2_000, examples=["Hello {{ name }}"])
    preheader: str = Field(
        default="",
        max_length=2_000,
        description="Hidden text that mail programs show beside the subject.",
        examples=["What is new in {{ city }}"],
    )
    format: Format = Field(strict=False)
    body: Text = Field(
        description="Up to 524,288 bytes of UTF-8.", examples=["Hello, **{{ name }}**."]
    )
    text: Text = Field(
        default="", description="Plain-text version; generated from the body by default."
    )

    def source(self, locale: str) -> Source:
        return Source(self.subject, self.body, self.format, self.text, locale, self.preheader)


class DeclaredVariables(RequestSchema):
    required: Variables = Field(default=[], description="Variables that every mail provides.")
    optional: Variables = Field(default=[], description="Variables that may be absent.")


class FindingOut(ResponseSchema):
    """An issue of content: an error prevents sending, a warning does not."""

    code: str = Field(description="Never changes its meaning.", examples=["alt_missing"])
    place: str = Field(examples=["body, line 3"])
    remedy: str
    is_warning: bool


class PreviewOut(ResponseSchema):
    """What one recipient would get; null if the content cannot be sent."""

    subject: str | None
    preheader: str | None = Field(
        description="Shown beside the subject by mail programs; empty without one."
    )
    html: str | None
    text: str | None
    findings: list[FindingOut]


def preview_fields(preview: MailPreview, **others: object) -> dict[str, object]:
    mail = preview.mail
    return {
        "subject": mail and mail.subject,
        "preheader": mail and mail.preheader,
        "html": mail and mail.html,
        "text": mail and mail.text,
        "findings": preview.findings,
        **others,
    }
