"""Finds a workspace's transactional mails, newest first, and all its mail to one person.

The first is a page at a time and never unbounded. Positions of transactional mails come from one
sequence, so within a month position is the order of arrival in all streams together; the months
are read one by one, newest first.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import LiteralString

from psycopg import sql as pg

from postledger.deliveries.ledger import sql
from postledger.deliveries.states import State
from postledger.lib import ids
from postledger.lib.ids import DeliveryId

# The most deliveries of a month that are read for one page.
MOST_READ = 5_000
_MOST_MONTHS = 12
# A statement takes its time first and its positions later: the two orders differ a little.
_SLACK = timedelta(minutes=1)
_FIRST = datetime(ids.EPOCH_YEAR, 2, 1, tzinfo=UTC)
_END = 1 << 62


@dataclass(frozen=True, slots=True)
class MailFilters:
    """The mails to find; None filters nothing."""

    address: str | None = None
    tag: str | None = None
    state: State | None = None
    message_id: str | None = None  # the provider's
    since: datetime | None = None
    until: datetime | None = None  # not included
    only_tests: bool = False  # mail of test keys


@dataclass(frozen=True, slots=True)
class MailCursor:
    """Where the next page goes on: below this position of this month."""

    month: int
    position: int


@dataclass(frozen=True, slots=True)
class MailSummary:
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
class MailPage:
    """Some mails; with a cursor there may be more, even if this page has none."""

    mails: Sequence[MailSummary]
    after: MailCursor | None


def search(
    workspace_id: int,
    filters: MailFilters,
    *,
    limit: int,
    now: datetime,
    after: MailCursor | None = None,
) -> MailPage:
    """One page: up to `limit` mails of one month, and where to go on."""
    filters = _within_reach(filters, now)
    oldest = ids.month_of(filters.since or _FIRST)
    cursor = after or MailCursor(ids.month_of((filters.until or now) + _SLACK), _END)
    mails: Sequence[MailSummary] = ()
    for _ in range(_MOST_MONTHS):
        streams = _streams(workspace_id, cursor.month, only_tests=filters.only_tests)
        month = ids.month_of_stream(max(streams, default=0))
        if month < oldest:
            return MailPage(mails, None)
        if mails:
            return MailPage(mails, MailCursor(month, _END))
        below = cursor.position if month == cursor.month else _END
        page = _page(streams, filters, month=month, below=below, limit=limit)
        if page.after is not None:
            return page
        mails = page.mails
        cursor = MailCursor(month - 1, _END)
    return MailPage(mails, cursor)


def _within_reach(filters: MailFilters, now: datetime) -> MailFilters:
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
      AND (is_test OR NOT %(only_tests)s)
    ORDER BY id DESC LIMIT 1
) AS newest
JOIN deliveries_stream s
  ON s.workspace_id = %(workspace)s AND s.kind = 'transactional'
 AND s.id >= newest.id >> 32 << 32 AND s.id <= newest.id
 AND (s.is_test OR NOT %(only_tests)s)
"""


def _streams(workspace_id: int, month: int, *, only_tests: bool) -> list[int]:
    params = {
        "workspace": workspace_id,
        "end": ids.first_stream_of(month + 1),
        "only_tests": only_tests,
    }
    return [id_ for (id_,) in sql.rows(_STREAMS, params)]


_ALL: LiteralString = """
SELECT d.stream_id, d.position FROM deliveries_delivery d
WHERE d.stream_id = span.id AND d.position >= span.lo AND d.position < span.hi
ORDER BY d.position DESC LIMIT %(most)s
"""
_BY_WORD: LiteralString = """
SELECT w.stream_id, w.position FROM deliveries_word w
WHERE w.stream_id = span.id AND w.word = %(word)s
  AND w.position >= span.lo AND w.position < span.hi
ORDER BY w.position DESC LIMIT %(most)s
"""
# Two tries of one mail may have one id, at a provider that gives none of its own.
_BY_MESSAGE: LiteralString = """
SELECT DISTINCT m.stream_id, m.position FROM deliveries_providermessage m
WHERE m.stream_id = span.id AND m.message_id = %(message)s
  AND m.position >= span.lo AND m.position < span.hi
ORDER BY m.position DESC LIMIT %(most)s
"""
# The LIMIT 1 keeps the planner from reading whole tables where it needs a few rows by key.
_PAGE = """
WITH near AS MATERIALIZED (
    SELECT source.stream_id, source.position
    FROM unnest(%(streams)s::bigint[], %(los)s::bigint[], %(his)s::bigint[]) AS span (id, lo, hi)
    CROSS JOIN LATERAL ({source}) AS source
    ORDER BY source.position DESC LIMIT %(most)s
), mail AS (
    SELECT d.* FROM near CROSS JOIN LATERAL (
        SELECT d.stream_id, d.position, d.address, d.state, delivery_status(d.state, d.last_try),
               d.code, d.attempts, d.planned_at, d.settled_at
        FROM deliveries_delivery d
        WHERE d.stream_id = near.stream_id AND d.position = near.position LIMIT 1
    ) AS d
    WHERE (%(state)s::text IS NULL OR d.state = %(state)s)
      AND d.planned_at >= %(since)s AND d.planned_at < %(until)s
      AND NOT EXISTS (
          SELECT FROM unnest(%(others)s::text[]) AS other (word) WHERE NOT EXISTS (
              SELECT FROM deliveries_word t
              WHERE t.stream_id = d.stream_id AND t.word = other.word AND t.position = d.position
          )
      )
    ORDER BY d.position DESC LIMIT %(limit)s
)
SELECT scope.count, scope.lowest, mail.*, b.subject, b.tags, b.request_id
FROM (SELECT count(*), min(position) AS lowest FROM near) AS scope
LEFT JOIN mail ON true
LEFT JOIN LATERAL (
    SELECT b.subject, b.tags, b.request_id FROM deliveries_body b
    WHERE b.stream_id = mail.stream_id AND b.position = mail.position LIMIT 1
) AS b ON true
ORDER BY mail.position DESC
"""


