"""A request for mail, as values: what was asked for, what is wrong with it, what was answered."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from hashlib import sha256
from types import MappingProxyType
from typing import ClassVar

from postledger.lib.errors import RefusedError
from postledger.providers.base import Attachment

_NO_HEADERS: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Reference:
    """A contact, named by our id, by the workspace's own, or by both."""

    email: str
    id: int | None = None
    external_id: str | None = None


@dataclass(frozen=True, slots=True)
class Named:
    """A template, and what fills it in."""

    key: str
    locale: str
    variables: Mapping[str, object]
    version: int | None = None  # None: the newest


@dataclass(frozen=True, slots=True)
class MailRequest:
    """One mail that somebody wants to be sent: in words of its own, or by a template."""

    to: str
    subject: str = ""
    html: str = ""
    text: str = ""
    template: Named | None = None
    letter: str = ""  # the digest of what its words were made from
    list_key: str | None = None  # of the list that its footer lets people leave
    to_name: str = ""
    recipient: Reference | None = None
    sender: str | None = None  # None: the only one the workspace has
    reply_to: str | None = None
    attachments: tuple[Attachment, ...] = ()
    headers: Mapping[str, str] = field(default=_NO_HEADERS)
    tags: tuple[str, ...] = ()
    send_at: datetime | None = None


class Validation(StrEnum):
    """The codes of the validations, in the order in which they are made."""

    INVALID_PAYLOAD = "INVALID_PAYLOAD"  # integrity: the request contradicts itself or is too big
    RECIPIENT_NOT_FOUND = "RECIPIENT_NOT_FOUND"  # no such contact, or deleted, or another address
    INVALID_EMAIL = "INVALID_EMAIL"  # the address cannot be written to
    INVALID_TEMPLATE = "INVALID_TEMPLATE"  # the subject or the HTML must not be sent
    TEMPLATE_MISSING_LOCALE = "template_missing_locale"  # the template is not in that language
    TEMPLATE_MISSING_VARIABLE = "template_missing_variable"  # it cannot be filled in


@dataclass(frozen=True, slots=True)
class Flaw:
    """One thing that is wrong with one mail of a request."""

    code: Validation
    place: str
    detail: str
    index: int = 0


class InvalidMailError(RefusedError):
    """Some mails of a request cannot be taken; nothing of the request was stored."""

    def __init__(self, flaws: Sequence[Flaw]) -> None:
        super().__init__(flaws[0].detail)
        self.flaws = tuple(flaws)


class InvalidPayloadError(InvalidMailError):
    code: ClassVar[str] = Validation.INVALID_PAYLOAD.value


class RecipientNotFoundError(InvalidMailError):
    code: ClassVar[str] = Validation.RECIPIENT_NOT_FOUND.value


class InvalidEmailError(InvalidMailError):
    code: ClassVar[str] = Validation.INVALID_EMAIL.value


class InvalidTemplateError(InvalidMailError):
    code: ClassVar[str] = Validation.INVALID_TEMPLATE.value


class TemplateMissingLocaleError(InvalidMailError):
    code: ClassVar[str] = Validation.TEMPLATE_MISSING_LOCALE.value


class TemplateMissingVariableError(InvalidMailError):
    code: ClassVar[str] = Validation.TEMPLATE_MISSING_VARIABLE.value


_REFUSALS: Mapping[Validation, type[InvalidMailError]] = {
    Validation.INVALID_PAYLOAD: InvalidPayloadError,
    Validation.RECIPIENT_NOT_FOUND: RecipientNotFoundError,
    Validation.INVALID_EMAIL: InvalidEmailError,
    Validation.INVALID_TEMPLATE: InvalidTemplateError,
    Validation.TEMPLATE_MISSING_LOCALE: TemplateMissingLocaleError,
    Validation.TEMPLATE_MISSING_VARIABLE: TemplateMissingVariableError,
}


def refusal(flaws: Sequence[Flaw]) -> InvalidMailError:
    """The refusal of a request, under the code of its first flaw."""
    return _REFUSALS[flaws[0].code](flaws)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a request that was taken is told, now and whenever it is repeated under its key."""

    request_id: str
    ids: tuple[str, ...]


def digest(mails: Sequence[MailRequest], *, is_test: bool) -> bytes:
    """Equal for requests that ask for the same, however their JSON was written.

    A test and the real thing differ: the one must never be answered with the other.
    """
    found = sha256(b"test" if is_test else b"live")
    for mail in mails:
        found.update(json.dumps(_plain(mail), sort_keys=True).encode())
        for attachment in mail.attachments:
            found.update(sha256(attachment.content).digest())
    return found.digest()


def _plain(mail: MailRequest) -> list[object]:
    recipient, named = mail.recipient, mail.template
    return [
        *(mail.to, mail.to_name, mail.sender, mail.reply_to),
        *(mail.subject, mail.html, mail.text, dict(mail.headers), mail.tags),
        mail.list_key,
        [named.key, named.locale, named.version, named.variables] if named else None,
        [recipient.email, recipient.id, recipient.external_id] if recipient else None,
        [[part.filename, part.content_type] for part in mail.attachments],
        mail.send_at.timestamp() if mail.send_at else None,
    ]
