"""Mails as callers send and search them.

The limits in `json_schema_extra` are documentation: the application checks them, each with its
error code.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

from pydantic import (
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    ValidationError,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    field_validator,
)

from postledger.content import locales
from postledger.content.rendering.html import checks
from postledger.deliveries.search import MailCursor, MailFilters
from postledger.deliveries.states import State
from postledger.lib import values
from postledger.lib.ids import LAST_ID
from postledger.providers.base import Attachment
from postledger.transactional import validation
from postledger.transactional.requests import (
    ContactReference,
    MailRequest,
    TemplateReference,
)
from postledger.web.api.common import pagination
from postledger.web.api.common.fields import (
    Address,
    AnyMoment,
    Base64,
    CanonicalAddress,
    ListKey,
    Matching,
    VersionNumber,
)
from postledger.web.api.common.pagination import MailCursorText, PageQuery
from postledger.web.api.common.schemas import RequestSchema

MOST_MAILS = 500

_EXAMPLE: dict[str, JsonValue] = {
    "to": {"email": "alice@example.com", "name": "Alice"},
    "subject": "Your receipt",
    "html": "<p>Thank you, Alice.</p>",
    "text": "Thank you, Alice.",
    "tags": ["receipt"],
}
_LONGEST_SHOWN = 254
_ONE_RECIPIENT = "One recipient per mail; use /v1/email/batch."

PersonName = Annotated[str | None, Field(json_schema_extra={"maxLength": 255})]


class MailboxIn(RequestSchema):
    email: Address
    name: PersonName = None


def _read_mailbox(value: object) -> object:
    """Takes an address, or an object with the name beside it."""
    match value:
        case list():
            raise ValueError(_ONE_RECIPIENT)  # pydantic collects ValueErrors only
        case None | bool() | int() | float():
            raise ValueError("give an address, or an object with `email` and `name`")
        case str():
            return _read_address(value)
        case _:
            return value


def _read_address(value: str) -> dict[str, str]:
    name, bracket, rest = value.partition("<")
    # No answer can repeat what cannot be encoded; it is refused later, as for any address.
    if bracket and rest.rstrip().endswith(">") and values.is_storable(value):
        mailbox = {
            "email": rest.rstrip()[:-1][:_LONGEST_SHOWN],
            "name": name.strip(' "')[:_LONGEST_SHOWN],
        }
        shown = json.dumps(mailbox, ensure_ascii=False)
        raise ValueError(f"write the name beside the address: {shown}")
    return {"email": value}


Mailbox = Annotated[
    MailboxIn, BeforeValidator(_read_mailbox, json_schema_input_type=Address | MailboxIn)
]


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
    names_of_others: ClassVar[Mapping[str, str]] = {
        "bcc": _ONE_RECIPIENT,
        "body": "Use `html`, `text` or both.",
        "cc": _ONE_RECIPIENT,
        "content": "Use `html`, `text` or both.",
        "from": "Use `sender`.",
        "scheduled_at": "Use `send_at`.",
        "template_id": "Use `template`, an object with `id`, `locale` and `variables`.",
        "variables": "Put it into `template`.",
    }

    to: Mailbox = Field(description="An address, or an object with the name of its owner.")
    recipient: RecipientIn | None = None
    sender: Address | None = Field(
        default=None, description="A sender of the workspace; its default sender by default."
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
        description="Made from `text` by default."
        " Up to 524,288 bytes; elements, attributes and URLs of the documented list only.",
    )
    text: str | None = Field(
        default=None,
        validate_default=True,
        description="Plain-text version. Without a template, a mail has `html`, `text` or both.",
    )
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
    send_at: AnyMoment | None = Field(
        default=None, description="Earliest time to send, up to 30 days ahead. The past means now."
    )

    @field_validator("subject")
    @classmethod
    def _require_subject(cls, value: str | None, info: ValidationInfo) -> str | None:
        if value is None and info.data.get("template", ...) is None:
            raise ValueError("is required without a template")
        return value

    @field_validator("text")
    @classmethod
    def _require_body(cls, value: str | None, info: ValidationInfo) -> str | None:
        # What is invalid is not in the data, and has an error of its own.
        if value is None and all(info.data.get(name, ...) is None for name in ("template", "html")):
            raise ValueError("give `html`, `text` or both, or a `template`")
        return value

    def request(self) -> MailRequest:
        to, recipient = self.to, self.recipient
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


@dataclass(frozen=True, slots=True)
class InvalidMail:
    """A mail of a batch that does not match its schema."""

    error: ValidationError


def _keep_invalid(value: object, validate: ValidatorFunctionWrapHandler) -> object:
    """So that the other mails of a batch can be checked, too, and one answer names all issues."""
    try:
        return validate(value)
    except ValidationError as error:
        return InvalidMail(error.with_traceback(None))


class BatchIn(RequestSchema):
    """Up to 500 mails; all are stored or none."""

    mails: list[Annotated[MailIn, WrapValidator(_keep_invalid)]] = Field(
        min_length=1, max_length=MOST_MAILS
    )

    def split(self) -> tuple[dict[int, MailRequest], dict[int, ValidationError]]:
        """The mails, and the errors of those that do not match the schema, by their indexes."""
        return _split(self.mails)


def _split(
    mails: Sequence[MailIn | InvalidMail],
) -> tuple[dict[int, MailRequest], dict[int, ValidationError]]:
    requests: dict[int, MailRequest] = {}
    errors: dict[int, ValidationError] = {}
    for index, mail in enumerate(mails):
        match mail:
            case MailIn():
                requests[index] = mail.request()
            case InvalidMail(error):
                errors[index] = error
    return requests, errors


Tag = Annotated[
    str,
    Matching(f"^{validation.TAG}$", "use 1 to 64 letters, digits, hyphens and _"),
]


ProviderId = Annotated[
    str, Matching(r"^[\x21-\x7e]{1,500}$", "use an id as `message_id` of a mail shows it")
]


class MailsQuery(PageQuery):
    to: CanonicalAddress | None = Field(default=None, description="Only mails to this address.")
    state: State | None = Field(default=None, description="Only mails in this state.")
    tag: Tag | None = Field(default=None, description="Only mails with this tag.")
    message_id: ProviderId | None = Field(
        default=None, description="Only the mail that the provider knows by this id."
    )
    since: AnyMoment | None = Field(default=None, description="Only mails stored since then.")
    until: AnyMoment | None = Field(default=None, description="Only mails stored before then.")
    cursor: MailCursorText | None = Field(
        default=None,
        description="`next` of the previous page; the other parameters stay the same.",
    )

    def filters(self, *, only_tests: bool) -> MailFilters:
        return MailFilters(
            address=self.to,
            tag=self.tag,
            state=self.state,
            message_id=self.message_id,
            since=self.since,
            until=self.until,
            only_tests=only_tests,
        )

    @property
    def after(self) -> MailCursor | None:
        return pagination.decode_mail_cursor(self.cursor) if self.cursor else None
