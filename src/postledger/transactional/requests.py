"""A request for mail as values: the mail, the issues that refuse it, and the receipt."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType

from postledger.lib.errors import RefusedError
from postledger.providers.base import Attachment

_NO_HEADERS: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class MailWarning:
    """Something about a mail that is probably a mistake, and does not keep it from being sent."""

    code: str
    field: str
    detail: str


_NO_WARNINGS: Mapping[int, Sequence[MailWarning]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class ContactReference:
    """A contact, named by our id, by the workspace's own id, or by both."""

    email: str
    id: int | None = None
    external_id: str | None = None


@dataclass(frozen=True, slots=True)
class TemplateReference:
    """A template, and the variables that fill it in."""

    key: str
    locale: str
    variables: Mapping[str, object]
    version: int | None = None  # None: the newest


@dataclass(frozen=True, slots=True)
class MailRequest:
    """One mail that a caller wants to send, with inline content or by a template."""

    to: str
    subject: str = ""
    html: str = ""
    text: str = ""
    template: TemplateReference | None = None
    letter: str = ""  # digest of the letter that the content was rendered from
    warnings: tuple[MailWarning, ...] = ()  # found while it was rendered
    list_key: str | None = None  # the list that the footer's link unsubscribes from
    to_name: str = ""
    recipient: ContactReference | None = None
    sender: str | None = None  # None: the workspace's default
    reply_to: str | None = None
    attachments: tuple[Attachment, ...] = ()
    headers: Mapping[str, str] = field(default=_NO_HEADERS)
    tags: tuple[str, ...] = ()
    send_at: datetime | None = None
    secret_until: datetime | None = None  # as of Body; callers of the API have no such mail


class Validation(StrEnum):
    """The codes of the validations, in the order in which they run."""

    INVALID_PAYLOAD = "INVALID_PAYLOAD"  # the request contradicts itself or is too large
    RECIPIENT_NOT_FOUND = "RECIPIENT_NOT_FOUND"  # no such contact, or deleted, or another address
    INVALID_EMAIL = "INVALID_EMAIL"  # the address cannot be written to
    INVALID_TEMPLATE = "INVALID_TEMPLATE"  # the subject or the HTML must not be sent
    TEMPLATE_MISSING_LOCALE = "template_missing_locale"  # the template is not in that language
    TEMPLATE_MISSING_VARIABLE = "template_missing_variable"  # the template cannot be filled in


@dataclass(frozen=True, slots=True)
class MailIssue:
    """One thing that is wrong with one mail of a request."""

    code: Validation
    field: str
    detail: str
    index: int = 0  # of the mail in its request


class InvalidMailError(RefusedError):
    """Refuses a request under the code of its first issue; nothing of it was stored."""

    def __init__(self, issues: Sequence[MailIssue], *, unlisted: int = 0) -> None:
        super().__init__(issues[0].detail)
        self.issues = tuple(issues)
        self.unlisted = unlisted  # how many more there are
        self.code = issues[0].code.value  # type: ignore[misc]  # each instance has its own


@dataclass(frozen=True, slots=True)
class Receipt:
    """The answer to an accepted request, the same for each repeat under its key."""

    request_id: str
    ids: tuple[str, ...]
    # By the index of the mail.
    warnings: Mapping[int, Sequence[MailWarning]] = field(default=_NO_WARNINGS)
    is_repeat: bool = field(default=False, compare=False)
