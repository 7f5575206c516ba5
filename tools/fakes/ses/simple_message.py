"""Composes the message of Simple content, so that it can be read like any other."""

import string
from base64 import b64decode
from binascii import Error as BadBase64Error
from email.message import EmailMessage
from email.policy import SMTP

from tools.fakes.http.routing import Document
from tools.fakes.ses.documents import required_text, structure, structures, text
from tools.fakes.ses.documents import texts as read_texts
from tools.fakes.ses.errors import SesError, bad_request

MAX_HEADERS = 15
MAX_HEADER_NAME = 126
MAX_HEADER_VALUE = 995
MAX_HEADER = 996  # name and value together
MAX_FILE_NAME = 255
MAX_CONTENT_ID = 78
_NAME_CHARACTERS = frozenset(string.ascii_letters + string.digits + string.punctuation) - {":"}
_VALUE_CHARACTERS = _NAME_CHARACTERS | {":", " "}


def compose(document: Document, simple: Document) -> bytes:
    try:
        return _compose(document, simple)
    except (ValueError, LookupError) as error:
        # A line break or a repeated header, as the standard library sees them.
        raise bad_request(f"The message cannot be composed: {error}") from None


def _compose(document: Document, simple: Document) -> bytes:
    message = EmailMessage(SMTP)
    message["From"] = text(document, "FromEmailAddress")
    destination = structure(document, "Destination")
    for name, key in (("To", "ToAddresses"), ("Cc", "CcAddresses")):
        if addresses := read_texts(destination, key):
            message[name] = ", ".join(addresses)
    if addresses := read_texts(document, "ReplyToAddresses"):
        message["Reply-To"] = ", ".join(addresses)
    message["Subject"] = text(structure(simple, "Subject"), "Data")
    for name, value in _read_headers(simple):
        message[name] = value
    _set_body(message, structure(simple, "Body"))
    for attachment in structures(simple, "Attachments"):
        _attach(message, attachment)
    return message.as_bytes()


def _read_headers(simple: Document) -> list[tuple[str, str]]:
    headers = [
        (required_text(header, "Name"), required_text(header, "Value"))
        for header in structures(simple, "Headers")
    ]
    if len(headers) > MAX_HEADERS:
        raise bad_request(f"A message can have at most {MAX_HEADERS} headers.")
    for name, value in headers:
        if len(name) > MAX_HEADER_NAME or not _NAME_CHARACTERS.issuperset(name):
            raise bad_request(f"Invalid header name <{name}>.")
        if len(value) > MAX_HEADER_VALUE or not _VALUE_CHARACTERS.issuperset(value):
            raise bad_request(f"Invalid value of header <{name}>.")
        if len(name) + len(value) > MAX_HEADER:
            raise bad_request(f"Header <{name}> is longer than {MAX_HEADER} characters.")
    return headers


def _set_body(message: EmailMessage, body: Document) -> None:
    plain, html = (structure(body, name) for name in ("Text", "Html"))
    if not plain and not html:
        raise bad_request("Body must have Text or Html.")
    if plain:
        message.set_content(text(plain, "Data"))
    if html and plain:
        message.add_alternative(text(html, "Data"), subtype="html")
    elif html:
        message.set_content(text(html, "Data"), subtype="html")


def _attach(message: EmailMessage, attachment: Document) -> None:
    name, content_id = required_text(attachment, "FileName"), text(attachment, "ContentId")
    if len(name) > MAX_FILE_NAME or len(content_id) > MAX_CONTENT_ID:
        raise bad_request(f"Invalid attachment <{name}>.")
    try:
        content = b64decode(required_text(attachment, "RawContent"), validate=True)
    except (BadBase64Error, ValueError):
        raise SesError("SerializationException", "RawContent is not valid base64.") from None
    main, _, sub = (text(attachment, "ContentType") or "application/octet-stream").partition("/")
    message.add_attachment(
        content,
        maintype=main,
        subtype=sub or "octet-stream",
        filename=name,
        cid=f"<{content_id}>" if content_id else None,
        disposition=(text(attachment, "ContentDisposition") or "ATTACHMENT").lower(),
    )
