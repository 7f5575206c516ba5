"""Stores the receipt of a request under its key, so that a repeat changes nothing."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from hashlib import sha256

from django.db import connection

from postledger.lib.errors import ConflictError
from postledger.providers.base import Attachment
from postledger.transactional import models
from postledger.transactional.requests import (
    ContactReference,
    MailRequest,
    Receipt,
    TemplateReference,
)


class KeyReusedError(ConflictError):
    code = "idempotency_key_reused"


class KeyTakenError(Exception):
    """Another request has taken the key: roll back, and answer with its receipt."""


@dataclass(frozen=True, slots=True)
class Key:
    """A caller's name for one request, and the digest of that request."""

    text: str
    digest: bytes
    is_test: bool = False  # a test key's; no live request is refused for it


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
            return {field.name: getattr(value, field.name) for field in fields(value)}
        case _:
            raise TypeError(type(value))


_INSERT = """
INSERT INTO transactional_idempotencykey (workspace_id, is_test, key, digest, answer)
VALUES (%s, %s, %s, %s, jsonb_build_object('request_id', %s::text, 'ids', %s::text[]))
ON CONFLICT (workspace_id, is_test, key) DO NOTHING
"""


def store_receipt(workspace_id: int, *, key: Key, receipt: Receipt) -> None:
    """Takes the key in the caller's transaction; waits for a concurrent request under the key."""
    ids = list(receipt.ids)
    with connection.cursor() as cursor:
        cursor.execute(
            _INSERT,
            (workspace_id, key.is_test, key.text, key.digest, receipt.request_id, ids),
        )
        if cursor.rowcount != 1:
            raise KeyTakenError


def find_receipt(workspace_id: int, *, key: Key) -> Receipt | None:
    """The receipt under this key; refuses a key that another request has used."""
    row = models.IdempotencyKey.objects.filter(
        workspace_id=workspace_id, is_test=key.is_test, key=key.text
    ).first()
    if row is None:
        return None
    if bytes(row.digest) != key.digest:
        raise KeyReusedError(
            f"The idempotency key {key.text!r} was used before for another request."
            " Nothing was stored. Send the same body, or use a new key."
        )
    return Receipt(row.answer["request_id"], tuple(row.answer["ids"]))
