"""Stores what mails say: the body of one mail, or what all mails of one letter share."""

import json
from base64 import b64encode
from collections.abc import Mapping, Sequence
from typing import LiteralString

from postledger.deliveries.entries import Body
from postledger.deliveries.ledger import sql

SHARED = -1  # where the body lies that the lines of a stream's first letter share


def shared(letter: int) -> int:
    """Where the body of a stream's n-th letter lies: before all mails."""
    return SHARED - letter


def written(body: Body) -> str:
    return json.dumps(
        {
            "request_id": body.request_id,
            "subject": body.subject,
            "html": body.html,
            "text": body.text,
            "headers": dict(body.headers) if body.headers else None,
            "to_name": body.to_name,
            "reply_to": body.reply_to,
            "tags": list(body.tags) or None,
            "letter": body.letter,
            "list_key": body.list_key,
            "attachments": [
                {
                    "filename": attachment.filename,
                    "content_type": attachment.content_type,
                    "content": b64encode(attachment.content).decode(),
                }
                for attachment in body.attachments
            ]
            or None,
        }
    )


_STORE: LiteralString = """
INSERT INTO deliveries_body (
    stream_id, position, request_id, subject, html, text, headers, to_name, reply_to, tags,
    attachments, letter, list_key, size
)
SELECT %(stream)s, given.position, b.*, octet_length(given.body)
FROM unnest(%(positions)s::bigint[], %(bodies)s::text[]) AS given (position, body),
     jsonb_to_record(given.body::jsonb) AS b (
         request_id text, subject text, html text, text text, headers jsonb, to_name text,
         reply_to text, tags jsonb, attachments jsonb, letter text, list_key text
     )
ON CONFLICT (stream_id, position) DO NOTHING
"""


def add_letters(stream_id: int, bodies: Mapping[int, Body]) -> None:
    """Stores what the lines of some letters share, by their numbers; one that is there stays."""
    store(stream_id, [(shared(number), body) for number, body in bodies.items()])


def store(stream_id: int, bodies: Sequence[tuple[int, Body]]) -> None:
    if bodies:
        params = {
            "stream": stream_id,
            "positions": sql.Bigints(position for position, _ in bodies),
            "bodies": sql.Texts(written(body) for _, body in bodies),
        }
        sql.rows(_STORE, params)
