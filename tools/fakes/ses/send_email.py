"""Reads a SendEmail request and checks it against the limits of SES."""

import string
from base64 import b64decode
from binascii import Error as BadBase64Error
from functools import lru_cache

from tools.fakes.http.routing import Document
from tools.fakes.ses import simple_message
from tools.fakes.ses.addresses import read_address, read_header
from tools.fakes.ses.documents import (
    required_text,
    structure,
    structures,
    text,
    texts,
)
from tools.fakes.ses.errors import SesError, bad_request
from tools.fakes.ses.mail import Mail

MAX_MESSAGE_SIZE = 30_000_000  # 40 MB in base64
MAX_RECIPIENTS = 50
MAX_TAG_LENGTH = 256
MAX_NAME_LENGTH = 64
NAME_CHARACTERS = frozenset(string.ascii_letters + string.digits + "_-")


def read_mail(document: Document) -> Mail:
    content = structure(document, "Content")
    if "Raw" in content:
        mail = _read_raw(document, structure(content, "Raw"))
    elif "Simple" in content:
        mail = _read_simple(document, structure(content, "Simple"))
    elif "Template" in content:
        raise bad_request("This fake has no templates; send Raw or Simple content.")
    else:
        raise bad_request("Content must have Simple, Raw or Template.")
    if not mail.recipients:
        raise bad_request("At least one recipient is required.")
    if len(mail.recipients) > MAX_RECIPIENTS:
        raise bad_request(f"Recipient count exceeds {MAX_RECIPIENTS}.")
    if len(mail.raw) > MAX_MESSAGE_SIZE:
        raise bad_request(
            f"Message length is more than {MAX_MESSAGE_SIZE} bytes long: '{len(mail.raw)}'."
        )
    return mail


@lru_cache(maxsize=1024)
def check_configuration_set_name(name: str) -> str:
    if len(name) > MAX_NAME_LENGTH or not NAME_CHARACTERS.issuperset(name):
        raise bad_request(
            f"Invalid configuration set name <{name}>: only alphanumeric ASCII characters, '_'"
            f" and '-' are allowed, up to {MAX_NAME_LENGTH} of them."
        )
    return name


def _read_raw(document: Document, raw: Document) -> Mail:
    try:
        message = b64decode(required_text(raw, "Data"), validate=True)
    except (BadBase64Error, ValueError):
        raise SesError("SerializationException", "Data is not valid base64.") from None
    head = _MessageHead(message)
    return Mail(
        senders=_read_senders(text(document, "FromEmailAddress"), head.find(b"from")),
        recipients=_read_destination(document) or _read_header_recipients(head),
        raw=message,
        message_id_header=head.find(b"message-id"),
        tags=_read_tags(document),
        configuration_set=_read_configuration_set(document),
    )


def _read_simple(document: Document, simple: Document) -> Mail:
    sender = text(document, "FromEmailAddress")
    if not sender:
        raise bad_request(None)  # as SES does, without a word
    return Mail(
        senders=(read_address(sender),),
        recipients=_read_destination(document),
        raw=simple_message.compose(document, simple),
        tags=_read_tags(document),
        configuration_set=_read_configuration_set(document),
    )


class _MessageHead:
    """The headers of a message, unfolded, in which few are searched.

    The standard library's parser would take most of the time of a request.
    """

    def __init__(self, message: bytes) -> None:
        separator = b"\r\n\r\n" if b"\r\n" in message[:1000] else b"\n\n"
        head = message.partition(separator)[0].replace(b"\r\n", b"\n")
        self._lines = b"\n%b\n" % head.replace(b"\n ", b" ").replace(b"\n\t", b" ")
        self._lowered = self._lines.lower()  # of bytes, so every position stays the same

    def find(self, name: bytes) -> str:
        """The value of the first header with this name, which is in lowercase."""
        begin = self._lowered.find(b"\n%b:" % name)
        if begin < 0:
            return ""
        begin += len(name) + 2
        value = self._lines[begin : self._lines.index(b"\n", begin)]
        return value.decode("utf-8", "replace").strip()


@lru_cache(maxsize=1024)
def _read_senders(given: str, header: str) -> tuple[str, ...]:
    if not given and not header:
        raise bad_request("Missing required header 'From'.")
    senders = [read_address(given)] if given else []
    return tuple(dict.fromkeys([*senders, *(read_header(header) if header else ())]))


def _read_destination(document: Document) -> tuple[str, ...]:
    destination = structure(document, "Destination")
    return tuple(
        read_address(address)
        for name in ("ToAddresses", "CcAddresses", "BccAddresses")
        for address in texts(destination, name)
    )


def _read_header_recipients(head: _MessageHead) -> tuple[str, ...]:
    return tuple(
        address
        for name in (b"to", b"cc", b"bcc")
        if (value := head.find(name))
        for address in read_header(value)
    )


def _read_tags(document: Document) -> tuple[tuple[str, str], ...]:
    tags = [
        (required_text(tag, "Name"), required_text(tag, "Value"))
        for tag in structures(document, "EmailTags")
    ]
    for name, value in tags:
        _check_tag(name.removeprefix("ses:"), "name")  # ses:feedback-id-a and its like
        _check_tag(value, "value")
    if len(dict(tags)) < len(tags):
        raise bad_request("Duplicate tag name.")
    return tuple(tags)


def _check_tag(part: str, what: str) -> None:
    if len(part) > MAX_TAG_LENGTH:
        raise bad_request(f"Tag {what} is longer than {MAX_TAG_LENGTH} characters.")
    if not NAME_CHARACTERS.issuperset(part):
        raise bad_request(
            f"Invalid tag {what} <{part}>: only alphanumeric ASCII characters, '_' and '-' are"
            " allowed."
        )


def _read_configuration_set(document: Document) -> str:
    return check_configuration_set_name(text(document, "ConfigurationSetName"))
