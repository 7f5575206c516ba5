"""Reads the ledger's mail in two orders that keys serve: single mails, and the mail of runs.

Positions of single mails come from one sequence, so position alone is their order of arrival. Mail
of runs is in the order of streams and of positions in them. Each order is read a page at a time
from a key on, in both directions, and never more than some thousand rows for one page.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import LiteralString

from psycopg import sql as pg

from postledger.deliveries import search
from postledger.deliveries.entries import StreamKind
from postledger.deliveries.ledger import sql
from postledger.deliveries.states import State
from postledger.lib.ids import DeliveryId

# The most deliveries that are read for a page of which a state or a time is asked.
MOST_READ = 5_000
# The order of positions and that of times differ a little.
_SLACK = timedelta(minutes=1)
_START = datetime.min.replace(tzinfo=UTC)
_END = datetime.max.replace(tzinfo=UTC)

type Key = tuple[int, int]  # a stream, and a position in it; of single mails the stream is 0
LAST: Key = (1 << 62, 1 << 62)


@dataclass(frozen=True, slots=True)
class MessageFilters:
    """The mails to find; None filters nothing."""

    address: str | None = None
    message_id: str | None = None  # the provider's
    stream_ids: Sequence[int] | None = None  # such as the runs of a campaign
    state: State | None = None
    since: datetime | None = None  # when it was planned
    until: datetime | None = None  # not included
    sender_id: int | None = None
    kind: StreamKind | None = None

    @property
    def is_selective(self) -> bool:
        """Whether an index leads to the mails, however many streams are searched."""
        return self.address is not None or self.message_id is not None


@dataclass(frozen=True, slots=True)
class Message:
    """One mail of a page."""

    stream_id: int
    position: int
    address: str
    state: State
    code: str | None
    attempts: int
    last_try: int
    planned_at: datetime
    settled_at: datetime | None
    subject: str  # of a run: of its letter, with its placeholders
    stream_title: str
    kind: StreamKind
    sender_id: int
    contact_id: int | None

    @property
    def id(self) -> str:
        return DeliveryId(self.stream_id, self.position).text()

    @property
    def key(self) -> Key:
        is_single = self.kind is StreamKind.TRANSACTIONAL
        return (0 if is_single else self.stream_id, self.position)


@dataclass(frozen=True, slots=True)
class Read:
    """The mails of one order from a key on; `end` is how far it was read, None: to its end."""

    messages: Sequence[Message]
    end: Key | None


# Candidates of one stream; {up} is DESC towards older mail, and ASC towards newer.
_ALL: LiteralString = """
SELECT d.position FROM deliveries_delivery d
WHERE d.stream_id = span.id AND d.position >= span.lo AND d.position < span.hi
ORDER BY d.position {up} LIMIT %(most)s
"""
# Every state but waiting, accepted and cancelled has an attempt that led to it.
_TRIED: LiteralString = """
SELECT DISTINCT a.position FROM deliveries_attempt a
WHERE a.stream_id = span.id AND a.position >= span.lo AND a.position < span.hi
ORDER BY a.position {up} LIMIT %(most)s
"""
_WAITING: LiteralString = """
SELECT d.position
FROM (
    SELECT lo, hi FROM deliveries_batch
    WHERE stream_id = span.id AND lo < span.hi AND hi > span.lo ORDER BY lo {up} LIMIT %(most)s
) AS b
CROSS JOIN LATERAL (
    SELECT position FROM deliveries_delivery
    WHERE stream_id = span.id AND position >= greatest(b.lo, span.lo)
      AND position < least(b.hi, span.hi) AND state = 'waiting'
    ORDER BY position {up} LIMIT %(most)s
) AS d
LIMIT %(most)s
"""
_BY_WORD: LiteralString = """
SELECT w.position FROM deliveries_word w
WHERE w.stream_id = span.id AND w.word = 'to:' || %(address)s
  AND w.position >= span.lo AND w.position < span.hi
