"""Writes header lines so that no value can end its line, start another, or decode into one."""

import re
from base64 import b64encode
from collections.abc import Iterator, Mapping
from functools import lru_cache
from urllib.parse import quote

from postledger.lib.errors import RefusedError
from postledger.providers import addresses
from postledger.providers.base import Mailbox

_NAME = re.compile(r"[A-Za-z0-9-]{1,76}")
# C0 with the tab, DEL, C1 with NEL, the two Unicode line ends, and lone surrogates.
_FORBIDDEN = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
# Text that a reader would take for an encoded word, though nobody encoded it.
_LOOKS_ENCODED = re.compile(r"=\?[^?]*\?[bBqQ]\?")
_LINE = 78
_LONGEST_WORD = 915  # with a name before it, below the 998 that no line may exceed
# fmt: off
_OWN = frozenset({
    "bcc", "cc", "date", "from", "message-id", "mime-version", "received", "reply-to",
    "return-path", "sender", "subject", "to", "x-postledger-id",
})
_OWN_PREFIXES = ("content-", "resent-")
# A service that sends the mail takes orders from these: other recipients, other limits, no log.
COMMANDS = frozenset({"x-apiheader", "x-msys-api", "x-smtpapi"})
COMMAND_PREFIXES = (
    "resend-", "x-amz-", "x-elasticemail-", "x-mailersend-", "x-mailgun-", "x-mailin-",
    "x-mailjet-", "x-mandrill-", "x-mc-", "x-mj-", "x-ms-", "x-mt-", "x-pm-", "x-resend-",
    "x-ses-", "x-sg-", "x-sib-", "x-smtp2go-", "x-sparkpost-", "x-xsm",
)
# Mail programs, filters and servers believe that a server on the way wrote these.
CLAIMS = frozenset({
    "apparently-to", "bimi-indicator", "bimi-location", "delivered-to", "delivery-date",
    "dkim-signature", "domainkey-signature", "envelope-to", "errors-to", "original-recipient",
    "received-spf", "status", "vbr-info", "x-keywords", "x-original-from", "x-original-to",
    "x-originatororg", "x-originating-ip", "x-received", "x-sender", "x-status", "x-uid",
})
CLAIM_PREFIXES = (
    "arc-", "authentication-results", "x-authenticat", "x-envelope-", "x-forefront-", "x-gm-",
    "x-google-", "x-microsoft-", "x-mozilla-", "x-spam-",
)
# fmt: on


class InvalidHeaderError(RefusedError):
    code = "invalid_header"


@lru_cache(maxsize=256)
def text(name: str, value: str) -> str:
    """A header of free text: as it is where that is safe, otherwise in encoded words.

    Kept for a while: the mails of one event or one campaign have most of their headers in common.
    """
    check(name, value)
    if _is_plain(value) and max(map(len, value.split(" "))) <= _LONGEST_WORD:
        return _folded(name, value.split(" "))
    return _folded(name, _encoded_words(name, value))


def mailboxes(name: str, boxes: tuple[Mailbox, ...]) -> str:
    words: list[str] = []
    for box in boxes:
        check(name, box.name)
        address = addresses.canonical(box.address)
        words += [*_phrase(name, box.name), f"<{address}>,"] if box.name else [f"{address},"]
    return _folded(name, [*words[:-1], words[-1].removesuffix(",")])


def custom(headers: Mapping[str, str]) -> Iterator[str]:
    """The caller's own headers, ready to send."""
    return (text(name, value) for name, value in _check_custom(headers))


def custom_values(headers: Mapping[str, str]) -> dict[str, str]:
    """The caller's own headers, for a service that writes the lines itself."""
    return {name: _encoded_value(name, value) for name, value in _check_custom(headers)}


def plain_value(name: str, value: str) -> str:
    """Free text as it is, for a service that encodes it; what looks encoded is encoded here."""
    check(name, value)
    return _encoded_value(name, value) if _LOOKS_ENCODED.search(value) else value


def _encoded_value(name: str, value: str) -> str:
    """The value of a header of free text, in ASCII and on one line."""
    return text(name, value).replace("\r\n", "").removeprefix(f"{name}: ")


def _check_custom(headers: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """None that the composer writes itself, that commands the service which sends the mail, or
    that deceives those who read it.
    """
    seen: set[str] = set()
    for name, value in headers.items():
        lowered = name.lower()
        if not _NAME.fullmatch(name):
            raise InvalidHeaderError(f"{name[:76]!r} is not a header name.")
        if lowered in _OWN or lowered.startswith(_OWN_PREFIXES):
            raise InvalidHeaderError(f"The header {name} is set by Postledger.")
        if lowered in COMMANDS or lowered.startswith(COMMAND_PREFIXES):
            raise InvalidHeaderError(
                f"The header {name} commands the service that sends the mail. Leave it out."
            )
        if lowered in CLAIMS or lowered.startswith(CLAIM_PREFIXES):
            raise InvalidHeaderError(
                f"The header {name} is written by mail servers, and readers believe it."
                " Leave it out."
            )
        if lowered in seen:
            raise InvalidHeaderError(f"The header {name} is given twice.")
        seen.add(lowered)
        yield name, value


def parameter(name: str, value: str) -> str:
    """A MIME parameter on lines of its own, by RFC 2231 where quotes do not do."""
    check(name, value)
    if _is_plain(value) and len(value) < _LINE - len(name) - 5:
        return f'\r\n {name}="{_escaped(value)}"'
    encoded = quote(value, safe="", encoding="utf-8")
    pieces = re.findall(r"(?:%..|[^%]){1,20}", encoded)  # at most 60 characters, no % torn apart
    return ";".join(
        f"\r\n {name}*{number}*={'' if number else "utf-8''"}{piece}"
        for number, piece in enumerate(pieces)
    )


def check(name: str, value: str) -> None:
    match = _FORBIDDEN.search(value)
    if match is not None:
        raise InvalidHeaderError(f"{name} contains the forbidden character U+{ord(match[0]):04X}.")


def _is_plain(value: str) -> bool:
    """Whether the value can stand as it is: folding must neither lose nor add a space."""
    return (
        value.isascii()
        and value == value.strip(" ")
        and "  " not in value
        and not _LOOKS_ENCODED.search(value)
    )


def _phrase(header: str, name: str) -> list[str]:
    if _is_plain(name) and len(name) < _LINE // 2:
        return [f'"{_escaped(name)}"']
    return _encoded_words(header, name)


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"')


def _encoded_words(header: str, value: str) -> list[str]:
    """Words of whole characters and at most 75 signs; the spaces between them are dropped.

    The first is shorter, so that it finds room beside the header's name: readers take a space
    for part of the value when the value begins on the next line.
    """
    chunks = [b""]
    room = max(12, (_LINE - 14 - len(header)) // 4 * 3)
    for char in value:
        encoded = char.encode()
        if len(chunks[-1]) + len(encoded) > room:
            chunks.append(b"")
            room = 45
        chunks[-1] += encoded
    return [f"=?utf-8?b?{b64encode(chunk).decode()}?=" for chunk in chunks]


def _folded(name: str, words: list[str]) -> str:
    """One header, CRLF at its end, broken before a word where the line would get too long."""
    lines = [f"{name}: {words[0]}"]
    for word in words[1:]:
        if len(lines[-1].encode()) + 1 + len(word.encode()) > _LINE:
            lines.append("")
        lines[-1] += f" {word}"
    return "\r\n".join(lines) + "\r\n"
