"""Composes the message that SendGrid would send, so that it can be read part by part."""

from base64 import b64decode
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from typing import Any

from tools.fakes.http.routing import Document

_UTF_8 = {"charset": "utf-8"}


def compose(document: Document, message_id: str) -> bytes:
    """The message of the first personalization of a valid request."""
    personalization: Document = document["personalizations"][0]
    message = EmailMessage(SMTP)
    message["From"] = _read_address(personalization.get("from") or document["from"])
    message["To"] = _read_addresses(personalization["to"])
    if personalization.get("cc"):
        message["Cc"] = _read_addresses(personalization["cc"])
    reply_to = document.get("reply_to_list") or [document.get("reply_to")]
    if any(reply_to):
        message["Reply-To"] = _read_addresses(reply_to)
    message["Subject"] = personalization.get("subject") or document["subject"]
    headers = {**document.get("headers", {}), **personalization.get("headers", {})}
    if "message-id" not in map(str.lower, headers):
        headers["Message-ID"] = f"<{message_id}@geopod-ismtpd-1>"
    _set_content(message, document)
    # As they came: the library would parse and write them anew.
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return lines.encode("ascii") + message.as_bytes()


def _read_address(given: Document) -> Address:
    return Address(given.get("name", ""), addr_spec=given["email"])


def _read_addresses(given: list[Document]) -> list[Address]:
    return [_read_address(entry) for entry in given]


def _set_content(message: EmailMessage, document: Document) -> None:
    first, *others = document["content"]
    message.set_content(*_read_text(first), params=_UTF_8)
    for content in others:
        message.add_alternative(*_read_text(content), params=_UTF_8)
    html = message.get_body(("html",))
    for attachment in document.get("attachments", ()):
        if attachment.get("disposition") == "inline" and html is not None:
            html.add_related(*_read_file(attachment), **_name(attachment))
        else:
            message.add_attachment(*_read_file(attachment), **_name(attachment))


def _read_text(content: Document) -> tuple[bytes, str, str]:
    """The exact text, its type and subtype; as a str, its last line would get another end."""
    main, _, sub = content["type"].partition("/")
    return content["value"].encode(), main, sub


def _read_file(attachment: Document) -> tuple[bytes, str, str]:
    main, _, sub = attachment.get("type", "application/octet-stream").partition("/")
    return b64decode(attachment["content"]), main, sub


def _name(attachment: Document) -> dict[str, Any]:
    content_id = attachment.get("content_id")
    return {
        "filename": attachment["filename"],
        "cid": f"<{content_id}>" if content_id else None,
        "disposition": attachment.get("disposition", "attachment"),
    }
