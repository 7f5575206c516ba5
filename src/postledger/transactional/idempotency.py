"""Stores the receipt of a request under its key, so that a repeat changes nothing."""

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime, timedelta
from hashlib import sha256

from django.db import connection

from postledger.accounts import hash_key
from postledger.deliveries import queries
from postledger.lib.errors import ConflictError
from postledger.lib.ids import DeliveryId
from postledger.providers.base import Attachment
from postledger.transactional import models
from postledger.transactional.requests import (
    ContactReference,
    MailRequest,
    Receipt,
    TemplateReference,
)

# After the last of its mails got its result: a caller who repeats a request by then is done.
KEPT = timedelta(days=30)
_LOOK_AGAIN = timedelta(days=1)
_LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)
_AT_ONCE = 1_000
_MAX_SECONDS = 60.0


class KeyReusedError(ConflictError):
    code = "idempotency_key_reused"


class KeyTakenError(Exception):
    """Another request has taken the key: roll back, and answer with its receipt."""


@dataclass(frozen=True, slots=True)
class Key:
    """A caller's name for one request, and that request; stored are keyed hashes of both."""

    text: str = field(repr=False)
    hash: bytes
    digest: bytes
    is_test: bool = False  # a test key's; no live request is refused for it


def make_key(text: str, mails: Sequence[MailRequest], *, is_test: bool = False) -> Key:
    digest = hash_key.hash_text(digest_request(mails).hex(), purpose="idempotent request")
    return Key(text, hash_key.hash_text(text, purpose="idempotency key"), digest, is_test)


def digest_request(mails: Sequence[MailRequest]) -> bytes:
    """Equal for requests with equal content, however their JSON was written."""
    digest = sha256()
    for mail in mails:
        digest.update(json.dumps(mail, default=_encode, sort_keys=True).encode())
    return digest.digest()


def _encode(value: object) -> object:
    match value:
        case bytes():
            return sha256(value).hexdigest()
        case datetime():
            return value.timestamp()
        case Mapping():
            return dict(value)
        case MailRequest() | TemplateReference() | ContactReference() | Attachment():
            return {part.name: getattr(value, part.name) for part in fields(value)}
        case _:
            raise TypeError(type(value))


_INSERT = """
INSERT INTO transactional_idempotencykey (
    workspace_id, is_test, key_hash, digest, mail_ids, look_at
)
VALUES (%s, %s, %s, %s, %s, statement_timestamp() + make_interval(days => %s))
ON CONFLICT (workspace_id, is_test, key_hash) DO NOTHING
"""


def store_receipt(workspace_id: int, *, key: Key, receipt: Receipt) -> None:
    """Takes the key in the caller's transaction; waits for a concurrent request under the key."""
    row = (workspace_id, key.is_test, key.hash, key.digest, list(receipt.ids), KEPT.days)
    with connection.cursor() as cursor:
        cursor.execute(_INSERT, row)
        if cursor.rowcount != 1:
            raise KeyTakenError


def find_receipt(workspace_id: int, *, key: Key) -> Receipt | None:
    """The receipt under this key; refuses a key that another request has used."""
    row = models.IdempotencyKey.objects.filter(
        workspace_id=workspace_id, is_test=key.is_test, key_hash=key.hash
    ).first()
    if row is None:
        return None
    if bytes(row.digest) != key.digest:
        raise KeyReusedError(
            f"The idempotency key {key.text!r} was used before for another request."
            " Nothing was stored. Send the same body, or use a new key."
        )
    request_id = _find_request_id(row.mail_ids[0])
    return Receipt(request_id, tuple(row.mail_ids), is_repeat=True)


def _find_request_id(mail_id: str) -> str:
    """Empty after the recipient was erased or the month was dropped."""
    delivery = DeliveryId.parse(mail_id)
    bodies = queries.read_bodies(delivery.stream_id, [delivery.position]) if delivery else {}
    return next((body.request_id for body in bodies.values()), "")


def delete_expired(now: datetime) -> int:
    """Deletes the keys whose mails all got their results 30 days ago; returns how many."""
    count = 0
    end = time.monotonic() + _MAX_SECONDS
    while time.monotonic() < end:
        due = models.IdempotencyKey.objects.filter(look_at__lte=now).order_by("look_at")
        rows = list(due[:_AT_ONCE])
        count += _delete_or_postpone(rows, now)
        if len(rows) < _AT_ONCE:
            break
    return count


_DELETE = """
DELETE FROM transactional_idempotencykey AS key
USING unnest(%s::bigint[], %s::boolean[], %s::bytea[]) AS given (workspace_id, is_test, key_hash)
WHERE key.workspace_id = given.workspace_id AND key.is_test = given.is_test
  AND key.key_hash = given.key_hash
"""


def _delete_or_postpone(rows: Sequence[models.IdempotencyKey], now: datetime) -> int:
    """Returns how many were deleted."""
    settled = _find_settled(rows)
    expired = []
    for row in rows:
        look_at = next_look([settled[text] for text in row.mail_ids], now=now)
        if look_at is None:
            expired.append((row.workspace_id, row.is_test, bytes(row.key_hash)))
        else:
            models.IdempotencyKey.objects.filter(pk=row.pk).update(look_at=look_at)
    if not expired:
        return 0
    with connection.cursor() as cursor:
        cursor.execute(_DELETE, [list(column) for column in zip(*expired, strict=True)])
        return int(cursor.rowcount)


def _find_settled(rows: Sequence[models.IdempotencyKey]) -> dict[str, datetime | None]:
    """When each mail got its result; those of dropped months got it long ago."""
    ids = {text: DeliveryId.parse(text) for row in rows for text in row.mail_ids}
    settled = queries.find_settled([delivery for delivery in ids.values() if delivery])
    return {
        text: settled.get(delivery, _LONG_AGO) if delivery else _LONG_AGO
        for text, delivery in ids.items()
    }


def next_look(settled: Sequence[datetime | None], *, now: datetime) -> datetime | None:
    """When a key is to be looked at again; None if it has expired.

    `settled` has a moment for each mail, and None for a mail without a result.
    """
    moments = [moment for moment in settled if moment is not None]
    if len(moments) < len(settled):
        return now + _LOOK_AGAIN
    expires_at = max(moments, default=_LONG_AGO) + KEPT
    return expires_at if expires_at > now else None
