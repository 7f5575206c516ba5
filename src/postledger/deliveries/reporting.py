"""Reads the results of a stream's mails: one by one, and grouped by cause."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import LiteralString

from postledger.deliveries.entries import LEADS_TO_FAILURE, AttemptOutcome
from postledger.deliveries.ledger import sql
from postledger.deliveries.states import State

_AT_ONCE = 2_000


@dataclass(frozen=True, slots=True)
class ReportedDelivery:
    """One mail, with its last error unless that is over."""

    position: int
    address: str
    state: State
    code: str
    detail: str
    message_id: str
    accepted_at: datetime | None
    feedback: str  # the gravest report of its provider; empty without one
    feedback_at: datetime | None


# From the least to the gravest, whatever came first: a soft bounce after a delivery is the answer
# of an absent recipient. Opens and clicks say nothing about how a mail arrived.
_GRAVITY: LiteralString = """ARRAY[
    'deferred', 'soft_bounced', 'delivered', 'dropped', 'on_suppression_list', 'bounced',
    'unsubscribed', 'complained'
]"""

# The last note is the last of attempts and events together: a requeue ends an error. The conditions
# on the state are inside, so that accepted mails cost no search.
_DELIVERIES: LiteralString = f"""
SELECT d.position, d.address, d.state, coalesce(d.code, note.code, upper(note.outcome), ''),
       coalesce(note.detail, ''), coalesce(d.message_id, ''),
       CASE d.state WHEN 'accepted' THEN d.settled_at END,
       coalesce(report.word, ''), report.happened_at
FROM deliveries_delivery d
LEFT JOIN LATERAL (
    SELECT a.id, a.outcome, a.code, a.detail FROM deliveries_attempt a
    WHERE a.stream_id = %(stream)s AND a.position = d.position
      AND d.state NOT IN ('accepted', 'cancelled')
    UNION ALL
    SELECT e.id, NULL, e.data ->> 'code', e.data ->> 'detail' FROM deliveries_deliveryevent e
    WHERE e.stream_id = %(stream)s AND e.position = d.position
      AND d.state NOT IN ('accepted', 'cancelled')
      AND e.kind IN ('requeued', 'proved_not_accepted')
    ORDER BY id DESC
    LIMIT 1
) AS note ON true
LEFT JOIN LATERAL (
    SELECT word, happened_at
    FROM (
        SELECT delivery_report(kind, counts_as) AS word, happened_at FROM deliveries_feedback
        WHERE stream_id = %(stream)s AND position = d.position
    ) AS given
    WHERE word = ANY({_GRAVITY})
    ORDER BY array_position({_GRAVITY}, word) DESC, happened_at
    LIMIT 1
) AS report ON true
WHERE d.stream_id = %(stream)s
"""
_PAGE: LiteralString = (
    f"{_DELIVERIES} AND d.position > %(after)s ORDER BY d.position LIMIT %(limit)s::bigint"
)
_SOME: LiteralString = f"{_DELIVERIES} AND d.position = ANY(%(positions)s::bigint[])"


def iterate_deliveries(stream_id: int) -> Iterator[ReportedDelivery]:
    """A stream's mails in the order of positions, read a page at a time.

    No transaction is kept open meanwhile: a slow reader would keep dead rows with it.
    """
    after = -1
    while True:
        rows = sql.rows(_PAGE, {"stream": stream_id, "after": after, "limit": _AT_ONCE})
        yield from map(_reported, rows)
        if len(rows) < _AT_ONCE:
            return
        after = rows[-1][0]


def find_deliveries(stream_id: int, positions: Sequence[int]) -> dict[int, ReportedDelivery]:
    """Some of a stream's mails, by position."""
    params = {"stream": stream_id, "positions": sql.Bigints(positions)}
    return {row[0]: _reported(row) for row in sql.rows(_SOME, params)}


def _reported(row: sql.Row) -> ReportedDelivery:
    return ReportedDelivery(*sql.convert(row, {2: State}))


@dataclass(frozen=True, slots=True)
class FailureCause:
    """Mails that failed, or are in doubt, for the same cause."""

    state: State
    outcome: AttemptOutcome
    code: str
    count: int
    since: datetime
    example: str  # the detail of the first of them that has one


# By attempts, as in `undecided`: a million good results cost nothing here.
_CAUSES: LiteralString = """
SELECT d.state, last.outcome, coalesce(d.code, upper(last.outcome)) AS cause, count(*),
       min(d.settled_at), coalesce((array_agg(last.detail ORDER BY d.position)
                 FILTER (WHERE last.detail <> ''))[1], '')
FROM (
    SELECT DISTINCT ON (position) position, outcome, detail FROM deliveries_attempt
    WHERE stream_id = %(stream)s AND outcome = ANY(%(outcomes)s::text[])
    ORDER BY position, id DESC
) AS last
JOIN deliveries_delivery d ON d.stream_id = %(stream)s AND d.position = last.position
WHERE d.state IN ('failed', 'in_doubt')
GROUP BY d.state, last.outcome, cause
ORDER BY count(*) DESC, cause
"""


def count_causes(stream_id: int) -> list[FailureCause]:
    """Why mails of a stream failed or are in doubt, the most frequent cause first."""
    outcomes = sql.Texts(outcome.value for outcome in LEADS_TO_FAILURE)
    rows = sql.rows(_CAUSES, {"stream": stream_id, "outcomes": outcomes})
    return [FailureCause(State(row[0]), AttemptOutcome(row[1]), *row[2:]) for row in rows]
