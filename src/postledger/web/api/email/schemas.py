"""Mails as callers send, search and get them.

The limits in `json_schema_extra` are documentation: the application checks them, each with its
error code.
"""

from datetime import datetime
from typing import Annotated, Any

from pydantic import ConfigDict, Field, JsonValue, ValidationInfo, field_validator

from postledger.content import locales
from postledger.content.rendering import checks
from postledger.deliveries.search import MailCursor, MailFilters
from postledger.deliveries.states import State
from postledger.lib import ids
from postledger.lib.ids import DeliveryId
from postledger.providers.base import Attachment
from postledger.transactional import validation
from postledger.transactional.requests import ContactReference, MailRequest, TemplateReference
from postledger.web.api.common import pagination
from postledger.web.api.common.fields import (
    LAST_ID,
    Address,
    Base64,
    CanonicalAddress,
    ListKey,
    Moment,
    VersionNumber,
)
from postledger.web.api.common.pagination import PageQuery
from postledger.web.api.common.schemas import RequestSchema, ResponseSchema

MOST_MAILS = 500

_EXAMPLE: dict[str, JsonValue] = {
    "to": {"email": "alice@example.com", "name": "Alice"},
    "subject": "Your receipt",
    "html": "<p>Thank you, Alice.</p>",
    "text": "Thank you, Alice.",
    "tags": ["receipt"],
}
_ID = DeliveryId(ids.first_stream_of(322) + 7, 42).text()
_LINKS = {"self": f"/v1/email/{_ID}"}

PersonName = Annotated[str | None, Field(json_schema_extra={"maxLength": 255})]


class MailboxIn(RequestSchema):
    email: Address
    name: PersonName = None


class RecipientIn(RequestSchema):
    """A contact of the workspace, by at least one of its two ids."""

    id: int | None = Field(default=None, ge=1, le=LAST_ID, description="Our id.")
    external_id: str | None = Field(default=None, description="Your own id.")
    email: Address = Field(description="The same address as in `to`.")
    name: PersonName = None

    def reference(self) -> ContactReference:
        return ContactReference(self.email, id=self.id, external_id=self.external_id)


class AttachmentIn(RequestSchema):
    filename: str = Field(json_schema_extra={"maxLength": 255})
    content_type: str = Field(examples=["application/pdf"])
    content: Base64

    def attachment(self) -> Attachment:
        return Attachment(self.filename, self.content_type, self.content)


class TemplateIn(RequestSchema):
    """A template of the workspace, or a built-in one, with the values of its variables."""

    id: str = Field(examples=["open-seat"], description="The template's key.")
    version: VersionNumber | None = Field(default=None, description="The newest by default.")
    locale: str = Field(max_length=locales.LONGEST, examples=["en", "pt-BR"])
    variables: dict[str, JsonValue] = Field(default={}, description="Up to 65,536 bytes of JSON.")

    def reference(self) -> TemplateReference:
        return TemplateReference(self.id, self.locale, self.variables, self.version)


class MailIn(RequestSchema):
    """One mail."""

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})

    to: Address | MailboxIn
    recipient: RecipientIn | None = None
    sender: Address | None = Field(
        default=None, description="A sender of the workspace; required if it has several."
    )
    reply_to: Address | None = None
    template: TemplateIn | None = Field(
        default=None, description="Replaces subject, html and text."
    )
    subject: str | None = Field(
        default=None,
        validate_default=True,
        json_schema_extra={"maxLength": checks.MAX_SUBJECT},
        description="Required without a template.",
    )
    html: str | None = Field(
        default=None,
        validate_default=True,
        description="Required without a template."
        " Up to 524,288 bytes; elements, attributes and URLs of the documented list only.",
    )
    text: str | None = Field(default=None, description="Plain-text version.")
    list_key: ListKey | None = Field(
        default=None,
        description="Adds the workspace's footer with an unsubscribe link for this list.",
    )
    attachments: list[AttachmentIn] = Field(
        default=[],
        json_schema_extra={"maxItems": validation.MAX_ATTACHMENTS},
        description="Up to 7 MiB in all, before base64.",
    )
    headers: dict[str, str] = Field(
        default={},
        json_schema_extra={
            "maxProperties": validation.MAX_HEADERS,
            "propertyNames": {"pattern": "^[A-Za-z0-9-]{1,76}$"},
        },
        description="Custom headers; standard ones, and some that providers obey, are refused.",
    )
    tags: list[Annotated[str, Field(json_schema_extra={"pattern": f"^{validation.TAG}$"})]] = Field(
        default=[], json_schema_extra={"maxItems": validation.MAX_TAGS}
    )
    send_at: Moment | None = Field(
        default=None, description="Earliest time to send, up to 30 days ahead. The past means now."
    )

    @field_validator("subject", "html")
    @classmethod
    def _require_content(cls, value: str | None, info: ValidationInfo) -> str | None:
        if value is None and info.data.get("template", ...) is None:
            raise ValueError("required without a template")
        return value

    def request(self) -> MailRequest:
        to = MailboxIn(email=self.to) if isinstance(self.to, str) else self.to
        recipient = self.recipient
        return MailRequest(
            to=to.email,
            to_name=to.name or (recipient.name if recipient else None) or "",
            recipient=recipient.reference() if recipient else None,
            sender=self.sender,
            reply_to=self.reply_to,
            subject=self.subject or "",
            html=self.html or "",
            text=self.text or "",
            template=self.template.reference() if self.template else None,
            list_key=self.list_key,
            attachments=tuple(part.attachment() for part in self.attachments),
            headers=self.headers,
            tags=tuple(self.tags),
            send_at=self.send_at,
        )


