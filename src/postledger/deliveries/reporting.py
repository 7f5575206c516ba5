"""Reads what became of a stream's mails, for reports: line by line, and grouped by cause."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import LiteralString

from postledger.deliveries.entries import Outcome
from postledger.deliveries.ledger import sql
from postledger.deliveries.states import State

_AT_ONCE = 2_000


@dataclass(frozen=True, slots=True)
class Reported:
    """One mail, with the last thing that went wrong and still stands."""

    position: int
    address: str
    state: State
    code: str
    detail: str
    message_id: str
    accepted_at: datetime | None


# The last note is looked for among attempts and events together: a requeue ends an error. The
# condition stands inside, so that nothing is looked for where an acceptance says it all.
_LINE: LiteralString = """
SELECT d.position, d.address, d.state, coalesce(d.code, note.code, upper(note.outcome), ''),
       coalesce(note.detail, ''), coalesce(d.message_id, ''),
       CASE d.state WHEN 'accepted' THEN d.settled_at END
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
WHERE d.stream_id = %(stream)s
"""
_PAGE: LiteralString = (
    _LINE + "  AND d.position > %(after)s ORDER BY d.position LIMIT %(limit)s::bigint"
)
_SOME: LiteralString = _LINE + "  AND d.position = ANY(%(positions)s::bigint[])"


def lines(stream_id: int) -> Iterator[Reported]:
    """A stream's mails in the order of positions, each page read when it is asked for.

    No transaction is kept open meanwhile: a slow reader would keep dead rows with it.
    """
    after = -1
    while True:
        found = sql.rows(_PAGE, {"stream": stream_id, "after": after, "limit": _AT_ONCE})
        yield from map(_reported, found)
        if len(found) < _AT_ONCE:
            return
        after = found[-1][0]


def some(stream_id: int, positions: Sequence[int]) -> dict[int, Reported]:
    """Some of a stream's mails, by position."""
    params = {"stream": stream_id, "positions": sql.Bigints(positions)}
    return {row[0]: _reported(row) for row in sql.rows(_SOME, params)}


def _reported(row: sql.Row) -> Reported:
    position, address, state, *rest = row
    return Reported(position, address, State(state), *rest)


@dataclass(frozen=True, slots=True)
class Cause:
    """Mails that failed, or are in doubt, for the same cause."""

    state: State
    outcome: Outcome
    code: str
    count: int
    since: datetime
    example: str  # what was said of the first of them, if anything was


_TROUBLED = (
    *(Outcome.REFUSED, Outcome.TRY_LATER, Outcome.INVALID, Outcome.POISON),
    *(Outcome.IN_DOUBT, Outcome.LEASE_LOST),
)
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


def causes(stream_id: int) -> list[Cause]:
    """Why mails of a stream failed or are in doubt, the most frequent cause first."""
    outcomes = sql.Texts(outcome.value for outcome in _TROUBLED)
    found = sql.rows(_CAUSES, {"stream": stream_id, "outcomes": outcomes})
    return [Cause(State(state), Outcome(outcome), *rest) for state, outcome, *rest in found]
