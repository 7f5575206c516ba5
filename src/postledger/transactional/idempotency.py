"""Remembers under its key what a request was answered, so that a repeat changes nothing."""

from dataclasses import dataclass
from typing import ClassVar

from django.db import connection

from postledger.lib.errors import RefusedError
from postledger.transactional import models
from postledger.transactional.values import Answer


class KeyReusedError(RefusedError):
    code: ClassVar[str] = "idempotency_key_reused"


class KeyTakenError(Exception):
    """Another request has taken the key: undo what was written, and give its answer."""


@dataclass(frozen=True, slots=True)
class Key:
    """A caller's name for one request, and the digest of what that request asks for."""

    text: str
    digest: bytes


_REMEMBER = """
INSERT INTO transactional_idempotencykey (workspace_id, key, digest, answer)
VALUES (%s, %s, %s, jsonb_build_object('request_id', %s::text, 'ids', %s::text[]))
ON CONFLICT (workspace_id, key) DO NOTHING
"""


def remember(workspace_id: int, *, key: Key, answer: Answer) -> None:
    """Takes the key in the caller's transaction; waits for a twin that is about to take it."""
    params: list[int | str | bytes | list[str]] = [
        *(workspace_id, key.text, key.digest, answer.request_id),
        list(answer.ids),
    ]
    with connection.cursor() as cursor:
        cursor.execute(_REMEMBER, params)
        if cursor.rowcount != 1:
            raise KeyTakenError


def answered(workspace_id: int, *, key: Key) -> Answer | None:
    """What the request under this key was answered; refused if that was another request."""
    row = (
        models.IdempotencyKey.objects.filter(workspace_id=workspace_id, key=key.text)
        .values_list("digest", "answer")
        .first()
    )
    if row is None:
        return None
    digest, answer = row
    if bytes(digest) != key.digest:
        raise KeyReusedError(
            f"The idempotency key {key.text!r} was used before for another request."
            " Nothing was stored. Send the same body, or use a new key."
        )
    return Answer(answer["request_id"], tuple(answer["ids"]))
