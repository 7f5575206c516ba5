"""The work of one workspace that is still to come, and how much of a limit was used up."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import LiteralString

from postledger.deliveries.ledger import sql
from postledger.deliveries.queries.streams import StreamFacts, find_streams, read_books
from postledger.deliveries.states import State
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


_HELD: LiteralString = """
SELECT s.id FROM deliveries_lane l JOIN deliveries_stream s ON s.id = l.stream_id
WHERE s.cancelled_at IS NULL
  AND EXISTS (SELECT FROM deliveries_batch b WHERE b.stream_id = s.id)
  AND (EXISTS (
        SELECT FROM deliveries_streamhold h
        WHERE h.stream_id = s.id AND (h.until IS NULL OR h.until > statement_timestamp())
      ) OR EXISTS (
        SELECT FROM deliveries_senderhold h
        WHERE h.sender_id = s.sender_id AND (h.until IS NULL OR h.until > statement_timestamp())
      ))
  AND s.id > %(after)s
ORDER BY s.id LIMIT %(limit)s
"""


def list_held_streams(*, after: int, limit: int) -> list[StreamFacts]:
    """Streams with work that are held, in the order of their ids."""
    ids_ = [id_ for (id_,) in sql.rows(_HELD, {"after": after, "limit": limit})]
    return sorted(find_streams(ids_).values(), key=lambda stream: stream.id)


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


_HANDED_OVER = (State.ACCEPTED, State.FAILED, State.IN_DOUBT)
# A stream that was opened before the last month was not active lately, unless it has work.
_MONTHS = 1
_ACTIVE: LiteralString = """
SELECT id, created_at >= %(since)s FROM deliveries_stream
WHERE (sender_id = ANY(%(senders)s::bigint[]) OR member_id = %(member)s) AND NOT is_test
  AND (id >= %(first)s OR id IN (SELECT stream_id FROM deliveries_lane))
"""
# Results come in about the order of positions: the first of a time is found by halving. The latest
# ones lie before the first work that was not tried, and some beyond it, because each worker is in
# the middle of some batch.
_DISORDER = 1_000
_LATEST: LiteralString = """
WITH RECURSIVE span AS MATERIALIZED (
    SELECT s.id, untried.lo IS NOT NULL AS is_live,
           coalesce(untried.lo, last.position + 1) AS frontier
    FROM unnest(%(streams)s::bigint[]) AS s (id)
    CROSS JOIN LATERAL (
        SELECT min(lo) AS lo FROM deliveries_batch WHERE stream_id = s.id AND try_number = 1
    ) AS untried
    CROSS JOIN LATERAL (
        SELECT max(position) AS position FROM deliveries_delivery WHERE stream_id = s.id
    ) AS last
), halving AS (
    SELECT id, 0::bigint AS lo, frontier AS hi FROM span
    UNION ALL
    SELECT id, CASE WHEN is_late THEN lo ELSE (lo + hi) / 2 + 1 END,
           CASE WHEN is_late THEN (lo + hi) / 2 ELSE hi END
    FROM (
        SELECT h.id, h.lo, h.hi, coalesce((
            SELECT coalesce(d.settled_at >= %(since)s, true) FROM deliveries_delivery d
            WHERE d.stream_id = h.id AND d.position >= (h.lo + h.hi) / 2
            ORDER BY d.position LIMIT 1
        ), true) AS is_late
        FROM halving h WHERE h.lo < h.hi
    ) AS half
)
SELECT h.lo, span.frontier, d.last, d.handed_over
FROM halving h JOIN span ON span.id = h.id
CROSS JOIN LATERAL (
    SELECT max(position) AS last, count(*) FILTER (
        WHERE settled_at >= %(since)s
          AND (state IN ('accepted', 'in_doubt') OR (state = 'failed' AND attempts > 0))
    ) AS handed_over
    FROM (
        SELECT position, state, attempts, settled_at FROM deliveries_delivery
        WHERE stream_id = h.id AND position >= h.lo - %(disorder)s
          AND position < span.frontier + %(disorder)s
        ORDER BY position LIMIT %(most)s::bigint
    ) AS row
) AS d
WHERE h.lo >= h.hi AND (h.lo < span.frontier OR span.is_live)
"""
_MOST_ROWS = 5_000  # of one stream


def count_handed_over(
    *, sender_ids: Sequence[int] = (), member_id: int | None = None, since: datetime
) -> int:
    """How many mails of some senders, or of a member's runs, went to a provider since a moment.

    For a person who plans, not for the limiter: mails that a provider is receiving now are not in
    it. Streams that were opened since then are counted by their books, with their failures before
    any hand-over; more than some thousand mails of an older stream are estimated.
    """
    first = ids.first_stream_of(ids.month_of(since) - _MONTHS)
    owner = {"senders": sql.Bigints(sender_ids), "member": member_id}
    active = sql.rows(_ACTIVE, {**owner, "since": since, "first": first})
    books = read_books([id_ for id_, is_new in active if is_new])
    counted = sum(each.counts[state] for each in books.values() for state in _HANDED_OVER)
    older = sql.Bigints(id_ for id_, is_new in active if not is_new)
    params = {"streams": older, "since": since, "disorder": _DISORDER, "most": _MOST_ROWS}
    return counted + sum(_extrapolate(*row) for row in sql.rows(_LATEST, params))


def _extrapolate(first: int, frontier: int, last: int | None, handed_over: int) -> int:
    """From the positions up to `last`, which were counted, to those up to the frontier."""
    counted = 0 if last is None else last + 1 - first
    if counted <= 0 or last is None or last + 1 >= frontier:
        return handed_over
    return round(handed_over * (frontier - first) / counted)
