"""Parses the replies of an SMTP server, and the features that it offers."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

_ENHANCED = re.compile(r"([245])\.([0-9]{1,3})\.([0-9]{1,3})(?:\s|$)")
_UNPRINTABLE = re.compile(r"[^\x20-\x7e]+")
_MAX_REPLY = 64 * 1024
_MAX_TEXT = 500
_MARKS = frozenset({b"", b" ", b"-"})


class GarbledError(Exception):
    """The bytes are no reply; from here on no answer can be matched with its command."""


@dataclass(frozen=True, slots=True)
class Reply:
    """Its text is decoded only on demand: most replies are just a yes."""

    code: int
    raw: tuple[bytes, ...]

    @property
    def lines(self) -> list[str]:
        return [printable(line.decode("latin-1")) for line in self.raw]

    @property
    def text(self) -> str:
        return " ".join(self.lines)[:_MAX_TEXT]

    @property
    def is_refusal(self) -> bool:
        return self.code >= 400  # noqa: PLR2004  4xx and 5xx

    @property
    def enhanced(self) -> tuple[int, int, int] | None:
        match = _ENHANCED.match(self.lines[0])
        return (int(match[1]), int(match[2]), int(match[3])) if match else None


class ReplyParser:
    """Turns received bytes into replies; keeps an incomplete one."""

    def __init__(self) -> None:
        self._buffer = b""
        self._code = b""
        self._lines: list[bytes] = []
        self._size = 0  # of the lines, with their ends

    @property
    def is_between_replies(self) -> bool:
        return not self._buffer and not self._lines

    def feed(self, data: bytes) -> Iterator[Reply]:
        """Yields complete replies before it raises: they count, even if garbage follows."""
        *lines, self._buffer = (self._buffer + data).split(b"\n")
        for line in lines:
            reply = self._add_line(line.removesuffix(b"\r"))
            if reply is not None:
                yield reply
            elif self._size > _MAX_REPLY:
                break
        if len(self._buffer) + self._size > _MAX_REPLY:
            raise GarbledError("the reply does not end")

    def _add_line(self, line: bytes) -> Reply | None:
        """The reply that this line completes, if it does."""
        code, mark = line[:3], line[3:4]
        if not (code.isdigit() and 200 <= int(code) < 600 and mark in _MARKS):  # noqa: PLR2004  RFC 5321
            raise GarbledError(f"this is no reply: {printable(line.decode('latin-1'))}")
        if self._lines and code != self._code:
            raise GarbledError(f"a reply changed from {self._code!r} to {code!r}")
        self._code = code
        self._lines.append(line[4:])
        self._size += len(line) + 1
        if mark == b"-":
            return None
        reply = Reply(int(code), tuple(self._lines))
        self._lines, self._size = [], 0
        return reply


def printable(text: str) -> str:
    return _UNPRINTABLE.sub(" ", text).strip()[:_MAX_TEXT]


@dataclass(frozen=True, slots=True)
class Features:
    """The features that the server offers in its reply to EHLO."""

    pipelining: bool = False
    starttls: bool = False
    eight_bit: bool = False
    utf8: bool = False
    size: bool = False
    max_size: int = 0  # 0: the server names no limit
    mechanisms: frozenset[str] = frozenset()

    @classmethod
    def read_from(cls, reply: Reply) -> Self:
        words = [line.upper().replace("AUTH=", "AUTH ").split() for line in reply.lines[1:]]
        offers = {word[0]: word[1:] for word in words if word}
        limit = offers.get("SIZE") or ["0"]
        return cls(
            pipelining="PIPELINING" in offers,
            starttls="STARTTLS" in offers,
            eight_bit="8BITMIME" in offers,
            utf8="SMTPUTF8" in offers,
            size="SIZE" in offers,
            max_size=int(limit[0]) if limit[0].isdecimal() and len(limit[0]) < 20 else 0,  # noqa: PLR2004  RFC 1870
            mechanisms=frozenset(
                mechanism for word in words if word and word[0] == "AUTH" for mechanism in word[1:]
            ),
        )
