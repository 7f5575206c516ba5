"""API keys: their scopes and tokens, and how they are created, rotated and revoked."""

import hmac
import re
import secrets
import string
from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from hashlib import sha256

from django.db import connection, transaction
from django.db.models import Q

from postledger.accounts import constraints, trail
from postledger.accounts.models import ApiKey
from postledger.accounts.queries import MemberUnknownError
from postledger.lib.errors import NotFoundError, RefusedError
from postledger.lib.sentences import say

LONGEST_OVERLAP = timedelta(days=365)
# Without it, a key that is used every second would be written every second.
TOUCH_EVERY = timedelta(minutes=1)

_ALPHABET = string.ascii_lowercase + string.digits
_SECRET_BYTES = 32
# Other texts never reach the database.
_TOKEN = re.compile(r"(?P<prefix>pl_(?:live|test)_[a-z0-9]{8})\.(?P<secret>[A-Za-z0-9_-]{43})")
_NO_HASH = bytes(32)


class Scope(StrEnum):
    """A permission of a key, as its row stores it."""

    SEND = "mail:send"  # send mail
    READ = "mail:read"  # read the state of mail
    CONTENT_READ = "content:read"  # read templates and articles, and preview content
    CONTENT_WRITE = "content:write"  # create, change and delete them
    CONTACTS_READ = "contacts:read"  # read contacts, lists and imports, and evaluate filters
    CONTACTS_WRITE = "contacts:write"  # create, change, import and delete them
    CONTACTS_ERASE = "contacts:erase"  # erase people for good, also from sent mail
    CAMPAIGNS_READ = "campaigns:read"  # read campaigns, their progress and their reports
    CAMPAIGNS_WRITE = "campaigns:write"  # create, change, launch and control them
    NOTIFICATIONS_READ = "notifications:read"  # read topics, subscriptions, events and sources
    NOTIFICATIONS_WRITE = "notifications:write"  # create and change topics, and what they have
    EVENTS_PUBLISH = "events:publish"  # publish events, snapshots and mail jobs
    DECISIONS_READ = "decisions:read"  # read what needs a person: doubts, dead letters and holds
    DECISIONS_WRITE = "decisions:write"  # decide them
    SETUP_READ = "setup:read"  # read senders, accounts and keys
    SETUP_WRITE = "setup:write"  # create, change and archive them
    MEMBERS_READ = "members:read"  # read who the members are
    MEMBERS_WRITE = "members:write"  # add, change and remove them


# What a program that sends mail needs; a key that may do more is asked for by name.
USUAL_SCOPES = frozenset(
    scope
    for scope in Scope
    if not scope.value.startswith(("contacts:erase", "decisions:", "setup:", "members:"))
)


@dataclass(frozen=True, slots=True)
class Caller:
    """The program that sent a request, identified by its key."""

    workspace_id: int
    key_id: int
    prefix: str
    scopes: frozenset[str]
    is_test: bool
    member_id: int | None = None  # whose runs it launches

    @property
    def actor(self) -> str:
        """The name of the program in the audit trail."""
        return f"key {self.prefix}"


# In SQL: every request passes here, and the ORM was measured to take five times as long.
_FIND = """
SELECT secret_hash, last_used_at, expires_at, revoked_at,
       workspace_id, id, prefix, scopes, is_test, member_id
FROM accounts_apikey WHERE prefix = %s
"""


def recognise(token: str, *, now: datetime) -> Caller | None:
    """The caller of a token; None if the token is unknown, wrong, revoked or expired.

    One statement, and once a minute a second one that records the use.
    """
    match = _TOKEN.fullmatch(token)
    if match is None:
        return None
    with connection.cursor() as cursor:
        cursor.execute(_FIND, [match["prefix"]])
        row = cursor.fetchone()
    # An unknown prefix is compared too: the response time reveals nothing about prefixes.
    is_right = hmac.compare_digest(_hash(match["secret"]), bytes(row[0]) if row else _NO_HASH)
    if row is None or not is_right:
        return None
    _, last_used_at, expires_at, revoked_at, workspace_id, key_id, prefix, scopes, *others = row
    if revoked_at is not None or (expires_at is not None and now >= expires_at):
        return None
    _touch(key_id, last_used_at, now)
    is_test, member_id = others
    return Caller(workspace_id, key_id, prefix, frozenset(scopes), is_test, member_id)


def _hash(secret: str) -> bytes:
    """Hashes the text, not the bytes it encodes: two texts can encode the same bytes.

    A fast hash is enough: 256 random bits cannot be guessed.
    """
    return sha256(secret.encode()).digest()