class BatchIn(RequestSchema):
    """Up to 500 mails; all are stored or none."""

    mails: list[MailIn] = Field(min_length=1, max_length=MOST_MAILS)

    def requests(self) -> list[MailRequest]:
        return [mail.request() for mail in self.mails]


class MailsQuery(PageQuery):
    to: CanonicalAddress | None = Field(default=None, description="Only mails to this address.")
    state: State | None = Field(default=None, description="Only mails in this state.")
    tag: str | None = Field(
        default=None, pattern=f"^{validation.TAG}$", description="Only mails with this tag."
    )
    since: Moment | None = Field(default=None, description="Only mails stored since then.")
    until: Moment | None = Field(default=None, description="Only mails stored before then.")
    cursor: str | None = Field(
        default=None,
        pattern=f"^{pagination.MAIL_CURSOR}$",
        description="`next` of the previous page; the other parameters stay the same.",
    )

    def filters(self, *, only_tests: bool) -> MailFilters:
        return MailFilters(self.to, self.tag, self.state, self.since, self.until, only_tests)

    @property
    def after(self) -> MailCursor | None:
        return pagination.decode_mail_cursor(self.cursor) if self.cursor else None


class AcceptedMail(ResponseSchema):
    """A mail that is stored and will be sent."""

    id: str = Field(examples=[_ID])
    outbox_id: str = Field(description="The same as id.", examples=[_ID])
    job_id: str = Field(description="The same as id.", examples=[_ID])
    state: State = State.WAITING
    status: str = Field(default="RECEIVED", examples=["RECEIVED"])
    links: dict[str, str] = Field(examples=[_LINKS])


class AcceptedRequest(AcceptedMail):
    request_id: str = Field(description="Of the request that first sent the mail.")


class AcceptedBatch(ResponseSchema):
    """The mails of a batch, in the order of the request."""

    request_id: str
    mails: list[AcceptedMail]


def id_fields(mail_id: str) -> dict[str, Any]:
    links = {"self": f"/v1/email/{mail_id}"}
    return {"id": mail_id, "outbox_id": mail_id, "job_id": mail_id, "links": links}


class FoundMail(ResponseSchema):
    """A mail in a list."""

    id: str = Field(examples=[_ID])
    to: str = Field(validation_alias="address")
    subject: str
    state: State
    status: str
    code: str | None
    attempts: int
    tags: list[str]
    request_id: str
    created_at: datetime = Field(validation_alias="planned_at")
    settled_at: datetime | None
    links: dict[str, str] = Field(examples=[_LINKS])


class MailPage(ResponseSchema):
    """Mails, the newest first. An empty page may have a `next`."""

    mails: list[FoundMail]
    next: str | None = Field(description="The `cursor` of the next page; null at the end.")


class TimelineEvent(ResponseSchema):
    type: str = Field(examples=["SENT_ATTEMPT"])
    at: datetime
    metadata: dict[str, object]


class WaitingMail(ResponseSchema):
    """Why a mail has no result yet."""

    reason: str = Field(examples=["scheduled"])
    why: str = Field(examples=["it is scheduled for later"])
    since: datetime
    until: datetime | None = Field(description="When it will move, if that is known.")
    moved_by: str = Field(description="What will move it.", examples=["it is sent at that time"])


class MailOut(ResponseSchema):
    """One mail with its history."""

    id: str = Field(examples=[_ID])
    outbox_id: str
    job_id: str
    request_id: str
    sender: str
    to: str
    recipient_id: int | None
    subject: str
    tags: list[str]
    is_test: bool
    state: State
    status: str
    message_id: str | None = Field(description="The provider's id of the mail.")
    error_code: str | None
    error_reason: str | None
    attempts: int
    duration_ms: int | None
    created_at: datetime
    sent_at: datetime | None
    failed_at: datetime | None
    waiting: WaitingMail | None
    timeline: list[TimelineEvent]
    links: dict[str, str] = Field(examples=[_LINKS])
