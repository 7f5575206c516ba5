"""Forgets what mail with a secret link said: an invitation, a new password."""

from typing import LiteralString

from postledger.deliveries.ledger import sql

# What waits or is in doubt may still be sent, as long as its link works. What failed is not sent
# again: whoever needs the link asks for a new one.
_FORGET: LiteralString = """
WITH spent AS (
    SELECT b.stream_id, b.position
    FROM deliveries_body b JOIN deliveries_delivery d USING (stream_id, position)
    WHERE b.secret_until IS NOT NULL AND b.size > 0
      AND (d.state NOT IN ('waiting', 'in_doubt') OR b.secret_until <= statement_timestamp())
    LIMIT %(limit)s
), emptied AS (
    UPDATE deliveries_body b SET html = '', text = '', size = 0, digest = NULL
    FROM spent WHERE b.stream_id = spent.stream_id AND b.position = spent.position
    RETURNING b.position
)
SELECT count(*) FROM emptied
"""
_AT_ONCE = 1_000


def forget_secrets() -> int:
    """Empties the mails with secret links that got a result or whose link does not work any more;
    returns how many.

    Subject, recipient and history stay. A mail in doubt keeps its content while its link works, so
    that it can be sent again.
    """
    [(count,)] = sql.rows(_FORGET, {"limit": _AT_ONCE})
    return int(count)
