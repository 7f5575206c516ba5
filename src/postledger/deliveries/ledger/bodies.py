"""Stores the content of mails: the body of one mail, or what all mails of one letter share."""

import json
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import fields
from hashlib import sha256
from typing import LiteralString

from postledger.deliveries.entries import Body
from postledger.deliveries.ledger import sql


def shared_position(letter: int) -> int:
    """The position of the body that all mails of a stream's n-th letter share: below all mails."""
    return -1 - letter


def digest_body(body: Body) -> bytes:
    """The digest that is stored beside a body: a body that was changed since has another one."""
    return sha256(body_json(body).encode()).digest()


def body_json(body: Body) -> str:
    """The same text for the same body, whatever the order of its headers."""
    values = {field.name: getattr(body, field.name) for field in fields(body)}
    attachments = [
        {
            "filename": attachment.filename,
            "content_type": attachment.content_type,
            "content": b64encode(attachment.content).decode(),
        }
        for attachment in body.attachments
    ]
    values["headers"] = dict(body.headers) if body.headers else None
    values["tags"] = list(body.tags) or None
    values["attachments"] = attachments or None
    values["secret_until"] = body.secret_until and body.secret_until.isoformat()
    return json.dumps(values, sort_keys=True)


def insert(given: LiteralString) -> LiteralString:
    """The statement that stores what `body_json` wrote; `given` is a table (position, body)."""
    return f"""
INSERT INTO deliveries_body (
    stream_id, position, request_id, subject, html, text, headers, to_name, reply_to, tags,
    attachments, letter, list_key, secret_until, size, digest
)
SELECT %(stream)s, given.position, b.*, octet_length(given.body),
       sha256(convert_to(given.body, 'UTF8'))
FROM {given},
     jsonb_to_record(given.body::jsonb) AS b (
         request_id text, subject text, html text, text text, headers jsonb, to_name text,
         reply_to text, tags jsonb, attachments jsonb, letter text, list_key text,
         secret_until timestamptz
     )
WHERE given.body IS NOT NULL
"""


_GIVEN: LiteralString = (
    "unnest(%(positions)s::bigint[], %(bodies)s::text[]) AS given (position, body)"
)
_STORE: LiteralString = f"{insert(_GIVEN)} ON CONFLICT (stream_id, position) DO NOTHING"


def add_letters(stream_id: int, bodies: Mapping[int, Body]) -> None:
    """Stores the shared bodies of some letters, by their numbers; an existing one stays."""
    store(stream_id, [(shared_position(number), body) for number, body in bodies.items()])


def store(stream_id: int, bodies: Sequence[tuple[int, Body]]) -> None:
    if bodies:
        params = {
            "stream": stream_id,
            "positions": sql.Bigints(position for position, _ in bodies),
            "bodies": sql.Texts(body_json(body) for _, body in bodies),
        }
        sql.rows(_STORE, params)
