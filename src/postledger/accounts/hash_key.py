"""The installation's hash key: it keys the hashes by which addresses and callers' keys are known.

A random key that the database holds sealed under SECRET_KEY: a copy of the database tells nobody
who was erased, and another SECRET_KEY changes no hash. Migrating an empty database creates it.
"""

import hmac
from functools import cache
from os import urandom

from django.db import connection

from postledger.accounts import sealing
from postledger.lib import secrets
from postledger.lib.secrets import UnsealableError
from postledger.lib.sentences import say

_PURPOSE = "hash key"
_OWNER = "installation"
_KEY_BYTES = 32


def read() -> bytes:
    """The key; each process reads it once for each database and each set of secrets."""
    return _read(str(connection.settings_dict["NAME"]), tuple(sealing.installation_secrets()))


@cache
def _read(_database: str, installation_secrets: tuple[str, ...]) -> bytes:
    with connection.cursor() as cursor:
        cursor.execute("SELECT sealed FROM accounts_hashkey")
        [(sealed,)] = cursor.fetchall()
    try:
        return secrets.unseal(
            bytes(sealed), secrets=installation_secrets, purpose=_PURPOSE, bound_to=_OWNER
        )
    except UnsealableError:
        raise UnsealableError(
            say(
                "The key of hashed addresses cannot be unsealed: it was sealed under another"
                " SECRET_KEY. Add the old key to SECRET_KEY_PREVIOUS, then run postledger account"
                " reseal."
            )
        ) from None


def hash_text(text: str, *, purpose: str) -> bytes:
    """A keyed hash; the same text has another one for each purpose."""
    return hmac.digest(read(), f"{purpose}\0{text}".encode(), "sha256")


def create() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO accounts_hashkey (sealed) VALUES (%s)", [_seal(urandom(_KEY_BYTES))]
        )


def reseal() -> None:
    """Seals the key under the current secret. The key itself stays, and so does every hash."""
    with connection.cursor() as cursor:
        cursor.execute("UPDATE accounts_hashkey SET sealed = %s", [_seal(read())])


def _seal(key: bytes) -> bytes:
    return secrets.seal(
        key, secrets=sealing.installation_secrets(), purpose=_PURPOSE, bound_to=_OWNER
    )
