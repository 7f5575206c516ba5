"""What a worker reads of its claim: the mails that wait, and their contents."""

from base64 import b64decode
from collections.abc import Sequence
from datetime import timedelta
from typing import LiteralString

from postledger.deliveries.entries import Batch, Body, Claim, Recipient, Window
from postledger.deliveries.ledger import sql
from postledger.providers.base import Attachment

_WAITING: LiteralString = """
SELECT d.position, d.address, d.contact_id, d.variables, d.attempts, d.letter
FROM unnest(%(los)s::bigint[], %(tos)s::bigint[]) AS w (lo, upto)
CROSS JOIN LATERAL (
    SELECT position, address, contact_id, variables, attempts, letter FROM deliveries_delivery
    WHERE stream_id = %(stream)s AND position >= w.lo AND position < w.upto AND state = 'waiting'
    ORDER BY position
    LIMIT 1000
) AS d
"""


def waiting(windows: Sequence[Window]) -> list[Recipient]:
    """The mails in windows of one stream that still wait: only those are composed and sent."""
    if not windows:
        return []
    params = {
        "stream": windows[0].batch.stream_id,
        "los": sql.Bigints(window.batch.lo for window in windows),
        "tos": sql.Bigints(window.to for window in windows),
    }
    return [Recipient(*row) for row in sql.rows(_WAITING, params)]


_BODIES: LiteralString = """
SELECT position, request_id, subject, html, text, headers, to_name, reply_to, letter, list_key,
       tags, attachments
FROM deliveries_body WHERE stream_id = %(stream)s AND position = ANY(%(positions)s::bigint[])
"""


def bodies(stream_id: int, positions: Sequence[int]) -> dict[int, Body]:
    """The contents of some mails of a stream; what many share is where `ledger.shared` says."""
    params = {"stream": stream_id, "positions": sql.Bigints(positions)}
    return {row[0]: _body(row) for row in sql.rows(_BODIES, params)}


def _body(row: sql.Row) -> Body:
    _, request_id, subject, html, text, headers, to_name, reply_to, letter, list_key, *rest = row
    tags, attachments = rest
    return Body(
        request_id=request_id,
        subject=subject,
        html=html,
        text=text,
        headers=headers,
        to_name=to_name,
        reply_to=reply_to,
        letter=letter,
        list_key=list_key,
        tags=tuple(tags or ()),
        attachments=tuple(
            Attachment(found["filename"], found["content_type"], b64decode(found["content"]))
            for found in attachments or ()
        ),
    )


_HAS_TIME: LiteralString = """
SELECT count(*) = cardinality(%(ids)s::bigint[]) FROM deliveries_batch
WHERE id = ANY(%(ids)s::bigint[]) AND lease = %(lease)s
  AND lease_until - clock_timestamp() > %(needed)s
"""


def has_time(claim: Claim, windows: Sequence[Window], needed: timedelta) -> bool:
    """Whether the leases of armed windows still have so much time, by the database's clock."""
    ids = sql.Bigints(window.batch.id for window in windows)
    [(found,)] = sql.rows(_HAS_TIME, {"ids": ids, "lease": claim.lease, "needed": needed})
    return bool(found)


_LEASED: LiteralString = """
SELECT id, stream_id, lo, hi, try_number, version FROM deliveries_batch
WHERE id = ANY(%(ids)s::bigint[]) AND lease = %(lease)s AND armed_to IS NULL
ORDER BY stream_id, lo
"""


def leased(claim: Claim) -> list[Batch]:
    """What is left of a claim, with the versions to compose against.

    Read it before the windows: a version that is read after them proves nothing.
    """
    ids = sql.Bigints(batch.id for batch in claim.batches)
    return [Batch(*row) for row in sql.rows(_LEASED, {"ids": ids, "lease": claim.lease})]
