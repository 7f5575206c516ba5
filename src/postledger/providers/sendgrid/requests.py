"""Writes the body of Mail Send for one message; pure."""

import json
from binascii import b2a_base64
from collections.abc import Iterator

from postledger.lib.errors import RefusedError
from postledger.providers import addresses, headers, mime
from postledger.providers.base import (
    JOB_TAGS,
    Attachment,
    Failure,
    Mailbox,
    OutgoingMessage,
    Parts,
    Refused,
)
from postledger.providers.http import outcomes as http_outcomes

SEND_PATH = "/v3/mail/send"
REFERENCE_ARGUMENT = "postledger-id"  # as the header X-Postledger-Id; comes back in every event
MAX_SIZE = 30_000_000
_encode = json.JSONEncoder(ensure_ascii=False, check_circular=False, separators=(",", ":")).encode
# Nothing that is set in the account changes a mail, or counts what its reader does.
_SETTINGS = _encode(
    {
        "mail_settings": {"footer": {"enable": False}},
        "tracking_settings": {
            "click_tracking": {"enable": False, "enable_text": False},
            "ganalytics": {"enable": False},
            "open_tracking": {"enable": False},
            "subscription_tracking": {"enable": False},
        },
    }
).encode()


def write_body(message: OutgoingMessage) -> bytes | Failure:
    """The JSON of one mail to one recipient, or why SendGrid would not take it."""
    parts = message.content
    if isinstance(parts, bytes):
        raise TypeError("SendGrid takes the parts of a mail, and not its bytes")
    try:
        sender = addresses.canonical(parts.sender.address)
        recipient = addresses.canonical(message.recipient)
        replies = [_mailbox("Reply-To", box) for box in parts.reply_to]
        fields = _fields(parts, message, sender, recipient, replies)
        attachments = list(map(_attachment, parts.attachments))
    except RefusedError as error:
        return Refused(error.code, str(error))
    is_ascii = all(map(str.isascii, (recipient, *(box["email"] for box in replies))))
    objection = http_outcomes.object_to_utf8("SendGrid", sender=sender, are_others_ascii=is_ascii)
    if objection is not None:
        return objection
    try:
        body = b"".join(_join(fields, attachments))
    except UnicodeEncodeError:
        return Refused("invalid_content", "A text of the mail contains an unpaired surrogate.")
    if len(body) > MAX_SIZE:
        return Refused("too_big", f"SendGrid takes at most {MAX_SIZE} bytes in a request.")
    return body


def _join(fields: dict[str, object], attachments: list[bytes]) -> Iterator[bytes]:
    yield _encode(fields)[:-1].encode()
    if attachments:
        yield b',"attachments":[%b]' % b",".join(attachments)
    yield b",%b" % _SETTINGS[1:]


def _fields(
    parts: Parts,
    message: OutgoingMessage,
    sender: str,
    recipient: str,
    replies: list[dict[str, str]],
) -> dict[str, object]:
    """All that comes before attachments and settings.

    SendGrid writes Date itself. Of the tags it gets those of notifications: it keeps custom
    arguments for ever, and the id of a request is whatever its caller chose.
    """
    reference = message.reference
    arguments = {name: message.tags[name] for name in JOB_TAGS if name in message.tags}
    arguments[REFERENCE_ARGUMENT] = reference
    to = _mailbox("To", Mailbox(recipient, parts.to.name))
    fields: dict[str, object] = {
        "personalizations": [{"to": [to], "custom_args": arguments}],
        "from": _mailbox("From", parts.sender),
        "subject": headers.plain_value("Subject", parts.subject),
        "content": _contents(parts),
        "headers": {
            **mime.identify(reference, addresses.domain_of(sender)),
            **headers.custom_values(parts.headers),
        },
    }
    if len(replies) == 1:
        fields["reply_to"] = replies[0]
    elif replies:
        fields["reply_to_list"] = replies
    return fields


def _contents(parts: Parts) -> list[dict[str, str]]:
    """Text before HTML. SendGrid takes no empty content, and no mail without one."""
    contents = [("text/plain", parts.text), ("text/html", parts.html)]
    given = [{"type": kind, "value": value} for kind, value in contents if value]
    return given or [{"type": "text/plain", "value": "\r\n"}]


def _mailbox(header: str, box: Mailbox) -> dict[str, str]:
    address = addresses.canonical(box.address)
    if not box.name:
        return {"email": address}
    return {"email": address, "name": headers.plain_value(header, box.name)}


def _attachment(attachment: Attachment) -> bytes:
    fields = {
        "type": mime.check_attachment(attachment),
        "filename": attachment.filename,
        "disposition": "attachment",
    }
    content = b2a_base64(attachment.content, newline=False)
    return b'{"content":"%b",%b' % (content, _encode(fields)[1:].encode())
