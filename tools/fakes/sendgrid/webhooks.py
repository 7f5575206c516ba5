"""The event webhooks of an account, as values that can be written to the journal."""

import uuid
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import cast

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)

# The settings that choose events, and the events; all others have the same name in both.
SETTINGS = frozenset(
    (
        "processed",
        "dropped",
        "deferred",
        "delivered",
        "bounce",
        "open",
        "click",
        "spam_report",
        "unsubscribe",
        "group_unsubscribe",
        "group_resubscribe",
    )
)
_OTHER_NAMES = {"spamreport": "spam_report"}


@dataclass(slots=True)
class Webhook:
    url: str
    created_date: str
    updated_date: str
    id: str = field(default_factory=lambda: str(uuid.uuid4()))
    enabled: bool = True
    friendly_name: str = ""
    settings: dict[str, bool] = field(default_factory=lambda: dict.fromkeys(SETTINGS, True))
    private_key: str = ""  # as PEM; empty: posts are not signed

    @property
    def public_key(self) -> str:
        """As SendGrid shows it; empty if posts are not signed."""
        if not self.private_key:
            return ""
        public_key = _load(self.private_key).public_key()
        return b64encode(
            public_key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        ).decode()

    def wants(self, event: str) -> bool:
        return self.enabled and self.settings.get(_OTHER_NAMES.get(event, event), False)

    def make_keys(self) -> None:
        """Begins to sign, with keys that were never used before."""
        key = ec.generate_private_key(ec.SECP256R1())
        pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        self.private_key = pem.decode()

    def sign(self, timestamp: str, body: bytes) -> str:
        key = _load(self.private_key)
        return b64encode(key.sign(timestamp.encode() + body, ec.ECDSA(SHA256()))).decode()

    def to_document(self) -> Mapping[str, object]:
        """As the API shows it."""
        names = ("enabled", "url", "friendly_name", "id", "created_date", "updated_date")
        key = {"public_key": self.public_key} if self.private_key else {}
        return {**{name: getattr(self, name) for name in names}, **self.settings, **key}


def make_webhook(url: str, now: datetime) -> Webhook:
    """One that gets all events, unsigned."""
    return Webhook(url, format_time(now), format_time(now))


def format_time(time: datetime) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")


def _load(pem: str) -> ec.EllipticCurvePrivateKey:
    return cast("ec.EllipticCurvePrivateKey", load_pem_private_key(pem.encode(), None))