ORDER BY w.position {up} LIMIT %(most)s
"""
_BY_KEY: LiteralString = """
SELECT d.position FROM deliveries_delivery d
WHERE d.dedupe_key = %(address)s AND d.stream_id = span.id
  AND d.position >= span.lo AND d.position < span.hi LIMIT 1
"""
_BY_MESSAGE: LiteralString = """
SELECT DISTINCT m.position FROM deliveries_providermessage m
WHERE m.message_id = %(message)s AND m.stream_id = span.id
  AND m.position >= span.lo AND m.position < span.hi
ORDER BY m.position {up} LIMIT %(most)s
"""
# The LIMIT 1 keeps the planner from reading whole tables where it needs a few rows by key.
_PAGE: LiteralString = """
WITH near AS MATERIALIZED (
    SELECT span.id AS stream_id, source.position
    FROM unnest(%(streams)s::bigint[], %(los)s::bigint[], %(his)s::bigint[]) AS span (id, lo, hi)
    CROSS JOIN LATERAL ({source}) AS source
    ORDER BY {order} LIMIT %(most)s
), mail AS (
    SELECT d.* FROM near CROSS JOIN LATERAL (
        SELECT d.stream_id, d.position, d.address, d.state, d.code, d.attempts, d.last_try,
               d.planned_at, d.settled_at, d.letter, d.contact_id
        FROM deliveries_delivery d
        WHERE d.stream_id = near.stream_id AND d.position = near.position LIMIT 1
    ) AS d
    WHERE (%(state)s::text IS NULL OR d.state = %(state)s)
      AND d.planned_at >= %(since)s AND d.planned_at < %(until)s
    ORDER BY {order} LIMIT %(limit)s
)
SELECT scope.count, last.stream_id, last.position,
       mail.stream_id, mail.position, mail.address, mail.state, mail.code, mail.attempts,
       mail.last_try, mail.planned_at, mail.settled_at, coalesce(b.subject, ''),
       s.title, s.kind, s.sender_id, mail.contact_id
