"""Reads mails that a person may decide about, in doubt or failed, and those a decision left alone.

Doubts and failures are found by their attempts. A first try that was accepted has none, so ten
million good results of a stream cost nothing here.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import LiteralString

from postledger.deliveries.entries import DOUBTFUL, LEADS_TO_FAILURE, AttemptOutcome
from postledger.deliveries.ledger import sql
from postledger.deliveries.states import State

_TRIED = {State.IN_DOUBT: DOUBTFUL, State.FAILED: LEADS_TO_FAILURE}

# One statement, one snapshot: a counter on its way from batch to delta to stream counts once.
_STREAMS: LiteralString = """
SELECT c.stream_id, sum(c.in_doubt)::bigint
FROM (
    SELECT id AS stream_id, in_doubt FROM deliveries_stream WHERE in_doubt <> 0
    UNION ALL
    SELECT stream_id, in_doubt FROM deliveries_streamdelta WHERE in_doubt <> 0
) AS c JOIN deliveries_stream s ON s.id = c.stream_id
WHERE %(workspace)s::bigint IS NULL OR s.workspace_id = %(workspace)s
GROUP BY c.stream_id HAVING sum(c.in_doubt) > 0
ORDER BY c.stream_id LIMIT %(limit)s
"""


def streams_in_doubt(*, workspace_id: int | None = None, limit: int = 1000) -> dict[int, int]:
    """How many mails of which streams are in doubt, from the counters."""
    rows = sql.rows(_STREAMS, {"workspace": workspace_id, "limit": limit})
    return {stream_id: int(count) for stream_id, count in rows}


# Of the streams that have doubts by their counters; in those, by their attempts.
_OLD_DOUBTS: LiteralString = """
SELECT s.workspace_id, count(*), min(d.settled_at)
FROM deliveries_stream s CROSS JOIN LATERAL (
    SELECT d.settled_at FROM (
        SELECT DISTINCT position FROM deliveries_attempt
        WHERE stream_id = s.id AND outcome = ANY(%(outcomes)s::text[])
    ) AS tried
    JOIN deliveries_delivery d ON d.stream_id = s.id AND d.position = tried.position
    WHERE d.state = 'in_doubt' AND d.settled_at < %(before)s
) AS d
WHERE s.id = ANY(%(streams)s::bigint[])
GROUP BY s.workspace_id ORDER BY s.workspace_id
"""


def count_old_doubts(*, settled_before: datetime) -> list[tuple[int, int, datetime]]:
    """The workspaces with mails in doubt since before a moment: id, how many, and since when."""
    streams = streams_in_doubt()
    if not streams:
        return []
    params = {
        "streams": sql.Bigints(streams),
        "outcomes": sql.Texts(outcome.value for outcome in DOUBTFUL),
        "before": settled_before,
    }
    return [(id_, count, oldest) for id_, count, oldest in sql.rows(_OLD_DOUBTS, params)]


@dataclass(frozen=True, slots=True)
class UndecidedDelivery:
    """A mail in doubt, or a failure, with the last outcome that made it so."""

    position: int
    address: str
    last_try: int
    settled_at: datetime
    resend_after: datetime | None
    code: str | None
    outcome: AttemptOutcome
    detail: str
    contact_id: int | None


# Read in the order of the primary key of attempts, so that a page costs no more than its mails and
# those tried between them, however many there are.
_UNDECIDED: LiteralString = """
SELECT d.position, d.address, d.last_try, d.settled_at, d.resend_after, d.code,
       last.outcome, coalesce(last.detail, ''), d.contact_id
