"""The reads of a worker: the waiting mails of its claim, and their contents."""

from base64 import b64decode
from collections.abc import Sequence
from datetime import timedelta
from typing import LiteralString

from postledger.deliveries.entries import Batch, Body, Claim, Recipient, Window
from postledger.deliveries.ledger import sql
from postledger.providers.base import Attachment

_WAITING: LiteralString = """
SELECT d.position, d.address, d.contact_id, d.variables, d.attempts, d.letter, d.dedupe_key
FROM unnest(%(los)s::bigint[], %(tos)s::bigint[]) AS w (lo, upto)
CROSS JOIN LATERAL (
    SELECT position, address, contact_id, variables, attempts, letter, dedupe_key
    FROM deliveries_delivery
    WHERE stream_id = %(stream)s AND position >= w.lo AND position < w.upto AND state = 'waiting'
    ORDER BY position
    LIMIT 1000
) AS d
"""


def read_waiting(windows: Sequence[Window]) -> list[Recipient]:
    """The mails in windows of one stream that still wait: only those are composed and sent."""
    if not windows:
        return []
    params = {
        "stream": windows[0].batch.stream_id,
        "los": sql.Bigints(window.batch.lo for window in windows),
        "tos": sql.Bigints(window.to for window in windows),
    }
    return [Recipient(*row) for row in sql.rows(_WAITING, params)]


# In the order of the fields of Body.
_BODIES: LiteralString = """
SELECT position, subject, CASE WHEN is_shown THEN html ELSE '' END,
       CASE WHEN is_shown THEN text ELSE '' END, headers, request_id, to_name, reply_to, tags,
       attachments, letter, list_key, secret_until
FROM (
    SELECT *, secret_until IS NULL
           OR (%(secrets)s AND secret_until > clock_timestamp()) AS is_shown
    FROM deliveries_body WHERE stream_id = %(stream)s AND position = ANY(%(positions)s::bigint[])
) AS body
"""


def read_bodies(
    stream_id: int, positions: Sequence[int], *, with_secrets: bool = False
) -> dict[int, Body]:
    """The contents of some mails of a stream; those that many share are at `shared_position`.

    A mail with a secret link has neither HTML nor text, except for the worker that sends it, and
    for it only as long as the link works.
    """
    params = {
        "stream": stream_id,
        "positions": sql.Bigints(positions),
        "secrets": with_secrets,
    }
    rows = sql.rows(_BODIES, params)
    converters = {8: lambda tags: tuple(tags or ()), 9: _attachments}
    return {row[0]: Body(*sql.convert(row, converters)[1:]) for row in rows}


def _attachments(stored: Sequence[dict[str, str]] | None) -> tuple[Attachment, ...]:
    return tuple(
        Attachment(item["filename"], item["content_type"], b64decode(item["content"]))
        for item in stored or ()
    )


_HAS_TIME: LiteralString = """
SELECT count(*) = cardinality(%(ids)s::bigint[]) FROM deliveries_batch
WHERE id = ANY(%(ids)s::bigint[]) AND lease = %(lease)s
  AND lease_until - clock_timestamp() > %(needed)s
"""


def has_time(claim: Claim, windows: Sequence[Window], needed: timedelta) -> bool:
    """Whether the leases of armed windows still have so much time, by the database's clock."""
    ids = sql.Bigints(window.batch.id for window in windows)
    return sql.exists(_HAS_TIME, {"ids": ids, "lease": claim.lease, "needed": needed})


_LEASED: LiteralString = """
SELECT id, stream_id, lo, hi, try_number, version FROM deliveries_batch
WHERE id = ANY(%(ids)s::bigint[]) AND lease = %(lease)s AND armed_to IS NULL
ORDER BY stream_id, lo
"""


def read_leased(claim: Claim) -> list[Batch]:
    """What is left of a claim, with the versions to compose against.

    Read it before the windows: a version that is read after them proves nothing.
    """
    ids = sql.Bigints(batch.id for batch in claim.batches)
    return [Batch(*row) for row in sql.rows(_LEASED, {"ids": ids, "lease": claim.lease})]
