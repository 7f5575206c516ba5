"""What SendGrid asks of headers, texts and attachments, beyond its schema."""

import string
from base64 import b64decode
from binascii import Error as BadBase64Error
from collections.abc import Iterator

from tools.fakes.http.routing import Document
from tools.fakes.sendgrid.errors import Issue

FORBIDDEN_HEADERS = frozenset(
    (
        "x-sg-id",
        "x-sg-eid",
        "received",
        "dkim-signature",
        "content-type",
        "content-transfer-encoding",
        "to",
        "from",
        "subject",
        "reply-to",
        "cc",
        "bcc",
    )
)
_NAME_CHARACTERS = frozenset(string.ascii_letters + string.digits + string.punctuation) - {":"}
_TYPE_CHARACTERS = frozenset(string.ascii_letters + string.digits + "/-+._")
# In which order the texts must come; others follow.
_ORDER = ("text/plain", "text/x-amp-html", "text/html")


def find_issues(document: Document) -> Iterator[Issue]:
    yield from check_headers(document, "")
    if document.get("template_id"):
        yield Issue("This fake has no templates; send content.", "template_id")
    yield from _check_content(document.get("content", []))
    for number, attachment in enumerate(document.get("attachments", ())):
        yield from _check_attachment(attachment, f"attachments.{number}")


def is_one_line(text: str) -> bool:
    return not any(ord(character) < ord(" ") or character == "\x7f" for character in text)


def check_headers(document: Document, prefix: str) -> Iterator[Issue]:
    """Headers of the mail or of a personalization; `prefix` is of its fields."""
    for name, value in document.get("headers", {}).items():
        field = f"{prefix}headers.{name}"
        if name.lower() in FORBIDDEN_HEADERS:
            yield Issue(f"The header {name} is reserved, and cannot be used.", field)
        if not name or not _NAME_CHARACTERS.issuperset(name):
            yield Issue("The name of a header must be printable ASCII without spaces.", field)
        if not isinstance(value, str) or not value.isascii() or not is_one_line(value):
            yield Issue("The value of a header must be one line of ASCII.", field)


def _check_content(content: list[Document]) -> Iterator[Issue]:
    if not content:
        yield Issue(
            "Unless a valid template_id is provided, the content parameter is required. There must"
            " be at least one defined content block.",
            "content",
        )
    types: list[str] = [part["type"] for part in content]
    for number, name in enumerate(types):
        if "/" not in name or not _TYPE_CHARACTERS.issuperset(name):
            yield Issue("The content type is not valid.", f"content.{number}.type")
    places = [_ORDER.index(name) if name in _ORDER else len(_ORDER) for name in types]
    if places != sorted(places) or len(set(types)) < len(types):
        yield Issue(
            "If present, text/plain and text/html may only be provided once; text/plain must be"
            " first, followed by text/x-amp-html, text/html and any other content.",
            "content",
        )


def _check_attachment(attachment: Document, field: str) -> Iterator[Issue]:
    try:
        b64decode(attachment["content"], validate=True)
    except (BadBase64Error, ValueError):
        yield Issue("The attachment content must be base64 encoded.", f"{field}.content")
    kind = attachment.get("type", "application/octet-stream")
    if "/" not in kind or not _TYPE_CHARACTERS.issuperset(kind):
        yield Issue("The attachment type is not valid.", f"{field}.type")
    for name in ("filename", "content_id"):
        if not is_one_line(attachment.get(name, "")):
            yield Issue(f"The {name} must not have control characters.", f"{field}.{name}")
