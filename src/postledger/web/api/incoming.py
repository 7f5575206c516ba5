"""What callers send, as the documentation shows it; unknown fields are refused.

Limits in `json_schema_extra` are only told here: the validations judge them, each with its code.
"""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationInfo, field_validator

from postledger.content import checks
from postledger.providers.base import Attachment
from postledger.transactional import validation
from postledger.transactional.values import MailRequest, Named, Reference
from postledger.web.api.fields import Address, Attached, Moment

MOST_MAILS = 500

_EXAMPLE: dict[str, JsonValue] = {
    "to": {"email": "alice@example.com", "name": "Alice"},
    "subject": "Your receipt",
    "html": "<p>Thank you, Alice.</p>",
    "text": "Thank you, Alice.",
    "tags": ["receipt"],
}

ListKey = Annotated[str, Field(pattern="^[a-z0-9][a-z0-9-]{0,63}$", examples=["general"])]
Name = Annotated[str | None, Field(json_schema_extra={"maxLength": 255})]


class Incoming(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class MailboxIn(Incoming):
    email: Address
    name: Name = None


class RecipientIn(Incoming):
    """A contact of the workspace, named by at least one of its two ids."""

    id: int | None = Field(default=None, ge=1, le=2**63 - 1, description="Our id.")
    external_id: str | None = Field(default=None, description="Your own id.")
    email: Address = Field(description="The same address as in `to`.")
    name: Name = None

    def reference(self) -> Reference:
        return Reference(self.email, id=self.id, external_id=self.external_id)


class AttachmentIn(Incoming):
    filename: str = Field(json_schema_extra={"maxLength": 255})
    content_type: str = Field(examples=["application/pdf"])
    content: Attached

    def attachment(self) -> Attachment:
        return Attachment(self.filename, self.content_type, self.content)


class TemplateIn(Incoming):
    """A template of the workspace, or one that comes with the product, and what fills it in."""

    id: str = Field(examples=["open-seat"], description="The template's key.")
    version: int | None = Field(
        default=None, ge=1, le=2**31 - 1, description="The newest, unless said."
    )
    locale: str = Field(examples=["en", "pt-BR"])
    variables: dict[str, JsonValue] = Field(default={}, description="Up to 65,536 bytes of JSON.")

    def named(self) -> Named:
        return Named(self.id, self.locale, self.variables, self.version)


class MailIn(Incoming):
    """One mail."""

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})

    to: Address | MailboxIn
    recipient: RecipientIn | None = None
    sender: Address | None = Field(
        default=None, description="A sender of the workspace; needed where it has several."
    )
    reply_to: Address | None = None
    template: TemplateIn | None = Field(
        default=None, description="In place of subject, html and text."
    )
    subject: str | None = Field(
        default=None,
        validate_default=True,
        json_schema_extra={"maxLength": checks.MAX_SUBJECT},
        description="Needed without a template.",
    )
    html: str | None = Field(
        default=None,
        validate_default=True,
        description="Needed without a template."
        " Up to 524,288 bytes; no script, javascript: URL or event handler.",
    )
    text: str | None = Field(default=None, description="The same for readers without HTML.")
    list_key: ListKey | None = Field(
        default=None,
        description="Adds the workspace's footer, with a link that ends mail of this list.",
    )
    attachments: list[AttachmentIn] = Field(
        default=[],
        json_schema_extra={"maxItems": validation.MOST_ATTACHMENTS},
        description="Up to 7 MiB in all, before base64.",
    )
    headers: dict[str, str] = Field(
        default={},
        json_schema_extra={
            "maxProperties": validation.MOST_HEADERS,
            "propertyNames": {"pattern": "^[A-Za-z0-9-]{1,76}$"},
        },
        description="Headers of your own; those of the mail itself cannot be set.",
    )
    tags: list[Annotated[str, Field(json_schema_extra={"pattern": f"^{validation.TAG}$"})]] = Field(
        default=[], json_schema_extra={"maxItems": validation.MOST_TAGS}
    )
    send_at: Moment | None = Field(
        default=None, description="Not before then; up to 30 days ahead. The past means now."
    )

    @field_validator("subject", "html")
    @classmethod
    def _has_words(cls, value: str | None, info: ValidationInfo) -> str | None:
        if value is None and info.data.get("template", ...) is None:
            raise ValueError("give it, or name a template")
        return value

    def request(self) -> MailRequest:
        to = MailboxIn(email=self.to) if isinstance(self.to, str) else self.to
        named = self.recipient
        return MailRequest(
            to=to.email,
            to_name=to.name or (named.name if named else None) or "",
            recipient=named.reference() if named else None,
            sender=self.sender,
            reply_to=self.reply_to,
            subject=self.subject or "",
            html=self.html or "",
            text=self.text or "",
            template=self.template.named() if self.template else None,
            list_key=self.list_key,
            attachments=tuple(part.attachment() for part in self.attachments),
            headers=self.headers,
            tags=tuple(self.tags),
            send_at=self.send_at,
        )


class BatchIn(Incoming):
    """Up to 500 mails, taken together or not at all."""

    mails: list[MailIn] = Field(min_length=1, max_length=MOST_MAILS)

    def requests(self) -> list[MailRequest]:
        return [mail.request() for mail in self.mails]
