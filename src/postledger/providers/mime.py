"""Writes the bytes of one mail: the same letter and reference always give the same bytes.

Lines end with CRLF and nothing else; bodies are quoted-printable or base64, so every line is short
and ASCII. Only an address whose local part is not ASCII puts UTF-8 into the headers, because there
is no other way to write it.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from email.utils import format_datetime

from postledger.lib import ids
from postledger.providers import addresses, headers
from postledger.providers.base import Attachment, Mailbox, Parts
from postledger.providers.patterns import InvalidContentError, Pattern, Ready, base64

_MOST_READY = 500  # values that are kept encoded; most are the same in many mails
_REFERENCE = re.compile(r"([0-9a-f-]{36})(?:_[0-9a-z]++)*+")
_CONTENT_TYPE = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]{0,63}/[a-z0-9][a-z0-9!#$&^_.+-]{0,63}")


def compose(parts: Parts, *, reference: str) -> bytes:
    """The complete mail; raises RefusedError for content that must not be put on a wire."""
    return Stencil(parts, boundary=reference.partition("_")[0]).fill(parts.to, reference)


@dataclass(frozen=True, slots=True)
class Filling:
    """The texts of one recipient's mail that differ from the others'."""

    subject: str
    text: Sequence[str]
    html: Sequence[str]


class Stencil:
    """A mail that many recipients share: recipient, reference and values are filled in."""

    def __init__(
        self,
        parts: Parts,
        *,
        boundary: str,
        text: Pattern | None = None,
        html: Pattern | None = None,
    ) -> None:
        self._domain = addresses.domain_of(parts.sender.address)
        self._reply_to = headers.mailboxes("Reply-To", parts.reply_to) if parts.reply_to else ""
        self._from = headers.mailboxes("From", (parts.sender,))
        self._date = f"Date: {format_datetime(parts.date)}\r\n"
        self._common = "".join(["MIME-Version: 1.0\r\n", *headers.custom(parts.headers)])
        self._subject = headers.text("Subject", parts.subject)
        self._text = text or (Pattern("plain", (parts.text,)) if parts.text else None)
        self._html = html or (Pattern("html", (parts.html,)) if parts.html else None)
        if self._text is None and self._html is None:
            self._text = Pattern("plain", ("",))
        self._before, self._between, self._after = self._frame(parts.attachments, boundary)
        self._ready: Ready = {}

    def fill(
        self,
        to: Mailbox,
        reference: str,
        filling: Filling | None = None,
        *,
        lines: str = "",
        sender: Mailbox | None = None,
    ) -> bytes:
        """The complete mail for one recipient; raises RefusedError where it cannot be addressed.

        `lines` are finished headers of this mail alone; `sender` is the From of this mail alone.
        """
        origin = headers.mailboxes("From", (sender,)) if sender else self._from
        subject = headers.text("Subject", filling.subject) if filling else self._subject
        text, html = (filling.text, filling.html) if filling else ((), ())
        head = (
            f"{origin}{headers.mailboxes('To', (to,))}{self._reply_to}"
            f"{subject}{self._date}"
            f"{_write_identity(reference, self._domain)}{lines}{self._common}"
        )
        ready = self._ready
        if len(ready) > _MOST_READY:
            ready.clear()
        return b"".join(
            (
                head.encode(),
                self._before,
                *(self._text.pieces(text, ready) if self._text else ()),
                self._between,
                *(self._html.pieces(html, ready) if self._html else ()),
                self._after,
            )
        )

    def _frame(self, attachments: Sequence[Attachment], name: str) -> tuple[bytes, bytes, bytes]:
        """The bytes before, between and after the texts."""
        before, between, after = b"", b"", b""
        if self._text and self._html:
            before, between, after = _multipart("alternative", f"{name}-a")
        if attachments:
            outside, line, end = _multipart("mixed", name)
            before = outside + before
            after += b"".join(line + _attachment(attachment) for attachment in attachments) + end
        return before, between, after


def check_own(parts: Parts) -> None:
    """Refuses what `Stencil.fill` would refuse of one recipient's mail, and encodes nothing."""
    headers.check("From", parts.sender.name)
    headers.check("Subject", parts.subject)
    headers.check("To", parts.to.name)
    addresses.canonical(parts.to.address)


def identify(reference: str, domain: str) -> dict[str, str]:
    """The two headers that identify a mail: one for the mail, one for this try of it.

    Message-ID leaves the try out: a mail that is sent again after a doubt has the same one, so a
    reader who receives both can see that they are one. The reference proves that we wrote it.
    """
    match = _REFERENCE.fullmatch(reference)
    mail = ids.without_try(match[1]) if match else None
    if mail is None:
        msg = f"{reference!r} is not a reference to a delivery"
        raise ValueError(msg)
    return {"Message-ID": f"<{mail}@{domain}>", "X-Postledger-Id": reference}


def _write_identity(reference: str, domain: str) -> str:
    return "".join(f"{name}: {value}\r\n" for name, value in identify(reference, domain).items())


def _multipart(kind: str, name: str) -> tuple[bytes, bytes, bytes]:
    """Its beginning with the first delimiter, the delimiter, and its end."""
    # Neither quoted-printable nor base64 can contain "=_", so no body can contain the boundary.
    boundary = f"=_{name}"
    line = f"--{boundary}\r\n"
    head = f'Content-Type: multipart/{kind};\r\n boundary="{boundary}"\r\n\r\n'
    return f"{head}{line}".encode(), line.encode(), f"--{boundary}--\r\n".encode()


def check_attachment(attachment: Attachment) -> str:
    """Its type; raises RefusedError for one that no attachment can have."""
    headers.check("filename", attachment.filename)
    kind = attachment.content_type.lower()
    if not _CONTENT_TYPE.fullmatch(kind) or kind.startswith(("multipart/", "message/")):
        raise InvalidContentError(f"{kind[:128]!r} is not a type an attachment can have.")
    return kind


def _attachment(attachment: Attachment) -> bytes:
    head = (
        f"Content-Type: {check_attachment(attachment)}\r\n"
        "Content-Transfer-Encoding: base64\r\n"
        f"Content-Disposition: attachment;{headers.parameter('filename', attachment.filename)}\r\n"
        "\r\n"
    )
    return head.encode() + base64(attachment.content)
