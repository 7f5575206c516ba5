"""What providers reported of streams, from counters that stand beside the books."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import LiteralString

from postledger.deliveries.ledger import books, sql
from postledger.lib import ids


@dataclass(frozen=True, slots=True)
class ReportCounts:
    """How many deliveries of one stream have at least one event of each kind."""

    delivered: int = 0
    bounced: int = 0  # for good, by the recipient's server
    soft_bounced: int = 0
    on_suppression_list: int = 0  # bounced by the account's own list; no server was asked
    complained: int = 0
    dropped: int = 0
    opened: int = 0
    clicked: int = 0
    reported: int = 0  # with any event


_TOTALS: LiteralString = ", ".join([f"s.{name} + coalesce(d.{name}, 0)" for name in books.REPORTED])
_SUMS: LiteralString = ", ".join([f"sum({name}) AS {name}" for name in books.REPORTED])
# One statement, one snapshot: a counter on its way from delta to stream counts once.
_COUNTS: LiteralString = f"""
SELECT s.id, {_TOTALS} FROM deliveries_stream s
LEFT JOIN LATERAL (
    SELECT {_SUMS} FROM deliveries_streamdelta WHERE stream_id = s.id
) AS d ON true
WHERE s.id = ANY(%(ids)s::bigint[])
"""


def read_report_counts(stream_ids: Sequence[int]) -> dict[int, ReportCounts]:
    """The counters of some streams, by the streams' ids; nothing is counted row by row."""
    rows = sql.rows(_COUNTS, {"ids": sql.Bigints(stream_ids)})
    return {stream_id: ReportCounts(*map(int, counts)) for stream_id, *counts in rows}


@dataclass(frozen=True, slots=True)
class GuardedRun:
    """A campaign's stream that is being sent, with its counters since its last release."""

    stream_id: int
    workspace_id: int
    accepted: int
    delivered: int
    bounced: int
    complained: int


# Every stream with work is in the rotation: a run that has nothing left to stop is not read. One
# without a bad report costs no sum over its batches.
_GUARDED: LiteralString = """
SELECT s.id, s.workspace_id,
       s.accepted + coalesce(d.accepted, 0) - s.guard_accepted,
       s.delivered + coalesce(d.delivered, 0) - s.guard_delivered,
       s.bounced + coalesce(d.bounced, 0) - s.guard_bounced,
       s.complained + coalesce(d.complained, 0) - s.guard_complained
FROM deliveries_lane l
JOIN deliveries_stream s ON s.id = l.stream_id
CROSS JOIN LATERAL (
    SELECT sum(accepted) AS accepted, sum(delivered) AS delivered, sum(bounced) AS bounced,
           sum(complained) AS complained
    FROM deliveries_streamdelta WHERE stream_id = s.id
) AS d
WHERE s.kind = 'campaign' AND NOT s.is_test AND NOT s.is_trial AND s.cancelled_at IS NULL
  AND NOT EXISTS (SELECT FROM deliveries_streamhold h WHERE h.stream_id = s.id AND h.until IS NULL)
  AND (s.bounced + coalesce(d.bounced, 0) > s.guard_bounced
       OR s.complained + coalesce(d.complained, 0) > s.guard_complained)
"""


def list_guarded_runs() -> list[GuardedRun]:
    """The campaign streams that may still send and have bad reports, without those of tests."""
    return [
        GuardedRun(id_, workspace, *map(int, counts))
        for id_, workspace, *counts in (sql.rows(_GUARDED, {}))
    ]


@dataclass(frozen=True, slots=True)
class FirstEvent:
    """When a mail was accepted, and when the first event of it came; None: none came yet."""

    accepted_at: datetime
    event_at: datetime | None


# The latest mails of the latest streams: in a campaign those before the first that was not tried.
_FIRST_EVENTS: LiteralString = """
SELECT d.settled_at, event.at
FROM (
    SELECT id, kind FROM deliveries_stream
    WHERE sender_id = %(sender)s AND NOT is_test ORDER BY id DESC LIMIT 10
) AS s
CROSS JOIN LATERAL (
    SELECT position, state, settled_at FROM deliveries_delivery
    WHERE stream_id = s.id AND position < coalesce((
        SELECT min(lo) FROM deliveries_batch
        WHERE stream_id = s.id AND try_number = 1 AND s.kind <> 'transactional'
    ), 1::bigint << 62)
    ORDER BY position DESC LIMIT %(limit)s::bigint
) AS d
CROSS JOIN LATERAL (
    SELECT min(received_at) AS at FROM deliveries_feedback
    WHERE stream_id = s.id AND position = d.position
) AS event
WHERE d.state = 'accepted'
"""
_LATEST = 5_000


def read_first_events(sender_id: int) -> list[FirstEvent]:
    """Of the latest mails of a sender, without tests."""
    rows = sql.rows(_FIRST_EVENTS, {"sender": sender_id, "limit": _LATEST})
    return [FirstEvent(*row) for row in rows]


_UNREPORTED: LiteralString = """
SELECT sender.id, coalesce(
    sum(greatest(0, s.accepted + d.accepted - s.reported - d.reported)), 0
)::bigint
FROM unnest(%(senders)s::bigint[]) AS sender (id)
LEFT JOIN deliveries_stream s
  ON s.sender_id = sender.id AND NOT s.is_test AND s.id >= %(first)s
LEFT JOIN LATERAL (
    SELECT coalesce(sum(accepted), 0) AS accepted, coalesce(sum(reported), 0) AS reported
    FROM deliveries_streamdelta WHERE stream_id = s.id
) AS d ON true
GROUP BY sender.id ORDER BY sender.id
"""


def count_unreported(sender_ids: Sequence[int], *, since_month: int) -> dict[int, int]:
    """How many accepted mails of each sender have no event, by counters; without tests.

    Of the streams since a month: later events of earlier mail are not waited for.
    """
    params = {"senders": sql.Bigints(sender_ids), "first": ids.first_stream_of(since_month)}
    return {sender_id: int(count) for sender_id, count in sql.rows(_UNREPORTED, params)}
