"""The validations of a mail that is asked for, in their order: integrity, recipient, template.

That its line in the outbox exists, the fourth of them, is so by itself at the door: taking the
request writes it.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from postledger.content import checks
from postledger.lib import values
from postledger.lib.errors import RefusedError
from postledger.lib.ids import DeliveryId
from postledger.providers import addresses, headers, mime
from postledger.providers.base import Mailbox, Parts
from postledger.transactional.values import Flaw, MailRequest, Named, Reference, Validation

MOST_ATTACHMENTS = 10
MOST_ATTACHED_BYTES = 7_340_032
MOST_HEADERS = 20
MOST_TAGS = 10
FURTHEST = timedelta(days=30)
TAG = "[A-Za-z0-9_-]{1,64}"

_LONGEST_NAME = 255
_LONGEST_HEADER = 2_000
_LARGEST_VARIABLES = 65_536
_LONGEST_TEXT = checks.MAX_HTML_BYTES
_TAG = re.compile(TAG)

# What a trial of the composer needs besides what the caller decides.
_SOMEBODY = Mailbox("a@example.com")
_SOME_DAY = datetime(2000, 1, 1, tzinfo=UTC)
_SOME_ID = DeliveryId(0, 0).text()


def integrity(mail: MailRequest, *, now: datetime) -> list[Flaw]:
    """Whether the request agrees with itself, can be stored, and can be written on a wire."""
    unstorable = [*_unstorable(mail), *_variables(mail.template)]
    return unstorable or [
        *_sizes(mail),
        *_reference(mail.recipient, mail.to),
        *_time(mail.send_at, now),
        *_wire(mail),
    ]


def recipient(mail: MailRequest, *, contact_address: str | None) -> list[Flaw]:
    """Whether the address is one, and is that of the contact that was named, if one was."""
    try:
        address = addresses.canonical(mail.to)
    except RefusedError as error:
        return [Flaw(Validation.INVALID_EMAIL, "to", str(error))]
    if mail.recipient is None or (contact_address or "").lower() == address.lower():
        return []
    detail = (
        "This workspace has no contact with this id and this address; perhaps it was deleted."
        " Check both, or leave recipient out."
    )
    return [Flaw(Validation.RECIPIENT_NOT_FOUND, "recipient", detail)]


def template(mail: MailRequest) -> list[Flaw]:
    """Whether the subject and the HTML may be sent."""
    return [
        Flaw(Validation.INVALID_TEMPLATE, found.place, f"{found.code}: {found.remedy}")
        for found in checks.findings(subject=mail.subject, html=mail.html)
    ]


def _flaw(place: str, detail: str) -> Flaw:
    return Flaw(Validation.INVALID_PAYLOAD, place, detail)


def _unstorable(mail: MailRequest) -> Iterator[Flaw]:
    named = mail.recipient or Reference("")
    for place, text in (
        *(("to", mail.to), ("to.name", mail.to_name), ("reply_to", mail.reply_to)),
        *(("subject", mail.subject), ("html", mail.html), ("text", mail.text)),
        *(("sender", mail.sender), ("recipient.external_id", named.external_id)),
        *(("headers", name + value) for name, value in mail.headers.items()),
        *(("attachments", part.filename + part.content_type) for part in mail.attachments),
    ):
        if text and not _is_storable(text):
            yield _flaw(place, "It holds U+0000 or half a character; remove it.")


def _variables(named: Named | None) -> Iterator[Flaw]:
    """They are kept with the mail, so that it can be made again."""
    found = values.flaw(named.variables, most=_LARGEST_VARIABLES) if named else None
    if found:
        yield _flaw("template.variables", found)


def _is_storable(text: str) -> bool:
    """PostgreSQL stores no NUL, and half a character has no bytes."""
    try:
        return "\x00" not in text and (text.isascii() or bool(text.encode()))
    except UnicodeEncodeError:
        return False


def _sizes(mail: MailRequest) -> Iterator[Flaw]:
    names = [len(part.filename) for part in mail.attachments]
    values = [len(value) for value in mail.headers.values()]
    for place, what, count, most in (
        ("to.name", "characters", len(mail.to_name), _LONGEST_NAME),
        ("text", "characters", len(mail.text), _LONGEST_TEXT),
        ("headers", "headers", len(mail.headers), MOST_HEADERS),
        ("headers", "characters in a value", max(values, default=0), _LONGEST_HEADER),
        ("tags", "tags", len(mail.tags), MOST_TAGS),
        ("attachments", "attachments", len(mail.attachments), MOST_ATTACHMENTS),
        ("attachments", "characters in a name", max(names, default=0), _LONGEST_NAME),
        ("attachments", "bytes in all", _attached_bytes(mail), MOST_ATTACHED_BYTES),
    ):
        if count > most:
            yield _flaw(place, f"There are {count} {what}; at most {most} are taken.")
    for tag in mail.tags:
        if not _TAG.fullmatch(tag):
            detail = f"{tag[:64]!r} is not a tag: write 1 to 64 letters, digits, hyphens and _."
            yield _flaw("tags", detail)


def _attached_bytes(mail: MailRequest) -> int:
    return sum(len(part.content) for part in mail.attachments)


def _reference(named: Reference | None, to: str) -> Iterator[Flaw]:
    if named is None:
        return
    if named.id is None and named.external_id is None:
        yield _flaw("recipient", "It names nobody; give id, external_id or both.")
    if named.email.lower() != to.lower():
        yield _flaw("recipient.email", "It differs from to; give the same address twice.")


def _time(send_at: datetime | None, now: datetime) -> Iterator[Flaw]:
    if send_at is None:
        return
    if send_at.tzinfo is None:
        yield _flaw("send_at", "It has no time zone; write Z or an offset behind it.")
    elif send_at - now > FURTHEST:
        yield _flaw("send_at", f"It is more than {FURTHEST.days} days ahead; ask again later.")


def _wire(mail: MailRequest) -> Iterator[Flaw]:
    """Tries the composer's own rules on every part, so that it has nothing left to refuse.

    The address itself is left to the recipient's validation, which has a code of its own.
    """
    place = "subject"
    try:
        headers.check("The subject", mail.subject)
        place = "to.name"
        headers.mailboxes("To", (replace(_SOMEBODY, name=mail.to_name),))
        place = "reply_to"
        if mail.reply_to is not None:
            addresses.canonical(mail.reply_to)
        place = "headers"
        list(headers.custom(mail.headers))
        place = "attachments"
        if mail.attachments:
            mime.compose(_letter_around(mail), reference=_SOME_ID)
    except RefusedError as error:
        yield _flaw(place, str(error))


def _letter_around(mail: MailRequest) -> Parts:
    attached = tuple(replace(part, content=b"") for part in mail.attachments)
    return Parts(_SOMEBODY, _SOMEBODY, "", _SOME_DAY, attachments=attached)
