"""Encrypts values that a copy of the database must not reveal, with keys derived from a secret."""

from collections.abc import Sequence
from os import urandom

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from postledger.lib.errors import RefusedError
from postledger.lib.sentences import say

# The first byte of every sealed value, so that another cipher can follow this one.
_VERSION = b"\x01"
_NONCE_BYTES = 12
_KEY_BYTES = 32


class UnsealableError(RefusedError):
    code = "unsealable"


def seal(data: bytes, *, secrets: Sequence[str], purpose: str, bound_to: str) -> bytes:
    """Encrypts under the first secret: version, nonce, AES-256-GCM ciphertext with its tag.

    Each purpose has a key of its own. `bound_to` is authenticated, not hidden: a value that is
    copied to another owner cannot be unsealed there.
    """
    nonce = urandom(_NONCE_BYTES)
    sealed = AESGCM(derive_key(secrets[0], purpose)).encrypt(
        nonce, data, _VERSION + bound_to.encode()
    )
    return _VERSION + nonce + sealed


def unseal(sealed: bytes, *, secrets: Sequence[str], purpose: str, bound_to: str) -> bytes:
    """Decrypts a value of `seal` with the first secret that fits."""
    version, nonce = sealed[:1], sealed[1 : 1 + _NONCE_BYTES]
    if version != _VERSION or len(nonce) < _NONCE_BYTES:
        raise _unsealable(purpose)
    for secret in secrets:
        try:
            key = AESGCM(derive_key(secret, purpose))
            return key.decrypt(nonce, sealed[1 + _NONCE_BYTES :], _VERSION + bound_to.encode())
        except InvalidTag:
            continue
    raise _unsealable(purpose)


def derive_key(secret: str, purpose: str) -> bytes:
    """The key of one purpose; a leaked key reveals nothing about the others."""
    if not secret:
        raise ValueError("the secret is empty")
    derived = HKDF(algorithm=SHA256(), length=_KEY_BYTES, salt=None, info=purpose.encode())
    return derived.derive(secret.encode())


def _unsealable(purpose: str) -> UnsealableError:
    return UnsealableError(
        say(
            "The %(purpose)s cannot be unsealed: they were sealed under another SECRET_KEY, or for"
            " another owner. Add the old key to SECRET_KEY_PREVIOUS, or enter them again.",
            purpose=purpose,
        )
    )