FROM (SELECT count(*) FROM near) AS scope
LEFT JOIN LATERAL (SELECT * FROM near ORDER BY {back} LIMIT 1) AS last ON true
LEFT JOIN mail ON true
LEFT JOIN deliveries_stream s ON s.id = mail.stream_id
LEFT JOIN LATERAL (
    SELECT b.subject FROM deliveries_body b
    WHERE b.stream_id = mail.stream_id AND b.position IN (mail.position, -1 - mail.letter)
    ORDER BY b.position LIMIT 1
) AS b ON true
ORDER BY {shown}
"""


def read_messages(  # noqa: PLR0913  the parts of a query, each by its name
    stream_ids: Sequence[int],
    filters: MessageFilters,
    *,
    are_single: bool,
    start: Key,
    limit: int,
    is_newer: bool = False,
) -> Read:
    """Mails of these streams, all single or all of runs: below the key `start`, the newest first;
    with `is_newer` those above it, the oldest first.
    """
    spans = _make_spans(stream_ids, filters, are_single=are_single, start=start, is_newer=is_newer)
    if not spans:
        return Read((), None)
    is_filtered = filters.state or filters.since or filters.until
    most = limit
    if is_filtered:
        most = MOST_READ if filters.is_selective else max(limit, MOST_READ // len(spans))
    params = {
        "streams": sql.Bigints(id_ for id_, _, _ in spans),
        "los": sql.Bigints(lo for _, lo, _ in spans),
        "his": sql.Bigints(hi for _, _, hi in spans),
        "address": filters.address.lower() if filters.address else None,
        "message": filters.message_id,
        "state": filters.state.value if filters.state else None,
        "since": filters.since or _START,
        "until": filters.until or _END,
        "most": most,
        "limit": limit,
    }
    rows = sql.rows(_statement(filters, are_single=are_single, is_newer=is_newer), params)
    count, *end = rows[0][:3]
    messages = [_message(row[3:]) for row in rows if row[3] is not None]
    if len(messages) == limit:
        return Read(messages, messages[-1].key)
    return Read(messages, (0 if are_single else end[0], end[1]) if count == most else None)


def _statement(filters: MessageFilters, *, are_single: bool, is_newer: bool) -> pg.Composed:
    up, down = ("ASC", "DESC") if is_newer else ("DESC", "ASC")
    columns = ("position",) if are_single else ("stream_id", "position")
    source = pg.SQL(_source(filters, are_single=are_single)).format(up=pg.SQL(up))
    return pg.SQL(_PAGE).format(
        source=source,
        order=_order(columns, up),
        back=_order(columns, down),
        shown=_order([f"mail.{column}" for column in columns], up),
    )


def _order(columns: Sequence[str], direction: str) -> pg.Composable:
    return pg.SQL(", ".join(f"{column} {direction}" for column in columns))


def _source(filters: MessageFilters, *, are_single: bool) -> LiteralString:
    if filters.message_id is not None:
        return _BY_MESSAGE
    if filters.address is not None:
        return _BY_WORD if are_single else _BY_KEY
    match filters.state:
        case None | State.ACCEPTED | State.CANCELLED:
            return _ALL
        case State.WAITING:
            return _WAITING
        case _:
            return _TRIED


def _message(row: sql.Row) -> Message:
    return Message(*sql.convert(row, {3: State, 11: StreamKind}))


type _Span = tuple[int, int, int]

# Where the last part of each run begins, if nobody has taken it yet: nothing in it was handed over,
# and it may have millions of mails. Batches that follow one another without a gap are one part.
_TRIED_TO: LiteralString = """
SELECT s.id, max(untaken.lo) FILTER (WHERE untaken.before IS DISTINCT FROM untaken.lo)
FROM (
    SELECT stream_id, lo, hi, lag(hi) OVER (PARTITION BY stream_id ORDER BY lo) AS before
    FROM deliveries_batch
    WHERE stream_id = ANY(%(streams)s::bigint[]) AND try_number = 1 AND lease IS NULL
) AS untaken
JOIN deliveries_stream s ON s.id = untaken.stream_id
GROUP BY s.id HAVING max(untaken.hi) = s.next_position
"""


def _make_spans(
    stream_ids: Sequence[int],
    filters: MessageFilters,
    *,
    are_single: bool,
    start: Key,
    is_newer: bool,
) -> list[_Span]:
    """The positions of each stream that are on this side of the key and may be of the time."""
    spans = [
        span
        for id_ in stream_ids
        if (span := _cut(id_, 0 if are_single else id_, start, is_newer=is_newer)) is not None
    ]
    if filters.is_selective or not spans:
        return spans
    ids_ = [id_ for id_, _, _ in spans]
    if filters.state is State.ACCEPTED and not are_single:
        ends: dict[int, int] = dict(sql.rows(_TRIED_TO, {"streams": sql.Bigints(ids_)}))
        spans = [(id_, lo, min(hi, ends.get(id_, hi))) for id_, lo, hi in spans]
    if filters.since is not None:
        firsts = search.first_since(ids_, filters.since - _SLACK)
        spans = [
            (id_, max(lo, first), hi) for (id_, lo, hi), first in zip(spans, firsts, strict=True)
        ]
    if filters.until is not None:
        firsts = search.first_since(ids_, filters.until + _SLACK)
        spans = [
            (id_, lo, min(hi, first)) for (id_, lo, hi), first in zip(spans, firsts, strict=True)
        ]
    return [(id_, lo, hi) for id_, lo, hi in spans if lo < hi]


def _cut(id_: int, stream: int, start: Key, *, is_newer: bool) -> _Span | None:
    edge, position = start
    if stream == edge:
        return (id_, position + 1, LAST[1]) if is_newer else (id_, 0, position)
    is_beyond = stream > edge if is_newer else stream < edge
    return (id_, 0, LAST[1]) if is_beyond else None