def _page(
    streams: Sequence[int], filters: MailFilters, *, month: int, below: int, limit: int
) -> MailPage:
    words = [f"to:{filters.address.lower()}"] if filters.address else []
    words += [f"tag:{filters.tag}"] if filters.tag else []
    source, others = (_BY_WORD, words[1:]) if words else (_ALL, words)
    if filters.message_id:
        source, others = _BY_MESSAGE, words
    is_filtered = others or filters.state or filters.since or filters.until
    # One more than asked for tells whether there are more.
    most = max(limit + 1, MOST_READ // len(streams)) if is_filtered else limit + 1
    statement = pg.SQL(_PAGE).format(source=pg.SQL(source))
    params = {
        **_spans(streams, filters, below),
        "word": words[0] if words else None,
        "message": filters.message_id,
        "others": sql.Texts(others),
        "state": filters.state.value if filters.state else None,
        "since": filters.since or datetime.min.replace(tzinfo=UTC),
        "until": filters.until or datetime.max.replace(tzinfo=UTC),
        "most": most,
        "limit": limit + 1,
    }
    rows = sql.rows(statement, params)
    count, lowest = rows[0][:2]
    mails = [_mail(row[2:]) for row in rows if row[2] is not None]
    if len(mails) > limit:
        return MailPage(mails[:limit], MailCursor(month, mails[limit - 1].position))
    return MailPage(mails, MailCursor(month, lowest) if count == most else None)


def _mail(row: sql.Row) -> MailSummary:
    *columns, subject, tags, request_id = row
    row = (*columns, subject or "", tags or (), request_id or "")
    return MailSummary(*sql.convert(row, {3: State}))


def _spans(streams: Sequence[int], filters: MailFilters, below: int) -> dict[str, object]:
    """The range of positions in each stream that has all mails of the filters' time."""
    los = first_since(streams, filters.since - _SLACK) if filters.since else [0] * len(streams)
    his = [below] * len(streams)
    if filters.until:
        ends = first_since(streams, filters.until + _SLACK)
        his = [min(below, end) for end in ends]
    return {"streams": sql.Bigints(streams), "los": sql.Bigints(los), "his": sql.Bigints(his)}


# Halves the positions until it has the first delivery of the time: some thirty reads by key.
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


def first_since(streams: Sequence[int], moment: datetime) -> list[int]:
    """The position of the first delivery of each stream that was planned at a moment or later."""
    params = {"streams": sql.Bigints(streams), "moment": moment}
    return [position for (position,) in sql.rows(_FIRST_SINCE, params)]


@dataclass(frozen=True, slots=True)
class PersonalMail:
    """One mail to a person, as an export of their data shows it."""

    id: str
    address: str
    about: str  # the stream's title
    state: str
    planned_at: datetime
    settled_at: datetime | None
    subject: str
    text: str
    variables: Mapping[str, object] | None
    # Of mail to many: the digest of its letter, and the list that its reader may leave.
    letter: str
    list_key: str


# As in erasing, no index leads from a contact to its mail. The body that many mails share is
# at `ledger.shared_position`.
_TO_PERSON: LiteralString = """
SELECT d.stream_id, d.position, d.address, s.title, d.state, d.planned_at, d.settled_at,
       coalesce(b.subject, ''), coalesce(b.text, ''), d.variables, coalesce(b.letter, ''),
       coalesce(b.list_key, '')
FROM deliveries_stream s
JOIN deliveries_delivery d ON d.stream_id = s.id
LEFT JOIN LATERAL (
    SELECT subject, CASE WHEN secret_until IS NULL THEN text ELSE '' END AS text, letter, list_key
    FROM deliveries_body
    WHERE stream_id = d.stream_id AND position IN (d.position, -1 - d.letter)
    ORDER BY position LIMIT 1
) AS b ON true
WHERE s.workspace_id = %(workspace)s
  AND (d.contact_id = ANY(%(contacts)s::bigint[]) OR lower(d.address) = lower(%(address)s))
ORDER BY d.planned_at, d.stream_id, d.position
"""


def find_mail_to_person(
    workspace_id: int, *, address: str, contact_ids: Sequence[int]
) -> list[PersonalMail]:
    """Every mail to an address, or to these contacts under an earlier one."""
    params = {"workspace": workspace_id, "address": address, "contacts": sql.Bigints(contact_ids)}
    rows = sql.rows(_TO_PERSON, params)
    return [PersonalMail(DeliveryId(stream, at).text(), *columns) for stream, at, *columns in rows]
