"""References: the signed name of one try, which travels with a mail and comes back in events.

Format: `<uuid of the try>_<epoch>_<mac>`. The MAC is the first 80 bits of HMAC-SHA256 over
"<uuid>_<epoch>", in lowercase base32. It proves that this installation wrote the reference. The
epoch tells events of tries made before a restore of the database from those made after it.
"""

import hmac
import re
from collections.abc import Sequence
from dataclasses import dataclass

from postledger.lib import secrets
from postledger.lib.ids import DeliveryId

_PURPOSE = "delivery references"
_MAC_BYTES = 10
_FORMAT = re.compile(r"(([0-9a-f-]{36})_(0|[1-9][0-9]{0,17}))_([a-z2-7]{16})", re.ASCII)
_BASE32 = "abcdefghijklmnopqrstuvwxyz234567"
# base64.b32encode takes longer than the HMAC itself; a pair of letters encodes ten bits at once.
_PAIRS = [first + second for first in _BASE32 for second in _BASE32]

type Key = hmac.HMAC


@dataclass(frozen=True, slots=True)
class Reference:
    """One try, and the epoch of the database at its hand-over."""

    delivery_id: DeliveryId
    epoch: int


def derive_keys(installation_secrets: Sequence[str]) -> list[Key]:
    """One key for each secret, in the same order: the first signs, all verify."""
    return [
        hmac.new(secrets.derive_key(secret, _PURPOSE), digestmod="sha256")
        for secret in installation_secrets
    ]


def write(delivery_id: str, epoch: int, key: Key) -> str:
    """The reference of one try, given its id as `DeliveryId.text` writes it."""
    signed = f"{delivery_id}_{epoch}"
    return f"{signed}_{_mac(signed, key)}"


def read(text: str, keys: Sequence[Key]) -> Reference | None:
    """The reference if one of the keys signed it; None for any other text."""
    match = _FORMAT.fullmatch(text)
    if match is None:
        return None
    signed, id_, epoch, mac = match.groups()
    for key in keys:
        if hmac.compare_digest(_mac(signed, key), mac):
            delivery_id = DeliveryId.read(id_)
            return Reference(delivery_id, int(epoch)) if delivery_id else None
    return None


def _mac(signed: str, key: Key) -> str:
    # Copying a prepared key takes half the time of hmac.digest.
    code = key.copy()
    code.update(signed.encode())
    bits = int.from_bytes(code.digest()[:_MAC_BYTES])
    return (
        f"{_PAIRS[bits >> 70]}{_PAIRS[bits >> 60 & 1023]}"
        f"{_PAIRS[bits >> 50 & 1023]}{_PAIRS[bits >> 40 & 1023]}"
        f"{_PAIRS[bits >> 30 & 1023]}{_PAIRS[bits >> 20 & 1023]}"
        f"{_PAIRS[bits >> 10 & 1023]}{_PAIRS[bits & 1023]}"
    )
