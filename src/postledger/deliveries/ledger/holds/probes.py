"""One mail tries a provider that did not answer, before the rest follows.

The hold of such a provider has ended by its time, and its row is still there. Until an answer
deletes it, one claim of all processes may arm one mail of the account's senders.
"""

from datetime import timedelta
from typing import LiteralString

from postledger.deliveries.entries import Claim
from postledger.deliveries.ledger import sql

TRIED_FIRST: LiteralString = "('provider_broken', 'provider_down')"

# Whether the provider of a stream was not tried since its hold ended.
UNTRIED: LiteralString = f"""
SELECT FROM deliveries_stream s JOIN deliveries_senderhold h ON h.sender_id = s.sender_id
WHERE s.id = %(stream)s AND NOT s.is_test AND h.reason IN {TRIED_FIRST}
"""

# Every sender of the account has its own row; they are locked in the order in which a hold of an
# account writes them. An arm renews the lease, so a claim lives for two of them.
_TAKE: LiteralString = f"""
WITH untried AS MATERIALIZED (
    SELECT h.sender_id, h.reason, h.until, h.probe_until
    FROM deliveries_stream s
    JOIN accounts_sender mine ON mine.id = s.sender_id
    JOIN accounts_sender sender
      ON sender.id = mine.id OR sender.account_id = mine.account_id
    JOIN deliveries_senderhold h ON h.sender_id = sender.id
    WHERE s.id = %(stream)s AND h.reason IN {TRIED_FIRST}
    ORDER BY h.sender_id, h.reason
    FOR UPDATE OF h
)
UPDATE deliveries_senderhold h
SET probe_lease = %(lease)s, probe_until = clock_timestamp() + 2 * %(lease_time)s::interval
FROM untried
WHERE h.sender_id = untried.sender_id AND h.reason = untried.reason
  AND NOT EXISTS (
    SELECT FROM untried
    WHERE until IS NULL OR until > clock_timestamp() OR probe_until > clock_timestamp()
  )
RETURNING h.sender_id
"""


def take_probe(stream_id: int, claim: Claim, lease_time: timedelta) -> bool:
    """Lets a claim try the stream's provider with one mail; False while another one does.

    A claim whose process died has it until its lease would have ended.
    """
    params = {"stream": stream_id, "lease": claim.lease, "lease_time": lease_time}
    return bool(sql.rows(_TAKE, params))


_END: LiteralString = """
UPDATE deliveries_senderhold SET probe_lease = NULL, probe_until = NULL
WHERE probe_lease = %(lease)s
"""


def end_probe(claim: Claim) -> None:
    """Lets another claim try the provider, if this one found out nothing."""
    sql.rows(_END, {"lease": claim.lease})
