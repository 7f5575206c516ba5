"""Frames one message for SMTP: the envelope, and bytes that end exactly once."""

import re
from dataclasses import dataclass

from postledger.lib.errors import RefusedError
from postledger.providers import addresses, mime
from postledger.providers.base import OutgoingMessage, Refused
from postledger.providers.smtp.replies import Features

DOT = b".\r\n"
_LINE_END = re.compile(rb"\r\n|\r|\n")


@dataclass(frozen=True, slots=True)
class Frame:
    """A message ready to be handed over."""

    sender: str
    recipient: str
    data: bytes  # with doubled dots, without the final one
    size: int  # as RFC 1870 counts it: without the doubled dots
    is_eight_bit: bool
    is_utf8: bool

    def mail(self, features: Features) -> bytes:
        words = [f"MAIL FROM:<{self.sender}>"]
        if features.size:
            words.append(f"SIZE={self.size}")
        if self.is_eight_bit:
            words.append("BODY=8BITMIME")
        if self.is_utf8:
            words.append("SMTPUTF8")
        return " ".join(words).encode()

    def rcpt(self) -> bytes:
        return f"RCPT TO:<{self.recipient}>".encode()

    def objection(self, features: Features) -> Refused | None:
        """Why this server cannot take it, as far as that is known beforehand."""
        if self.is_utf8 and not features.utf8:
            return Refused("utf8_unsupported", "The server takes no addresses outside ASCII.")
        if self.is_eight_bit and not features.eight_bit:
            return Refused("8bit_unsupported", "The server takes no bytes outside ASCII.")
        if 0 < features.max_size < self.size:
            return Refused("too_big", f"The server takes at most {features.max_size} bytes.")
        return None


def frame(message: OutgoingMessage) -> Frame | Refused:
    try:
        sender = addresses.canonical(message.sender) if message.sender else ""
        recipient = addresses.canonical(message.recipient)
        content = message.content
        wire = (
            content
            if isinstance(content, bytes)
            else mime.compose(content, reference=message.reference)
        )
    except RefusedError as error:
        return Refused(error.code, str(error))
    wire = with_crlf(wire)
    data = stuffed(wire)
    is_eight_bit = not data.isascii()
    is_utf8 = not (sender.isascii() and recipient.isascii()) or (
        is_eight_bit and not data.partition(b"\r\n\r\n")[0].isascii()
    )
    return Frame(sender, recipient, data, len(wire), is_eight_bit, is_utf8)


def with_crlf(data: bytes) -> bytes:
    """Every line end made CRLF: some servers take a bare CR or LF around a dot for the end."""
    pairs = data.count(b"\r\n")
    if data.count(b"\n") != pairs or data.count(b"\r") != pairs:
        data = _LINE_END.sub(b"\r\n", data)
    return data if data.endswith(b"\r\n") else data + b"\r\n"


def stuffed(data: bytes) -> bytes:
    """Doubles the dot at the start of a line, so that none of them is the final one."""
    data = data.replace(b"\r\n.", b"\r\n..")
    return b"." + data if data.startswith(b".") else data
