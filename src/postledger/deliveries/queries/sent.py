"""How many mails were handed over since a moment, counted from the ledger's rows.

For a limiter whose own count was lost. A count may be too large by a mail that was in doubt first,
and is never too small.
"""

from datetime import datetime
from typing import LiteralString

from postledger.deliveries.entries import AttemptOutcome
from postledger.deliveries.ledger import sql

# Of these the provider was called. A first try that was accepted is on its delivery alone, and a
# later one is there too.
_HANDED_OVER = (
    AttemptOutcome.REFUSED,
    AttemptOutcome.TRY_LATER,
    AttemptOutcome.THROTTLED,
    AttemptOutcome.SENDER_BLOCKED,
    AttemptOutcome.IN_DOUBT,
    AttemptOutcome.LEASE_LOST,
)

# Counters are folded within minutes of the work they count: a stream that was folded long before,
# and has nothing to fold and no work, sent nothing since.
_COUNT: LiteralString = """
WITH stream AS MATERIALIZED (
    SELECT s.id FROM deliveries_stream s
    WHERE {whose} AND NOT s.is_test
      AND (s.folded_at >= %(since)s
           OR EXISTS (SELECT FROM deliveries_streamdelta d WHERE d.stream_id = s.id)
           OR EXISTS (SELECT FROM deliveries_batch b WHERE b.stream_id = s.id))
)
SELECT
    (SELECT count(*) FROM stream
     JOIN deliveries_delivery d ON d.stream_id = stream.id
     WHERE d.state = 'accepted' AND d.settled_at >= %(since)s)
  + (SELECT count(*) FROM stream
     JOIN deliveries_attempt a ON a.stream_id = stream.id
     WHERE a.at >= %(since)s AND a.outcome = ANY(%(outcomes)s::text[]))
  + (SELECT coalesce(sum(b.armed_to - b.lo), 0) FROM stream
     JOIN deliveries_batch b ON b.stream_id = stream.id
     WHERE b.armed_to IS NOT NULL)
"""
_OF_SENDER: LiteralString = _COUNT.format(whose="s.sender_id = %(id)s")
_OF_MEMBER: LiteralString = _COUNT.format(whose="s.member_id = %(id)s")
_OF_ACCOUNT: LiteralString = _COUNT.format(
    whose="s.sender_id IN (SELECT id FROM accounts_sender WHERE account_id = %(id)s)"
)


def count_sent_by_sender(sender_id: int, *, since: datetime) -> int:
    return _count(_OF_SENDER, sender_id, since)


def count_sent_for_member(member_id: int, *, since: datetime) -> int:
    """Mails of the runs that a member launched."""
    return _count(_OF_MEMBER, member_id, since)


def count_sent_by_account(account_id: int, *, since: datetime) -> int:
    return _count(_OF_ACCOUNT, account_id, since)


def _count(statement: LiteralString, id_: int, since: datetime) -> int:
    outcomes = sql.Texts(outcome.value for outcome in _HANDED_OVER)
    [(count,)] = sql.rows(statement, {"id": id_, "since": since, "outcomes": outcomes})
    return int(count)
