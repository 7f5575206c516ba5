"""Unsubscribe links: a signed word that says who wants no more mail of which list.

A token has no date and no number: it works as long as its secret or the one after it is known,
however often it is used, and the same person and list always get the same one.
"""

import binascii
import hmac
import json
from base64 import urlsafe_b64decode
from binascii import b2a_base64
from collections.abc import Sequence
from dataclasses import dataclass, field
from json.encoder import encode_basestring_ascii as _quoted

GENERAL = "general"

_LONGEST = 2_000


@dataclass(frozen=True, slots=True)
class Wish:
    """Who wants no more mail, and of what; `general` is everything a workspace sends."""

    email: str
    list_key: str = GENERAL
    workspace_id: int | None = None  # None: the installation's first, the default one


def token(wish: Wish, *, secret: bytes) -> str:
    workspace = "" if wish.workspace_id is None else f',"workspace":{wish.workspace_id}'
    # Put together by hand, several times faster than by the encoder: each mail has one.
    data = (
        f'{{"email":{_quoted(wish.email)},"list_key":{_quoted(wish.list_key)}{workspace}}}'.encode()
    )
    return f"{_base64(data)}.{_base64(_signed(data, secret))}"


def read(text: str, *, secrets: Sequence[bytes]) -> Wish | None:
    """What a token says; None for everything that was not signed with one of the secrets."""
    payload, _, signature = text.partition(".")
    data, given = _bytes(payload), _bytes(signature)
    if data is None or given is None or len(text) > _LONGEST:
        return None
    if not any(hmac.compare_digest(_signed(data, secret), given) for secret in secrets if secret):
        return None
    return _wish(data)


def url(base: str, token: str) -> str:
    return f"{base}?token={token}"


@dataclass(frozen=True, slots=True)
class Leaving:
    """What the unsubscribe links of one workspace are made of."""

    base_url: str
    secret: bytes = field(repr=False)
    workspace_id: int | None  # None: the default one

    @property
    def is_complete(self) -> bool:
        return bool(self.base_url and self.secret)

    def url(self, email: str, *, list_key: str) -> str:
        wish = Wish(email, list_key, self.workspace_id)
        return url(self.base_url, token(wish, secret=self.secret))


def _wish(data: bytes) -> Wish | None:
    """None also for a payload that somebody with the secret signed for another purpose."""
    try:
        payload = json.loads(data)
    except ValueError:
        return None
    match payload:
        case {"email": str(email), **rest} if rest.keys() <= {"list_key", "workspace"}:
            list_key, workspace = rest.get("list_key", GENERAL), rest.get("workspace")
            if isinstance(list_key, str) and (workspace is None or type(workspace) is int):
                return Wish(email, list_key, workspace)
    return None


def _signed(data: bytes, secret: bytes) -> bytes:
    return hmac.digest(secret, data, "sha256")


_URL_SAFE = bytes.maketrans(b"+/", b"-_")


def _base64(data: bytes) -> str:
    return b2a_base64(data, newline=False).translate(_URL_SAFE, b"=").decode("ascii")


def _bytes(text: str) -> bytes | None:
    try:
        data = urlsafe_b64decode(text.encode() + b"=" * (-len(text) % 4))
    except (binascii.Error, ValueError):
        return None
    # Some bits of the last sign mean nothing; only one way to write a token is a token.
    return data if data and _base64(data) == text else None
