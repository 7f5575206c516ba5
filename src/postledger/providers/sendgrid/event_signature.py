"""The signature of SendGrid's posts of events: ECDSA over the timestamp and the raw body.

The key is the webhook's own, so it proves which account a post is of. The headers are read first:
what they show to be no post of SendGrid needs neither a key nor the body.
"""

import hashlib
import re
from base64 import b64decode, b64encode
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ec import ECDSA, SECP256R1, EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.utils import Prehashed
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_der_public_key,
)

# SendGrid repeats a post for 24 hours, and does not say that it signs it anew.
_OLDEST = timedelta(hours=25)
_SOONEST = timedelta(minutes=5)  # as far as clocks may differ
_TIMESTAMP = re.compile(r"[0-9]{10}", re.ASCII)  # seconds; enough until the year 2286
_LONGEST_SIGNATURE = 96  # letters of base64; DER of two numbers of 256 bits has 72 bytes
_LONGEST_KEY = 200
_ALGORITHM = ECDSA(Prehashed(SHA256()))


@dataclass(frozen=True, slots=True)
class Claim:
    """What the headers of a post say; nothing in it is believed yet."""

    signature: bytes
    timestamp: bytes
    sent_at: datetime


@dataclass(frozen=True, slots=True)
class Forged:
    why: str  # a sentence that repeats nothing of the headers


def read_headers(signature: str, timestamp: str, *, now: datetime) -> Claim | Forged:
    """Reads the two headers; any account would refuse a post whose headers are forged."""
    if not signature or not timestamp:
        return Forged("The post has no signature, or no timestamp.")
    value = _decode(signature, _LONGEST_SIGNATURE)
    if value is None:
        return Forged("The signature is not base64.")
    if not _TIMESTAMP.fullmatch(timestamp):
        return Forged("The timestamp is not a time in seconds.")
    sent_at = datetime.fromtimestamp(int(timestamp), UTC)
    if sent_at < now - _OLDEST:
        return Forged("The post was signed more than 25 hours ago.")
    if sent_at > now + _SOONEST:
        return Forged("The post was signed in the future, by the clock of this installation.")
    return Claim(value, timestamp.encode(), sent_at)


def find_signer(
    claim: Claim, body: bytes, keys: Mapping[int, EllipticCurvePublicKey]
) -> int | None:
    """The id of the key that signed exactly these bytes at that time; None if none of these did."""
    digest = hashlib.sha256(claim.timestamp)
    digest.update(body)
    for id_, key in keys.items():
        with suppress(InvalidSignature):
            key.verify(claim.signature, digest.digest(), _ALGORITHM)
            return id_
    return None


def load_key(text: str) -> EllipticCurvePublicKey | None:
    """A key as SendGrid shows it, in base64; None if it is no key of the curve P-256."""
    value = _decode(text, _LONGEST_KEY)
    if value is None:
        return None
    try:
        key = load_der_public_key(value)
    except Exception:  # noqa: BLE001  its parsers raise many types for bytes of others
        return None
    if isinstance(key, EllipticCurvePublicKey) and isinstance(key.curve, SECP256R1):
        return key
    return None


def write_key(key: EllipticCurvePublicKey) -> str:
    """The one text for a key: its SubjectPublicKeyInfo in base64."""
    return b64encode(key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)).decode()


def _decode(text: str, longest: int) -> bytes | None:
    """The bytes that have exactly this text in base64; None if there are none."""
    if len(text) > longest or not text.isascii():
        return None
    try:
        value = b64decode(text, validate=True)
    except ValueError:
        return None
    return value if b64encode(value) == text.encode() else None
