"""Finds a workspace's transactional mails, newest first, a page at a time and never unbounded.

Their positions come from one sequence, so within a month position is the order of arrival in all
streams together; the months are read one by one, newest first.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import LiteralString

from psycopg import sql as pg

from postledger.deliveries.ledger import sql
from postledger.deliveries.states import State
from postledger.lib import ids

# The most lines of a month that one page looks at for those it is asked for.
MOST_LOOKED_AT = 5_000
_MOST_MONTHS = 12
# A statement takes its time first and its positions later: the two orders differ a little.
_SLACK = timedelta(minutes=1)
_FIRST = datetime(ids.EPOCH_YEAR, 2, 1, tzinfo=UTC)
_END = 1 << 62


@dataclass(frozen=True, slots=True)
class Filters:
    """What to look for; None leaves a question out."""

    address: str | None = None
    tag: str | None = None
    state: State | None = None
    since: datetime | None = None
    until: datetime | None = None  # not included


@dataclass(frozen=True, slots=True)
class Cursor:
    """Where the next page goes on: below this position of this month."""

    month: int
    position: int


@dataclass(frozen=True, slots=True)
class Mail:
    """One mail of a page."""

    stream_id: int
    position: int
    address: str
    state: State
    status: str
    code: str | None
    attempts: int
    planned_at: datetime
    settled_at: datetime | None
    subject: str
    tags: Sequence[str]
    request_id: str


@dataclass(frozen=True, slots=True)
class Page:
    """Some mails; with a cursor there may be more, even if this page has none."""

    mails: Sequence[Mail]
    after: Cursor | None


def search(
    workspace_id: int, filters: Filters, *, limit: int, now: datetime, after: Cursor | None = None
) -> Page:
    """One page: up to `limit` mails of one month, and where to go on."""
    filters = _within_reach(filters, now)
    oldest = ids.month_of(filters.since or _FIRST)
    cursor = after or Cursor(ids.month_of((filters.until or now) + _SLACK), _END)
    mails: Sequence[Mail] = ()
    for _ in range(_MOST_MONTHS):
        streams = _streams(workspace_id, cursor.month)
        month = ids.month_of_stream(max(streams, default=0))
        if month < oldest:
            return Page(mails, None)
        if mails:
            return Page(mails, Cursor(month, _END))
        below = cursor.position if month == cursor.month else _END
        page = _page(streams, filters, month=month, below=below, limit=limit)
        if page.after is not None:
            return page
        mails = page.mails
        cursor = Cursor(month - 1, _END)
    return Page(mails, cursor)


def _within_reach(filters: Filters, now: datetime) -> Filters:
    """The same filters without the times before the first mail and after the last."""
    return replace(
        filters,
        since=filters.since and max(filters.since, _FIRST),
        until=filters.until and min(filters.until, now + _SLACK),
    )


# The streams of the newest month, up to a given one, that the workspace has mail of.
_STREAMS: LiteralString = """
SELECT s.id
FROM (
    SELECT id FROM deliveries_stream
    WHERE workspace_id = %(workspace)s AND id < %(end)s AND kind = 'transactional'
    ORDER BY id DESC LIMIT 1
) AS newest
JOIN deliveries_stream s
  ON s.workspace_id = %(workspace)s AND s.kind = 'transactional'
 AND s.id >= newest.id >> 32 << 32 AND s.id <= newest.id
"""


def _streams(workspace_id: int, month: int) -> list[int]:
    params = {"workspace": workspace_id, "end": ids.first_stream_of(month + 1)}
    return [id_ for (id_,) in sql.rows(_STREAMS, params)]


_ALL: LiteralString = """
SELECT d.stream_id, d.position FROM deliveries_delivery d
WHERE d.stream_id = span.id AND d.position >= span.lo AND d.position < span.hi
ORDER BY d.position DESC LIMIT %(look)s
"""
_BY_WORD: LiteralString = """
SELECT w.stream_id, w.position FROM deliveries_word w
WHERE w.stream_id = span.id AND w.word = %(word)s
  AND w.position >= span.lo AND w.position < span.hi
