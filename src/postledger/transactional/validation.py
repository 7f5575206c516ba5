"""The validations of a mail, in their order: payload, recipient, content."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from postledger.content.rendering.html import checks
from postledger.lib import values
from postledger.lib.errors import RefusedError
from postledger.lib.ids import DeliveryId
from postledger.providers import addresses, headers, mime
from postledger.providers.base import Mailbox, Parts
from postledger.transactional.requests import ContactReference, MailIssue, MailRequest, Validation

MAX_ATTACHMENTS = 10
MAX_ATTACHED_BYTES = 7_340_032
MAX_HEADERS = 20
MAX_TAGS = 10
MAX_DELAY = timedelta(days=30)
TAG = "[A-Za-z0-9_-]{1,64}"

_MAX_NAME = 255
_MAX_HEADER = 2_000
_MAX_VARIABLES = 65_536
_TAG = re.compile(TAG)

# The composer is tried with these in place of what the caller does not decide.
_ANY_MAILBOX = Mailbox("a@example.com")
_ANY_DATE = datetime(2000, 1, 1, tzinfo=UTC)
_ANY_ID = DeliveryId(0, 0).text()


def check_variables(mail: MailRequest) -> list[MailIssue]:
    """Whether the variables can be stored; before a template is filled in with them.

    They are stored with the mail, so that it can be rendered again.
    """
    variables = mail.template.variables if mail.template else {}
    detail = values.find_flaw(variables, most=_MAX_VARIABLES)
    return [MailIssue(Validation.INVALID_PAYLOAD, "template.variables", detail)] if detail else []


def check_payload(mail: MailRequest, *, now: datetime) -> list[MailIssue]:
    """Whether the request agrees with itself, can be stored, and can be composed as MIME."""
    issues = list(_check_storable(mail)) or [
        *_check_sizes(mail),
        *_check_reference(mail.recipient, mail.to),
        *_check_time(mail.send_at, now),
    ]
    # What is too large is not composed.
    issues = issues or list(_check_composable(mail))
    return [MailIssue(Validation.INVALID_PAYLOAD, field, detail) for field, detail in issues]


def check_recipient(mail: MailRequest, *, contact_address: str | None) -> list[MailIssue]:
    """Whether the address is valid, and is the address of the contact that the request names."""
    try:
        address = addresses.canonical(mail.to)
    except RefusedError as error:
        return [MailIssue(Validation.INVALID_EMAIL, "to", str(error))]
    if mail.recipient is None or (contact_address or "").lower() == address.lower():
        return []
    detail = (
        "This workspace has no contact with this id and this address; perhaps it was deleted."
        " Check both, or leave recipient out."
    )
    return [MailIssue(Validation.RECIPIENT_NOT_FOUND, "recipient", detail)]


def check_content(mail: MailRequest) -> list[MailIssue]:
    """Whether the subject and the HTML may be sent."""
    return [
        MailIssue(Validation.INVALID_TEMPLATE, finding.place, f"{finding.code}: {finding.remedy}")
        for finding in checks.findings(subject=mail.subject, html=mail.html)
    ]


type _Issues = Iterator[tuple[str, str]]  # the field, and what is wrong with it


def _check_storable(mail: MailRequest) -> _Issues:
    reference = mail.recipient or ContactReference("")
    for field, text in (
        *(("to", mail.to), ("to.name", mail.to_name), ("reply_to", mail.reply_to)),
        *(("subject", mail.subject), ("html", mail.html), ("text", mail.text)),
        *(("sender", mail.sender), ("recipient.external_id", reference.external_id)),
        *(("headers", name + value) for name, value in mail.headers.items()),
        *(("attachments", part.filename + part.content_type) for part in mail.attachments),
    ):
        if text and not values.is_storable(text):
            yield field, values.UNSTORABLE


def _check_sizes(mail: MailRequest) -> _Issues:
    names = [part.filename for part in mail.attachments]
    attached_bytes = sum(len(part.content) for part in mail.attachments)
    for field, unit, count, most in (
        ("to.name", "characters", len(mail.to_name), _MAX_NAME),
        ("text", "characters", len(mail.text), checks.MAX_HTML_BYTES),
        ("headers", "headers", len(mail.headers), MAX_HEADERS),
        ("headers", "characters in a value", _longest(mail.headers.values()), _MAX_HEADER),
        ("tags", "tags", len(mail.tags), MAX_TAGS),
        ("attachments", "attachments", len(mail.attachments), MAX_ATTACHMENTS),
        ("attachments", "characters in a name", _longest(names), _MAX_NAME),
        ("attachments", "bytes in total", attached_bytes, MAX_ATTACHED_BYTES),
    ):
        if count > most:
            yield field, f"Has {count} {unit}; the limit is {most}."
    if not all(part.content for part in mail.attachments):
        yield "attachments", "One has no content; not every provider takes it, so leave it out."
    for tag in mail.tags:
        if not _TAG.fullmatch(tag):
            yield "tags", f"{tag[:64]!r} is not a tag: use 1 to 64 letters, digits, hyphens and _."


def _longest(texts: Iterable[str]) -> int:
    return max(map(len, texts), default=0)


def _check_reference(reference: ContactReference | None, to: str) -> _Issues:
    if reference is None:
        return
    if reference.id is None and reference.external_id is None:
        yield "recipient", "Names no contact; give id, external_id or both."
    if reference.email.lower() != to.lower():
        yield "recipient.email", "Differs from to; give the same address in both."


def _check_time(send_at: datetime | None, now: datetime) -> _Issues:
    if send_at is None:
        return
    if send_at.tzinfo is None:
        yield "send_at", "Has no time zone; append Z or an offset."
    elif send_at - now > MAX_DELAY:
        yield "send_at", f"Is more than {MAX_DELAY.days} days ahead; send the request later."


def _check_composable(mail: MailRequest) -> _Issues:
    """Applies the composer's own rules to every part, so that it never refuses an accepted mail.

    The address has its own validation, with its own code.
    """
    field = "subject"
    try:
        headers.check("The subject", mail.subject)
        field = "to.name"
        headers.mailboxes("To", (replace(_ANY_MAILBOX, name=mail.to_name),))
        field = "reply_to"
        if mail.reply_to is not None:
            addresses.canonical(mail.reply_to)
        field = "headers"
        list(headers.custom(mail.headers))
        field = "attachments"
        if mail.attachments:
            attached = tuple(replace(part, content=b"") for part in mail.attachments)
            parts = Parts(_ANY_MAILBOX, _ANY_MAILBOX, "", _ANY_DATE, attachments=attached)
            mime.compose(parts, reference=_ANY_ID)
    except RefusedError as error:
        yield field, str(error)