FROM (
    SELECT DISTINCT position FROM deliveries_attempt
    WHERE stream_id = %(stream)s AND position > %(after)s AND outcome = ANY(%(outcomes)s::text[])
    ORDER BY position
) AS tried
CROSS JOIN LATERAL (
    SELECT * FROM deliveries_delivery
    WHERE stream_id = %(stream)s AND position = tried.position AND state = %(state)s
      AND (%(code)s::text IS NULL OR code = %(code)s)
    OFFSET 0
) AS d
CROSS JOIN LATERAL (
    SELECT outcome, detail FROM deliveries_attempt a
    WHERE a.stream_id = %(stream)s AND a.position = tried.position
      AND a.outcome = ANY(%(outcomes)s::text[])
      AND (d.doubts IS NULL OR a.try_number = ANY(d.doubts))
    ORDER BY a.id DESC
    LIMIT 1
) AS last
ORDER BY tried.position
LIMIT %(limit)s
"""


def find_undecided(
    stream_id: int, state: State, *, after: int = -1, code: str | None = None, limit: int = 500
) -> list[UndecidedDelivery]:
    """A page of a stream's mails that are in doubt, or failed, in the order of positions."""
    params = {
        "stream": stream_id,
        "state": state.value,
        "outcomes": sql.Texts(outcome.value for outcome in _TRIED[state]),
        "after": after,
        "code": code,
        "limit": limit,
    }
    rows = sql.rows(_UNDECIDED, params)
    return [UndecidedDelivery(*sql.convert(row, {6: AttemptOutcome})) for row in rows]


_COUNT: LiteralString = """
SELECT count(*)
FROM (
    SELECT DISTINCT position FROM deliveries_attempt
    WHERE stream_id = %(stream)s AND position > %(after)s AND outcome = ANY(%(outcomes)s::text[])
) AS tried
JOIN deliveries_delivery d ON d.stream_id = %(stream)s AND d.position = tried.position
WHERE d.state = %(state)s AND (%(code)s::text IS NULL OR d.code = %(code)s)
"""


def count_undecided(stream_id: int, state: State, *, after: int, code: str | None = None) -> int:
    """How many mails `find_undecided` would still find after a position."""
    params = {
        "stream": stream_id,
        "state": state.value,
        "outcomes": sql.Texts(outcome.value for outcome in _TRIED[state]),
        "after": after,
        "code": code,
    }
    return sql.count(_COUNT, params)


_LAST_TRIES: LiteralString = """
SELECT position, last_try FROM deliveries_delivery
WHERE stream_id = %(stream)s AND position = ANY(%(positions)s::bigint[])
"""


def read_last_tries(stream_id: int, positions: Sequence[int]) -> dict[int, int]:
    """The number of the last try of some deliveries, whatever their state; by position."""
    return dict(sql.rows(_LAST_TRIES, {"stream": stream_id, "positions": sql.Bigints(positions)}))


_CONTACTS: LiteralString = """
SELECT position, contact_id FROM deliveries_delivery
WHERE stream_id = %(stream)s AND position = ANY(%(positions)s::bigint[])
  AND contact_id IS NOT NULL
"""


def read_contacts(stream_id: int, positions: Sequence[int]) -> dict[int, int]:
    """The contacts that some deliveries go to, by position."""
    return dict(sql.rows(_CONTACTS, {"stream": stream_id, "positions": sql.Bigints(positions)}))


@dataclass(frozen=True, slots=True)
class UnchangedDelivery:
    """A mail that a decision did not change, and what may prevent it by the database's clock."""

    position: int
    state: State
    settled_at: datetime | None
    resend_after: datetime | None
    is_leaving: bool  # bytes of its doubtful try may still leave
    is_covered: bool  # a live batch covers it: mails beside it are with the provider
    is_discarded: bool = False


_UNCHANGED: LiteralString = f"""
SELECT d.position, d.state, d.settled_at, d.resend_after,
       coalesce(d.resend_after > clock_timestamp(), false), {sql.covered("d.position")},
       {sql.IS_DISCARDED}
FROM deliveries_delivery d
WHERE d.stream_id = %(stream)s AND d.position = ANY(%(positions)s::bigint[])
ORDER BY d.position
"""


def find_unchanged(stream_id: int, positions: Sequence[int]) -> list[UnchangedDelivery]:
    rows = sql.rows(_UNCHANGED, {"stream": stream_id, "positions": sql.Bigints(positions)})
    return [
        UnchangedDelivery(position, State(state), *columns) for position, state, *columns in rows
    ]
