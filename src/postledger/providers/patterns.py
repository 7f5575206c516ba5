"""Text parts that are encoded once and cut where values go: only the values are left to encode.

Both encodings allow a line to end anywhere, so the bytes before and after a value are the same for
values of any length.
"""

import binascii
import re
from collections.abc import Sequence

from postledger.lib.errors import RefusedError

_LINE_END = re.compile(r"\r\n|\r|\n")
_BASE64_LINE = 76


type Ready = dict[str, bytes]  # short values as quoted-printable

_LONGEST_READY = 200  # characters


class InvalidContentError(RefusedError):
    code = "invalid_content"


class Pattern:
    """One text part of a mail: the texts between the values, encoded."""

    def __init__(self, kind: str, literals: Sequence[str]) -> None:
        data = [_encoded(literal) for literal in literals]
        joined = b"".join(data)
        # Base64 is the shorter of the two once more than a sixth is not ASCII.
        is_base64 = len(joined.translate(None, _ASCII)) * 6 > len(joined)
        name = "base64" if is_base64 else "quoted-printable"
        head = f"Content-Type: text/{kind}; charset=utf-8\r\nContent-Transfer-Encoding: {name}"
        self._head = f"{head}\r\n\r\n".encode()
        self._body = _Base64(data) if is_base64 else _QuotedPrintable(data)

    def pieces(self, texts: Sequence[str], ready: Ready) -> list[bytes]:
        """The complete part with its headers, to be joined with the other parts of the mail.

        `ready` is shared by the parts of mails: most values occur several times.
        """
        return [self._head, *self._body.pieces(texts, ready)]


_ASCII = bytes(range(128))


def _encoded(text: str) -> bytes:
    try:
        has_line_ends = "\n" in text or "\r" in text
        return (_LINE_END.sub("\r\n", text) if has_line_ends else text).encode()
    except UnicodeEncodeError:
        raise InvalidContentError("A text of the mail contains an unpaired surrogate.") from None


class _QuotedPrintable:
    def __init__(self, data: Sequence[bytes]) -> None:
        last = _quoted_printable_lines(data[-1]) + b"\r\n"
        self._first, *self._others = [*(_open(piece) for piece in data[:-1]), last]

    def pieces(self, texts: Sequence[str], ready: Ready) -> list[bytes]:
        pieces = [self._first]
        for text, piece in zip(texts, self._others, strict=True):
            encoded = ready.get(text)
            if encoded is None:
                is_plain = _PLAIN.fullmatch(text)
                encoded = f"{text}=\r\n".encode() if is_plain else _open(_encoded(text))
                if len(text) <= _LONGEST_READY:
                    ready[text] = encoded
            pieces += (encoded, piece)
        return pieces


# Nothing in it has to be encoded, and a soft line end finds room behind it.
_PLAIN = re.compile(r"[ -<>-~]{0,75}")


def _open(data: bytes) -> bytes:
    """Encoded, with a soft line end after it: the text goes on, on a line of its own."""
    # With a letter after it while it is encoded, room for the soft line end is kept.
    return _quoted_printable_lines(data + b"X")[:-1] + b"=\r\n"


def _quoted_printable_lines(data: bytes) -> bytes:
    # b2a_qp takes the kind of line end from its first line, and so may leave bare line feeds.
    return binascii.b2a_qp(data, istext=True).replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")


class _Base64:
    """Three bytes are four signs, so each text is encoded for the three offsets it may begin at."""

    def __init__(self, data: Sequence[bytes]) -> None:
        self._first = _thirds(data[0], 0)
        self._others = [[_thirds(piece, taken) for taken in range(3)] for piece in data[1:]]

    def pieces(self, texts: Sequence[str], _ready: Ready) -> list[bytes]:
        _, encoded, remaining = self._first
        pieces = [encoded]
        for text, offsets in zip(texts, self._others, strict=True):
            value = remaining + _encoded(text)
            taken, encoded, remaining = offsets[-len(value) % 3]
            value += taken
            if len(value) % 3:  # the next text is too short to fill up the last three
                cut = len(value) // 3 * 3
                value, remaining = value[:cut], value[cut:]
            pieces += (base64(value), encoded)
        return [*pieces, base64(remaining)]


def _thirds(data: bytes, taken: int) -> tuple[bytes, bytes, bytes]:
    """The bytes for the text before it, those encoded by themselves, and those for the next."""
    end = taken + max(0, len(data) - taken) // 3 * 3
    return data[:taken], base64(data[taken:end]), data[end:]


def base64(data: bytes) -> bytes:
    encoded = binascii.b2a_base64(data, newline=False)
    return b"".join(
        encoded[at : at + _BASE64_LINE] + b"\r\n" for at in range(0, len(encoded), _BASE64_LINE)
    )