ORDER BY w.position DESC LIMIT %(look)s
"""
# The LIMIT 1 keeps the planner from reading whole tables where a few rows are asked for by key.
_PAGE = """
WITH looked AS MATERIALIZED (
    SELECT near.stream_id, near.position
    FROM unnest(%(streams)s::bigint[], %(los)s::bigint[], %(his)s::bigint[]) AS span (id, lo, hi)
    CROSS JOIN LATERAL ({source}) AS near
    ORDER BY near.position DESC LIMIT %(look)s
), mail AS (
    SELECT d.* FROM looked CROSS JOIN LATERAL (
        SELECT d.stream_id, d.position, d.address, d.state, delivery_status(d.state, d.last_try),
               d.code, d.attempts, d.planned_at, d.settled_at
        FROM deliveries_delivery d
        WHERE d.stream_id = looked.stream_id AND d.position = looked.position LIMIT 1
    ) AS d
    WHERE (%(state)s::text IS NULL OR d.state = %(state)s)
      AND d.planned_at >= %(since)s AND d.planned_at < %(until)s
      AND (%(tag)s::text IS NULL OR EXISTS (
          SELECT FROM deliveries_word t
          WHERE t.stream_id = d.stream_id AND t.word = %(tag)s AND t.position = d.position
      ))
    ORDER BY d.position DESC LIMIT %(limit)s
)
SELECT scope.count, scope.lowest, mail.*, b.subject, b.tags, b.request_id
FROM (SELECT count(*), min(position) AS lowest FROM looked) AS scope
LEFT JOIN mail ON true
LEFT JOIN LATERAL (
    SELECT b.subject, b.tags, b.request_id FROM deliveries_body b
    WHERE b.stream_id = mail.stream_id AND b.position = mail.position LIMIT 1
) AS b ON true
ORDER BY mail.position DESC
"""


def _page(streams: Sequence[int], filters: Filters, *, month: int, below: int, limit: int) -> Page:
    words = [f"to:{filters.address.lower()}"] if filters.address else []
    words += [f"tag:{filters.tag}"] if filters.tag else []
    is_filtered = len(words) > 1 or filters.state or filters.since or filters.until
    # One more than asked for tells whether there are more.
    look = max(limit + 1, MOST_LOOKED_AT // len(streams)) if is_filtered else limit + 1
    statement = pg.SQL(_PAGE).format(source=pg.SQL(_BY_WORD if words else _ALL))
    params = {
        **_spans(streams, filters, below),
        "word": words[0] if words else None,
        "tag": words[1] if len(words) > 1 else None,
        "state": filters.state.value if filters.state else None,
        "since": filters.since or datetime.min.replace(tzinfo=UTC),
        "until": filters.until or datetime.max.replace(tzinfo=UTC),
        "look": look,
        "limit": limit + 1,
    }
    found = sql.rows(statement, params)
    count, lowest = found[0][:2]
    mails = [_mail(row[2:]) for row in found if row[2] is not None]
    if len(mails) > limit:
        return Page(mails[:limit], Cursor(month, mails[limit - 1].position))
    return Page(mails, Cursor(month, lowest) if count == look else None)


def _mail(row: sql.Row) -> Mail:
    stream_id, position, address, state, *line, subject, tags, request_id = row
    facts: sql.Row = (*line, subject or "", tags or (), request_id or "")
    return Mail(stream_id, position, address, State(state), *facts)


def _spans(streams: Sequence[int], filters: Filters, below: int) -> dict[str, object]:
    """The positions of each stream in which the mails of the time asked for must lie."""
    los = _first_since(streams, filters.since - _SLACK) if filters.since else [0] * len(streams)
    his = [below] * len(streams)
    if filters.until:
        ends = _first_since(streams, filters.until + _SLACK)
        his = [min(below, end) for end in ends]
    return {"streams": sql.Bigints(streams), "los": sql.Bigints(los), "his": sql.Bigints(his)}


# Halves the positions until the first line of the time is found: some thirty reads by key.
_FIRST_SINCE: LiteralString = """
WITH RECURSIVE halving (n, stream_id, lo, hi) AS (
    SELECT given.n, given.id,
        coalesce((SELECT min(position) FROM deliveries_delivery WHERE stream_id = given.id), 0),
        coalesce((SELECT max(position) + 1 FROM deliveries_delivery WHERE stream_id = given.id), 0)
    FROM unnest(%(streams)s::bigint[]) WITH ORDINALITY AS given (id, n)
    UNION ALL
    SELECT n, stream_id,
           CASE WHEN probe.planned_at < %(moment)s THEN probe.position + 1 ELSE lo END,
           CASE WHEN probe.planned_at < %(moment)s THEN hi ELSE (lo + hi) / 2 END
    FROM halving LEFT JOIN LATERAL (
        SELECT d.position, d.planned_at FROM deliveries_delivery d
        WHERE d.stream_id = halving.stream_id
          AND d.position >= (halving.lo + halving.hi) / 2 AND d.position < halving.hi
        ORDER BY d.position LIMIT 1
    ) AS probe ON true
    WHERE lo < hi
)
SELECT max(lo) FROM halving GROUP BY n ORDER BY n
"""


def _first_since(streams: Sequence[int], moment: datetime) -> list[int]:
    params = {"streams": sql.Bigints(streams), "moment": moment}
    return [position for (position,) in sql.rows(_FIRST_SINCE, params)]
