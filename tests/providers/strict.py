"""A parser that forgives nothing: what it reads is what every receiver must read."""

import re
from dataclasses import dataclass
from email import message_from_bytes, policy
from email.message import EmailMessage

_HEADER = re.compile(rb"([!-9;-~]+): ?(.*)", re.DOTALL)
_FIRST_WORD = re.compile(rb"^(?:[^ ]*: | )")  # the name, or the space of a folded line
_MAX_LINE = 998


@dataclass(frozen=True, slots=True)
class Raw:
    headers: list[tuple[str, bytes]]  # unfolded
    body: bytes


def read(wire: bytes) -> Raw:
    """The header lines and the body, after checks that hold for every mail on a wire."""
    assert wire.count(b"\r\n") == wire.count(b"\r") == wire.count(b"\n"), "a bare CR or LF"
    assert b"\0" not in wire
    assert wire.endswith(b"\r\n")
    assert all(len(line) <= _MAX_LINE for line in wire.split(b"\r\n")), "a line too long"
    head, blank, body = wire.partition(b"\r\n\r\n")
    assert blank, "no end of headers"
    long = [line for line in head.split(b"\r\n") if len(line) > 78]
    assert not any(b" " in _FIRST_WORD.sub(b"", line) for line in long), "not folded"
    headers: list[tuple[str, bytes]] = []
    for line in head.split(b"\r\n"):
        if line.startswith((b" ", b"\t")):
            assert line.strip(), "a folded line of nothing"
            name, value = headers.pop()
            headers.append((name, value + line))
        else:
            match = _HEADER.fullmatch(line)
            assert match is not None, f"no header: {line!r}"
            headers.append((match[1].decode(), match[2]))
    return Raw(headers, body)


def names(wire: bytes) -> list[str]:
    return [name.lower() for name, _ in read(wire).headers]


def parsed(wire: bytes) -> EmailMessage:
    read(wire)
    message = message_from_bytes(wire, policy=policy.SMTPUTF8)
    for part in message.walk():
        assert part.defects == []
    return message
