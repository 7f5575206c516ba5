"""What an API key looks like, what it may do, and whether a token that comes in is one."""

import hmac
import re
import secrets
import string
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from hashlib import sha256

from django.db import connection
from django.db.models import Q

from postledger.accounts.models import ApiKey

# A key in use every second would else be written every second.
TOUCH_EVERY = timedelta(minutes=1)

_ALPHABET = string.ascii_lowercase + string.digits
_SECRET_BYTES = 32
# What does not look like a token is no reason to ask the database, nor safe to hand to it.
_TOKEN = re.compile(r"(?P<prefix>pl_(?:live|test)_[a-z0-9]{8})\.(?P<secret>[A-Za-z0-9_-]{43})")
_NOBODY = bytes(32)


class Scope(StrEnum):
    """What a key may do; it stands in the key's row."""

    SEND = "mail:send"  # ask for mail to be sent, and cancel it
    READ = "mail:read"  # see what became of mail
    CONTENT_READ = "content:read"  # see templates and articles, and try content out
    CONTENT_WRITE = "content:write"  # make, change and delete them
    CONTACTS_READ = "contacts:read"  # see contacts, lists, imports, and whom a filter means
    CONTACTS_WRITE = "contacts:write"  # make, change, import and delete them
    CAMPAIGNS_READ = "campaigns:read"  # see campaigns, their progress and their reports
    CAMPAIGNS_WRITE = "campaigns:write"  # make, change, launch and steer them


@dataclass(frozen=True, slots=True)
class Caller:
    """The program behind a request, as its key says."""

    workspace_id: int
    key_id: int
    prefix: str
    scopes: frozenset[str]
    is_test: bool

    @property
    def actor(self) -> str:
        """Who did something, as the trail names programs."""
        return f"key {self.prefix}"


@dataclass(frozen=True, slots=True)
class Minted:
    """A key that is just being made; the token is nowhere else and cannot be had again."""

    prefix: str
    token: str = field(repr=False)
    secret_hash: bytes = field(repr=False)


def mint(*, is_test: bool) -> Minted:
    kind = "test" if is_test else "live"
    prefix = f"pl_{kind}_{''.join(secrets.choice(_ALPHABET) for _ in range(8))}"
    secret = secrets.token_urlsafe(_SECRET_BYTES)
    return Minted(prefix, token=f"{prefix}.{secret}", secret_hash=_hash(secret))


def recognise(token: str, *, now: datetime) -> Caller | None:
    """Who a token belongs to; None for one that is unknown, wrong, revoked or expired.

    One statement, and once a minute a second one that notes the use.
    """
    looked_at = _TOKEN.fullmatch(token)
    if looked_at is None:
        return None
    key = _find(looked_at["prefix"])
    # An unknown prefix is compared too: the time an answer takes tells nothing about prefixes.
    fits = hmac.compare_digest(_hash(looked_at["secret"]), key.secret_hash if key else _NOBODY)
    if key is None or not fits or not _works(key, now):
        return None
    _touch(key, now)
    return key.caller


@dataclass(frozen=True, slots=True)
class _Key:
    caller: Caller
    secret_hash: bytes
    last_used_at: datetime | None
    expires_at: datetime | None
    revoked_at: datetime | None


# In SQL, because every request passes here and the ORM was measured to cost five times as much.
_FIND = """
SELECT workspace_id, id, prefix, scopes, is_test,
       secret_hash, last_used_at, expires_at, revoked_at
FROM accounts_apikey WHERE prefix = %s
"""


def _find(prefix: str) -> _Key | None:
    with connection.cursor() as cursor:
        cursor.execute(_FIND, [prefix])
        row = cursor.fetchone()
    if row is None:
        return None
    workspace_id, key_id, found, scopes, is_test, secret_hash, *times = row
    caller = Caller(workspace_id, key_id, found, frozenset(scopes), is_test)
    return _Key(caller, bytes(secret_hash), *times)


def _hash(secret: str) -> bytes:
    """Of the text, not of the bytes it encodes: two texts can encode the same bytes.

    A fast hash is enough, because 256 random bits cannot be guessed.
    """
    return sha256(secret.encode()).digest()


def _works(key: _Key, now: datetime) -> bool:
    return key.revoked_at is None and (key.expires_at is None or now < key.expires_at)


def _touch(key: _Key, now: datetime) -> None:
    stale = now - TOUCH_EVERY
    if key.last_used_at is not None and key.last_used_at > stale:
        return
    # Of many requests at once one writes; that the others change no row is as it should be.
    unnoted = Q(last_used_at=None) | Q(last_used_at__lte=stale)
    ApiKey.objects.filter(unnoted, pk=key.caller.key_id).update(last_used_at=now)