def _touch(key_id: int, last_used_at: datetime | None, now: datetime) -> None:
    stale = now - TOUCH_EVERY
    if last_used_at is None or last_used_at <= stale:
        # Of many concurrent requests one writes.
        is_stale = Q(last_used_at=None) | Q(last_used_at__lte=stale)
        ApiKey.objects.filter(is_stale, pk=key_id).update(last_used_at=now)


class KeyUnknownError(NotFoundError):
    code = "key_unknown"


class KeyEndedError(RefusedError):
    code = "key_ended"


class InvalidKeyError(RefusedError):
    code = "invalid_key"


@dataclass(frozen=True, slots=True)
class NewKey:
    """A key with its token, which is shown once and not stored."""

    key_id: int
    prefix: str
    token: str = field(repr=False)


def get_key(workspace_id: int, prefix: str) -> ApiKey:
    """A key by the part of its token before the dot, with its member."""
    own = ApiKey.objects.select_related("member").filter(workspace_id=workspace_id)
    key = own.filter(prefix=prefix).first()
    if key is None:
        raise KeyUnknownError(
            say(
                "This workspace has no key '%(prefix)s': use the part of the token before the dot.",
                prefix=prefix[:40],
            )
        )
    return key


def create_key(  # noqa: PLR0913  what a key is, each by its name
    workspace_id: int,
    *,
    name: str,
    scopes: Collection[Scope],
    is_test: bool = False,
    member_id: int | None = None,
    actor: str,
) -> NewKey:
    """Creates a key; the runs that it launches count for the daily limit of the member."""
    constraints.check_name("a key", name)
    if not scopes:
        raise InvalidKeyError(
            say("A key needs at least one scope: %(scopes)s.", scopes=", ".join(Scope))
        )
    not_its_member = MemberUnknownError(say("This workspace has no such member: add it first."))
    with constraints.refusing(accounts_apikey_own_member=not_its_member):
        key = _insert(
            workspace_id,
            name=name,
            scopes=sorted(set(scopes)),
            is_test=is_test,
            member_id=member_id,
        )
        trail.note(
            workspace_id,
            actor=actor,
            action="key.created",
            subject=f"key {key.prefix}",
            data={
                "name": name,
                "scopes": sorted(set(scopes)),
                "is_test": is_test,
                "member": member_id,
            },
        )
    return key


def rotate_key(
    workspace_id: int, *, prefix: str, overlap: timedelta, actor: str, now: datetime
) -> NewKey:
    """Creates a key with the same scopes and member; the old one ends with the overlap."""
    if not timedelta(0) <= overlap <= LONGEST_OVERLAP:
        raise InvalidKeyError(
            say(
                "The overlap must be between 0 and %(longest)s days.",
                longest=LONGEST_OVERLAP.days,
            )
        )
    old = get_key(workspace_id, prefix)
    ends_at = now + overlap
    working = ApiKey.objects.filter(pk=old.pk, revoked_at=None, expires_at=None)
    with transaction.atomic():
        if not working.update(expires_at=ends_at):
            raise KeyEndedError(
                say(
                    "%(prefix)s was already rotated or revoked: rotate its successor, or create a"
                    " new key.",
                    prefix=prefix,
                )
            )
        new = _insert(
            workspace_id,
            name=old.name,
            scopes=old.scopes,
            is_test=old.is_test,
            member_id=old.member_id,
        )
        trail.note(
            workspace_id,
            actor=actor,
            action="key.rotated",
            subject=f"key {prefix}",
            data={"successor": new.prefix, "works_until": ends_at.isoformat()},
        )
    return new


def revoke_key(workspace_id: int, *, prefix: str, actor: str, now: datetime) -> bool:
    """Ends a key at once; False if it was already revoked."""
    key = get_key(workspace_id, prefix)
    with transaction.atomic():
        if not ApiKey.objects.filter(pk=key.pk, revoked_at=None).update(revoked_at=now):
            return False
        trail.note(workspace_id, actor=actor, action="key.revoked", subject=f"key {prefix}")
    return True


def _insert(
    workspace_id: int,
    *,
    name: str,
    scopes: Collection[str],
    is_test: bool,
    member_id: int | None,
) -> NewKey:
    """The prefix and the hash are stored; the token exists nowhere else."""
    kind = "test" if is_test else "live"
    prefix = f"pl_{kind}_{''.join(secrets.choice(_ALPHABET) for _ in range(8))}"
    secret = secrets.token_urlsafe(_SECRET_BYTES)
    key = ApiKey.objects.create(
        workspace_id=workspace_id,
        name=name,
        prefix=prefix,
        secret_hash=_hash(secret),
        scopes=list(scopes),
        is_test=is_test,
        member_id=member_id,
    )
    return NewKey(key.pk, prefix, token=f"{prefix}.{secret}")
