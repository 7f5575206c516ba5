"""Masks addresses and credentials in log lines."""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

REDACTED = "[redacted]"

_SECRET_NAME = re.compile(
    r"(passw(or)?d|secret|token|api_?key|authorization|credential|cookie|private_?key)",
    re.IGNORECASE,
)
_URL_CREDENTIALS = re.compile(
    r"(?P<scheme>[a-z][a-z0-9+.-]{0,30}://)[^\s/?#\"'<>]*@", re.IGNORECASE
)
_BEARER = re.compile(r"\b(?P<kind>Bearer|Basic)\s+[\w.~+/=-]+", re.IGNORECASE)
_ASSIGNMENT = re.compile(
    r"(?P<name>(?:passw(?:or)?d|secret|token|api_?key)\w{0,40}[\"']?\s{0,9}[=:]\s{0,9})"
    r"(?:\"[^\"]*\"|'[^']*'|[^\s,;&\"')}\]]+)",
    re.IGNORECASE,
)
# The local part takes in every character that may stand in one, "=" and "/" included: a return
# path such as bounces+alice=example.com@… carries a whole second address before its @.
# Its length is bounded (64 is the longest legal one) so that a long text costs linear time.
_ADDRESS = re.compile(
    r"(?:\"(?P<quoted>[^\"\n]{1,256})\"|(?P<plain>[^\s@<>\"'`(),:;\[\]{}\\]{1,256}))"
    r"(?P<at>@|%40)"
    r"(?P<domain>\[[^\]\s]{1,255}\]|[^\s@<>\"'`(),:;\[\]{}\\/?&=%]+)",
    re.IGNORECASE,
)


_OWN_NAMES = set[str]()

# Most values are a word, an id or a path, which contain nothing to mask.
_HARMLESS = re.compile(r"[\w./-]*")


def mask_text(text: str) -> str:
    """Shortens every address to a***@example.com and drops every credential in a text."""
    if _HARMLESS.fullmatch(text):
        return text
    text = _URL_CREDENTIALS.sub(r"\g<scheme>***@", text)
    text = _BEARER.sub(rf"\g<kind> {REDACTED}", text)
    text = _ASSIGNMENT.sub(rf"\g<name>{REDACTED}", text)
    return _ADDRESS.sub(_mask_address, text) if "@" in text or "%40" in text else text


_PLAIN = frozenset({type(None), bool, int, float})


def mask_value(value: Any) -> Any:
    """Masks a value of any type; other values than numbers and containers become masked text."""
    kind = type(value)
    if kind is str:
        return mask_text(value)
    if kind in _PLAIN or isinstance(value, int | float):
        return value
    if isinstance(value, Mapping):
        return mask_mapping(value)
    if isinstance(value, list | tuple | set | frozenset):
        return [mask_value(item) for item in value]
    if isinstance(value, BaseException):
        return mask_text(f"{type(value).__name__}: {value}")
    return mask_text(str(value))


def mask_mapping(fields: Mapping[Any, Any]) -> dict[str, Any]:
    return {
        mask_text(str(name)): REDACTED if _is_secret(str(name)) else mask_value(value)
        for name, value in fields.items()
    }


@lru_cache(maxsize=1024)
def _is_secret(name: str) -> bool:
    return _SECRET_NAME.search(name) is not None


def keep_readable(name: str) -> None:
    """Shows the name of a process of ours, which looks like an address and is none."""
    _OWN_NAMES.add(name)


def _mask_address(match: re.Match[str]) -> str:
    if match[0] in _OWN_NAMES:
        return match[0]
    local = match["quoted"] or match["plain"]
    return f"{local[0]}***{match['at']}{match['domain']}"
