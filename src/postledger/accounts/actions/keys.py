"""Makes, rotates and revokes API keys."""

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.db import transaction

from postledger.accounts import keys, names, trail
from postledger.accounts.keys import Scope
from postledger.accounts.models import ApiKey
from postledger.lib.errors import RefusedError

LONGEST_OVERLAP = timedelta(days=365)


class KeyUnknownError(RefusedError):
    code = "key_unknown"


class KeyEndedError(RefusedError):
    code = "key_ended"


class InvalidKeyError(RefusedError):
    code = "invalid_key"


@dataclass(frozen=True, slots=True)
class NewKey:
    """A key with its token, which is shown to a person once and kept by nobody here."""

    key_id: int
    prefix: str
    token: str = field(repr=False)


def create_key(
    workspace_id: int,
    *,
    name: str,
    scopes: Collection[Scope],
    is_test: bool = False,
    actor: str,
) -> NewKey:
    names.check("a key", name)
    if not scopes:
        raise InvalidKeyError(
            f"A key without a scope could do nothing: give it one of {', '.join(Scope)}."
        )
    with transaction.atomic():
        key = _insert(workspace_id, name=name, scopes=sorted(set(scopes)), is_test=is_test)
        trail.note(
            workspace_id,
            actor=actor,
            action="key.created",
            subject=f"key {key.prefix}",
            data={"name": name, "scopes": sorted(set(scopes)), "is_test": is_test},
        )
    return key


def rotate_key(
    workspace_id: int, *, prefix: str, overlap: timedelta, actor: str, now: datetime
) -> NewKey:
    """Makes a key that may do the same; the old one works on until the overlap is over."""
    if not timedelta(0) <= overlap <= LONGEST_OVERLAP:
        raise InvalidKeyError(
            f"Two keys overlap between 0 and {LONGEST_OVERLAP.days} days: give a time in between."
        )
    old = _own(workspace_id, prefix)
    ends_at = now + overlap
    working = ApiKey.objects.filter(pk=old.pk, revoked_at=None, expires_at=None)
    with transaction.atomic():
        if not working.update(expires_at=ends_at):
            raise KeyEndedError(
                f"{prefix} was rotated or revoked already: rotate its successor,"
                " or create a new key."
            )
        new = _insert(workspace_id, name=old.name, scopes=old.scopes, is_test=old.is_test)
        trail.note(
            workspace_id,
            actor=actor,
            action="key.rotated",
            subject=f"key {prefix}",
            data={"successor": new.prefix, "works_until": ends_at.isoformat()},
        )
    return new


def revoke_key(workspace_id: int, *, prefix: str, actor: str, now: datetime) -> bool:
    """Ends a key at once; False when it was revoked before."""
    key = _own(workspace_id, prefix)
    with transaction.atomic():
        if not ApiKey.objects.filter(pk=key.pk, revoked_at=None).update(revoked_at=now):
            return False
        trail.note(workspace_id, actor=actor, action="key.revoked", subject=f"key {prefix}")
    return True


def _own(workspace_id: int, prefix: str) -> ApiKey:
    key = ApiKey.objects.filter(workspace_id=workspace_id, prefix=prefix).first()
    if key is None:
        raise KeyUnknownError(
            f"This workspace has no key {prefix[:40]!r}: give the part of a token before its dot."
        )
    return key


def _insert(workspace_id: int, *, name: str, scopes: Collection[str], is_test: bool) -> NewKey:
    minted = keys.mint(is_test=is_test)
    key = ApiKey.objects.create(
        workspace_id=workspace_id,
        name=name,
        prefix=minted.prefix,
        secret_hash=minted.secret_hash,
        scopes=list(scopes),
        is_test=is_test,
    )
    return NewKey(key.pk, minted.prefix, token=minted.token)
