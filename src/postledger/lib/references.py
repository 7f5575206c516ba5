"""References: the signed name of one try, which travels with a mail and comes back in events.

Format: `<uuid of the try>_<epoch>_<mac>`. The MAC is the first 80 bits of HMAC-SHA256 over
"<uuid>_<epoch>", in lowercase base32. It proves that this installation wrote the reference; the
epoch tells in which life of the database it was written: after a restore ids come again.
"""

import hmac
import re
from collections.abc import Sequence
from dataclasses import dataclass

from postledger.lib import secrets
from postledger.lib.ids import DeliveryId

_PURPOSE = "delivery references"
_MAC_BYTES = 10
_FORM = re.compile(r"(([0-9a-f-]{36})_(0|[1-9][0-9]{0,17}))_([a-z2-7]{16})", re.ASCII)
_BASE32 = "abcdefghijklmnopqrstuvwxyz234567"
# base64.b32encode takes longer than the HMAC itself; with pairs of letters, ten bits are one step.
_PAIRS = [first + second for first in _BASE32 for second in _BASE32]

type Key = hmac.HMAC


@dataclass(frozen=True, slots=True)
class Reference:
    """Names one try, and the epoch of the database in which it was handed over."""

    delivery_id: DeliveryId
    epoch: int


def derive_keys(installation_secrets: Sequence[str]) -> list[Key]:
    """Makes one key of each secret, in their order: the first one signs, every one verifies."""
    return [
        hmac.new(secrets.derive_key(secret, _PURPOSE), digestmod="sha256")
        for secret in installation_secrets
    ]


def write(delivery_id: str, epoch: int, key: Key) -> str:
    """The reference of one try, given its id as `DeliveryId.text` writes it."""
    signed = f"{delivery_id}_{epoch}"
    return f"{signed}_{_mac(signed, key)}"


def read(text: str, keys: Sequence[Key]) -> Reference | None:
    """The reference that one of the keys signed; None for any other text: strangers send them."""
    form = _FORM.fullmatch(text)
    if form is None or not _is_signed(form[1], form[4], keys):
        return None
    delivery_id = DeliveryId.parse(form[2])
    return None if delivery_id is None else Reference(delivery_id, int(form[3]))


def _is_signed(signed: str, mac: str, keys: Sequence[Key]) -> bool:
    return any(hmac.compare_digest(_mac(signed, key), mac) for key in keys)


def _mac(signed: str, key: Key) -> str:
    # A copy of a prepared key: hmac.digest prepares it anew each time, which takes twice as long.
    code = key.copy()
    code.update(signed.encode())
    bits = int.from_bytes(code.digest()[:_MAC_BYTES])
    return (
        f"{_PAIRS[bits >> 70]}{_PAIRS[bits >> 60 & 1023]}"
        f"{_PAIRS[bits >> 50 & 1023]}{_PAIRS[bits >> 40 & 1023]}"
        f"{_PAIRS[bits >> 30 & 1023]}{_PAIRS[bits >> 20 & 1023]}"
        f"{_PAIRS[bits >> 10 & 1023]}{_PAIRS[bits & 1023]}"
    )
