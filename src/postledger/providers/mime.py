"""Makes the bytes of one mail: the same letter and id always give the same bytes.

Lines end with CRLF and nothing else; bodies are quoted-printable or base64, so every line is short
and ASCII. Only an address whose local part is not ASCII puts UTF-8 into the headers, because there
is no other way to write it.
"""

import binascii
import re
from collections.abc import Iterator
from email.utils import format_datetime

from postledger.lib.errors import RefusedError
from postledger.lib.ids import DeliveryId
from postledger.providers import addresses, headers
from postledger.providers.base import Attachment, Letter, Mailbox

_CONTENT_TYPE = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]{0,63}/[a-z0-9][a-z0-9!#$&^_.+-]{0,63}")
_LINE_END = re.compile(r"\r\n|\r|\n")
_BASE64_LINE = 76


class InvalidContentError(RefusedError):
    code = "invalid_content"


def compose(letter: Letter, *, delivery_id: str) -> bytes:
    """The whole mail; raises RefusedError for what must not be put on a wire."""
    return Stencil(letter, boundary=delivery_id).fill(letter.to, delivery_id)


class Stencil:
    """A mail made once for many: only the recipient and the ids are left to be filled in."""

    def __init__(self, letter: Letter, *, boundary: str) -> None:
        self._domain = addresses.domain_of(letter.sender.address)
        self._from = headers.mailboxes("From", (letter.sender,))
        self._head = "".join(
            [
                *([headers.mailboxes("Reply-To", letter.reply_to)] if letter.reply_to else []),
                headers.text("Subject", letter.subject),
                f"Date: {format_datetime(letter.date)}\r\n",
            ]
        )
        self._rest = "".join(["MIME-Version: 1.0\r\n", *headers.custom(letter.headers)]).encode()
        self._rest += _content(letter, boundary)

    def fill(self, to: Mailbox, delivery_id: str) -> bytes:
        """The whole mail for one recipient; raises RefusedError where it cannot be addressed."""
        head = (
            f"{self._from}{headers.mailboxes('To', (to,))}{self._head}"
            f"{identity(delivery_id, self._domain)}"
        )
        return head.encode() + self._rest


def identity(delivery_id: str, domain: str) -> str:
    """The two headers by which a mail is known again: one for the mail, one for this try of it.

    Message-ID leaves the try out: a mail that is sent again after a doubt bears the same one, so
    whoever receives both can see that they are one.
    """
    found = DeliveryId.parse(delivery_id)
    if found is None:
        msg = f"{delivery_id!r} is not an id of a delivery"
        raise ValueError(msg)
    mail = DeliveryId(found.stream_id, found.position).uuid()
    return f"Message-ID: <{mail}@{domain}>\r\nX-Postledger-Id: {found.uuid()}\r\n"


def _content(letter: Letter, name: str) -> bytes:
    versions = [
        _text(kind, body) for kind, body in (("plain", letter.text), ("html", letter.html)) if body
    ] or [_text("plain", "")]
    body = versions[0]
    if len(versions) > 1:
        body = _multipart("alternative", versions, f"{name}-a")
    if letter.attachments:
        body = _multipart("mixed", [body, *map(_attachment, letter.attachments)], name)
    return body


def _multipart(kind: str, parts: list[bytes], name: str) -> bytes:
    # Neither quoted-printable nor base64 can contain "=_", so no body can contain the boundary.
    boundary = f"=_{name}"
    head = f'Content-Type: multipart/{kind};\r\n boundary="{boundary}"\r\n\r\n'
    line = f"--{boundary}\r\n".encode()
    return head.encode() + b"".join(line + part for part in parts) + f"--{boundary}--\r\n".encode()


def _text(kind: str, body: str) -> bytes:
    try:
        data = _LINE_END.sub("\r\n", body).encode()
    except UnicodeEncodeError:
        raise InvalidContentError(f"The {kind} text holds half a character.") from None
    head = f"Content-Type: text/{kind}; charset=utf-8\r\nContent-Transfer-Encoding: "
    # Base64 is the shorter of the two once more than a sixth is not ASCII.
    if len(data.translate(None, _ASCII)) * 6 > len(data):
        return f"{head}base64\r\n\r\n".encode() + _base64(data)
    return f"{head}quoted-printable\r\n\r\n".encode() + _quoted_printable(data)


_ASCII = bytes(range(128))


def _quoted_printable(data: bytes) -> bytes:
    # b2a_qp takes the kind of line end from its first line, and so may leave bare line feeds.
    encoded = binascii.b2a_qp(data, istext=True).replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
    return encoded + b"\r\n"


def _base64(data: bytes) -> bytes:
    encoded = binascii.b2a_base64(data, newline=False)
    return b"".join(line + b"\r\n" for line in _lines(encoded))


def _lines(encoded: bytes) -> Iterator[bytes]:
    return (encoded[at : at + _BASE64_LINE] for at in range(0, len(encoded), _BASE64_LINE))


def _attachment(attachment: Attachment) -> bytes:
    kind = attachment.content_type.lower()
    if not _CONTENT_TYPE.fullmatch(kind) or kind.startswith(("multipart/", "message/")):
        raise InvalidContentError(f"{kind[:128]!r} is not a type an attachment can have.")
    head = (
        f"Content-Type: {kind}\r\n"
        "Content-Transfer-Encoding: base64\r\n"
        f"Content-Disposition: attachment;{headers.parameter('filename', attachment.filename)}\r\n"
        "\r\n"
    )
    return head.encode() + _base64(attachment.content)
