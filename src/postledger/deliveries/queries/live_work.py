"""The work of one workspace that is still to come, and how much of a limit was used up."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import LiteralString

from postledger.deliveries.ledger import sql
from postledger.deliveries.queries.streams import StreamFacts, find_streams
from postledger.lib import ids

# Every stream with work is in the rotation.
_LIVE: LiteralString = """
SELECT s.id, l.priority FROM deliveries_lane l JOIN deliveries_stream s ON s.id = l.stream_id
WHERE s.workspace_id = %(workspace)s AND s.cancelled_at IS NULL
  AND EXISTS (SELECT FROM deliveries_batch b WHERE b.stream_id = s.id)
"""


def list_live_streams(workspace_id: int) -> dict[int, int]:
    """The streams of a workspace with work, and their priorities; the lowest goes first."""
    return dict(sql.rows(_LIVE, {"workspace": workspace_id}))


_LIVE_OF_SENDER: LiteralString = """
SELECT s.id FROM deliveries_lane l JOIN deliveries_stream s ON s.id = l.stream_id
WHERE s.sender_id = %(sender)s AND s.cancelled_at IS NULL
  AND EXISTS (SELECT FROM deliveries_batch b WHERE b.stream_id = s.id)
"""


def list_streams_of_sender(sender_id: int) -> list[StreamFacts]:
    """The streams of a sender that have work."""
    ids_ = [id_ for (id_,) in sql.rows(_LIVE_OF_SENDER, {"sender": sender_id})]
    return list(find_streams(ids_).values())


@dataclass(frozen=True, slots=True)
class LaterWork:
    """Mails of a stream that are due within the same hour, later than now."""

    stream_id: int
    due_at: datetime  # of the first of them
    position_count: int  # an upper bound of the mails


_LATER: LiteralString = """
SELECT stream_id, min(due_at), sum(hi - lo)::bigint FROM deliveries_batch
WHERE stream_id = ANY(%(ids)s::bigint[]) AND due_at > %(now)s
GROUP BY stream_id, date_trunc('hour', due_at, 'UTC')
ORDER BY stream_id, min(due_at)
"""


def list_later_work(stream_ids: Collection[int], *, now: datetime) -> list[LaterWork]:
    params = {"ids": sql.Bigints(stream_ids), "now": now}
    return [LaterWork(*row) for row in sql.rows(_LATER, params)]


# Results come in about the order of positions. So a stream's latest results lie before its first
# work that was not tried, and some beyond it: each worker is in the middle of some batch.
_AHEAD = 20_000
_LAST_POSITION = 2**62
# A stream that got no mail since the month before last was not active today.
_MONTHS = 1
_HANDED_OVER: LiteralString = """
SELECT count(*)
FROM (
    SELECT id FROM deliveries_stream
    WHERE (sender_id = ANY(%(senders)s::bigint[]) OR member_id = %(member)s) AND NOT is_test
      AND (id >= %(first)s OR id IN (SELECT stream_id FROM deliveries_lane))
) AS s
CROSS JOIN LATERAL (
    SELECT coalesce(min(lo) + %(ahead)s, %(last)s) AS position FROM deliveries_batch
    WHERE stream_id = s.id AND try_number = 1
) AS untried
CROSS JOIN LATERAL (
    SELECT state, attempts, settled_at FROM deliveries_delivery
    WHERE stream_id = s.id AND position < untried.position
    ORDER BY position DESC LIMIT %(most)s::bigint
) AS d
WHERE d.settled_at >= %(since)s
  AND (d.state IN ('accepted', 'in_doubt') OR (d.state = 'failed' AND d.attempts > 0))
"""


def count_handed_over(
    *, sender_ids: Sequence[int] = (), member_id: int | None = None, since: datetime, most: int
) -> int:
    """How many mails of some senders, or of a member's runs, went to a provider since a moment.

    For a person who plans, not for the limiter: mails that a provider is receiving now are not in
    it, and of each stream the last `most` mails are looked at.
    """
    params = {
        "senders": sql.Bigints(sender_ids),
        "member": member_id,
        "first": ids.first_stream_of(ids.month_of(since) - _MONTHS),
        "ahead": _AHEAD,
        "last": _LAST_POSITION,
        "most": most + _AHEAD,
        "since": since,
    }
    return min(sql.count(_HANDED_OVER, params), most)
