"""The facts about streams: their books, holds and waits, and the fence."""

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, LiteralString

from postledger.deliveries import causes
from postledger.deliveries.entries import Hold, HoldScope, StreamKind
from postledger.deliveries.ledger import books, sql
from postledger.deliveries.reasons import Reason
from postledger.deliveries.states import State


@dataclass(frozen=True, slots=True)
class StreamFacts:
    id: int
    workspace_id: int
    sender_id: int
    kind: StreamKind
    title: str
    is_test: bool
    created_at: datetime
    cancelled_at: datetime | None
    cancelled_by: str | None
    holds: tuple[Hold, ...]  # the causes in force, in the order of `causes`
    fenced_since: datetime | None = None
    block_code: str | None = None  # of its sender's block when it was cancelled
    is_trial: bool = False  # what is reported of its mails changes no contact
    member_id: int | None = None  # who launched it, where a person did
    # Hours of each recipient's own day, in the stored form; outside them its mail waits.
    delivery_window: Mapping[str, Any] | None = None


# While one mail tries its provider, a sender is held until its answer, at the latest until then.
_SENDER_CAUSES: LiteralString = """
SELECT reason, since,
       CASE WHEN until <= statement_timestamp() THEN probe_until ELSE until END AS until,
       actor, detail, CASE WHEN is_account THEN 'account' ELSE 'sender' END AS scope,
       code, fails_at, sender_id
FROM deliveries_senderhold
WHERE until IS NULL OR until > statement_timestamp() OR probe_until > statement_timestamp()
"""
# A stream without a cause has one row, and one with several a row for each.
_FACTS: LiteralString = f"""
SELECT s.id, s.workspace_id, s.sender_id, s.kind, s.title, s.is_test, s.created_at,
       s.cancelled_at, s.cancelled_by,
       h.reason, h.since, h.until, h.actor, h.detail, h.scope, h.code, h.fails_at,
       CASE WHEN s.lifted_epoch IS DISTINCT FROM e.number
             AND CASE s.kind WHEN 'campaign' THEN e.campaigns_lifted_at ELSE e.lifted_at END
                 IS NULL
            THEN e.began_at END,
       s.block_code, s.is_trial, s.member_id, s.delivery_window
FROM deliveries_stream s
LEFT JOIN deliveries_epoch e ON e.number = (SELECT max(number) FROM deliveries_epoch)
LEFT JOIN LATERAL (
    SELECT reason, since, until, actor, detail, scope, code, fails_at
    FROM ({_SENDER_CAUSES}) AS of_sender WHERE sender_id = s.sender_id
    UNION ALL
    SELECT reason, since, until, actor, detail, 'stream', NULL, NULL FROM deliveries_streamhold
    WHERE stream_id = s.id AND (until IS NULL OR until > statement_timestamp())
) AS h ON true
"""
_BY_ID: LiteralString = f"{_FACTS} WHERE s.id = ANY(%(ids)s::bigint[])"
_NEWEST: LiteralString = """
SELECT id FROM deliveries_stream
WHERE %(workspace)s::bigint IS NULL OR workspace_id = %(workspace)s
ORDER BY id DESC LIMIT %(limit)s
"""


def find_stream(stream_id: int) -> StreamFacts | None:
    return find_streams([stream_id]).get(stream_id)


def find_streams(stream_ids: Sequence[int]) -> dict[int, StreamFacts]:
    """The facts of some streams, by their ids."""
    rows_by_id: defaultdict[int, list[sql.Row]] = defaultdict(list)
    for row in sql.rows(_BY_ID, {"ids": sql.Bigints(stream_ids)}):
        rows_by_id[row[0]].append(row)
    return {id_: _stream(rows) for id_, rows in rows_by_id.items()}


def is_cancelled(stream: StreamFacts | None) -> bool:
    """Whether nothing more is sent in it for good; a stream that does not exist counts too."""
    return stream is None or stream.cancelled_at is not None


def list_streams(*, workspace_id: int | None = None, limit: int = 50) -> list[StreamFacts]:
    """The newest streams, of one workspace or of all."""
    newest = sql.rows(_NEWEST, {"workspace": workspace_id, "limit": limit})
    streams = find_streams([id_ for (id_,) in newest])
    return [streams[id_] for (id_,) in newest]


def _stream(rows: Sequence[sql.Row]) -> StreamFacts:
    holds = causes.sort_causes(_hold(row[9:17]) for row in rows if row[9] is not None)
    columns = (*rows[0][:9], holds, *rows[0][17:])
    return StreamFacts(*sql.convert(columns, {3: StreamKind}))


def _hold(columns: sql.Row) -> Hold:
    return Hold(*sql.convert(columns, {0: Reason, 5: HoldScope}))


_STREAM_IDS: LiteralString = """
SELECT id FROM deliveries_stream
WHERE id > %(after)s AND (%(workspace)s::bigint IS NULL OR workspace_id = %(workspace)s)
ORDER BY id LIMIT %(limit)s
"""


def stream_ids(*, after: int = 0, workspace_id: int | None = None, limit: int = 1000) -> list[int]:
    params = {"after": after, "workspace": workspace_id, "limit": limit}
    return [id_ for (id_,) in sql.rows(_STREAM_IDS, params)]


@dataclass(frozen=True, slots=True)
class ChangedStream:
    id: int
    workspace_id: int
    changed_at: datetime  # when its counters were last folded


_CHANGED: LiteralString = """
SELECT id, workspace_id, coalesce(folded_at, created_at) FROM deliveries_stream
WHERE coalesce(folded_at, created_at) > %(since)s OR id = ANY(%(beside)s::bigint[])
ORDER BY id
"""


def list_changed_streams(*, since: datetime, beside: Collection[int]) -> list[ChangedStream]:
    """The streams that changed since a moment, and those `beside`, changed or not."""
    params = {"since": since, "beside": sql.Bigints(beside)}
    return [ChangedStream(*row) for row in sql.rows(_CHANGED, params)]


_CANCELLED: LiteralString = """
SELECT l.stream_id FROM deliveries_lane l JOIN deliveries_stream s ON s.id = l.stream_id
WHERE s.cancelled_at IS NOT NULL
  AND EXISTS (SELECT FROM deliveries_batch b WHERE b.stream_id = l.stream_id)
"""


def cancelled_with_work() -> list[int]:
    """The cancelled streams that still have batches to drain."""
    return [id_ for (id_,) in sql.rows(_CANCELLED, {})]


_BUSY: LiteralString = """
SELECT DISTINCT s.sender_id FROM deliveries_lane l
JOIN deliveries_stream s ON s.id = l.stream_id
WHERE NOT s.is_test AND EXISTS (SELECT FROM deliveries_batch b WHERE b.stream_id = l.stream_id)
"""


def list_busy_senders() -> list[int]:
    """The senders whose mail waits or is on its way; mail to the sandbox does not count."""
    return [id_ for (id_,) in sql.rows(_BUSY, {})]


_STAYED_BLOCKED: LiteralString = """
SELECT s.id FROM deliveries_senderhold h
JOIN deliveries_stream s ON s.sender_id = h.sender_id
JOIN deliveries_lane l ON l.stream_id = s.id
WHERE h.fails_at <= statement_timestamp() AND EXISTS (
    SELECT FROM deliveries_batch b
    WHERE b.stream_id = s.id AND b.due_at <= statement_timestamp() AND b.lease IS NULL
)
"""


def blocked_with_work() -> list[int]:
    """The streams with due work whose senders stayed blocked for so long that it fails."""
    return [id_ for (id_,) in sql.rows(_STAYED_BLOCKED, {})]


_SENDER_HOLDS: LiteralString = f"""
SELECT * FROM ({_SENDER_CAUSES}) AS h WHERE sender_id = ANY(%(senders)s::bigint[])
"""


def find_sender_holds(sender_ids: Collection[int]) -> dict[int, tuple[Hold, ...]]:
    """The causes in force of the senders that are held, by the senders' ids."""
    holds: defaultdict[int, list[Hold]] = defaultdict(list)
    for *columns, sender_id in sql.rows(_SENDER_HOLDS, {"senders": sql.Bigints(sender_ids)}):
        holds[sender_id].append(_hold(tuple(columns)))
    return {sender_id: causes.sort_causes(held) for sender_id, held in holds.items()}


@dataclass(frozen=True, slots=True)
class WaitSummary:
    """Batches of a stream that wait, or are worked on, for one reason."""

    reason: Reason
    batch_count: int
    position_count: int
    leased_count: int
    next_due_at: datetime
    since: datetime


_WAITS: LiteralString = """
SELECT stream_id, reason, count(*), sum(hi - lo)::bigint, count(lease), min(due_at), min(since)
FROM deliveries_batch WHERE stream_id = ANY(%(streams)s::bigint[])
GROUP BY stream_id, reason ORDER BY count(*) DESC, reason
"""


def summarise_waits(stream_id: int) -> list[WaitSummary]:
    return summarise_all_waits([stream_id])[stream_id]


def summarise_all_waits(stream_ids: Sequence[int]) -> dict[int, list[WaitSummary]]:
    """The waits of some streams, by the streams' ids."""
    waits: dict[int, list[WaitSummary]] = {id_: [] for id_ in stream_ids}
    for stream_id, reason, *columns in sql.rows(_WAITS, {"streams": sql.Bigints(stream_ids)}):
        waits[stream_id].append(WaitSummary(Reason(reason), *columns))
    return waits


@dataclass(frozen=True, slots=True)
class Books:
    """The counters of one stream; what is planned and has no result waits."""

    planned: int
    counts: dict[State, int]

    @property
    def waiting(self) -> int:
        return self.planned - sum(self.counts.values())

    @property
    def states(self) -> dict[State, int]:
        return {State.WAITING: self.waiting, **self.counts}

    @property
    def balances(self) -> bool:
        """Whether the states add up to what is planned."""
        return min(self.states.values()) >= 0


_TOTALS: LiteralString = ", ".join([f"s.{name} + coalesce(d.{name}, 0)" for name in books.COUNTED])
# One statement, one snapshot: a counter on its way from batch to delta to stream counts once.
_BOOKS: LiteralString = f"""
SELECT s.id, s.planned + coalesce(d.planned, 0) + coalesce(b.planned, 0), {_TOTALS}
FROM deliveries_stream s
LEFT JOIN LATERAL (
    SELECT {books.SUMS} FROM deliveries_streamdelta WHERE stream_id = s.id
) AS d ON true
LEFT JOIN LATERAL (
    SELECT sum(planned) AS planned FROM deliveries_batch WHERE stream_id = s.id
) AS b ON true
WHERE s.id = ANY(%(ids)s::bigint[])
"""


def read_books(stream_ids: Sequence[int]) -> dict[int, Books]:
    """The books of some streams, from counters alone: nothing is counted row by row."""
    rows = sql.rows(_BOOKS, {"ids": sql.Bigints(stream_ids)})
    states = [State(name) for name in books.COUNTED]
    return {
        stream_id: Books(int(planned), dict(zip(states, map(int, counts), strict=True)))
        for stream_id, planned, *counts in rows
    }


# Every stream with work is in the rotation.
_OF_SENDERS: LiteralString = """
SELECT s.id, s.sender_id FROM deliveries_lane l JOIN deliveries_stream s ON s.id = l.stream_id
WHERE s.sender_id = ANY(%(senders)s::bigint[]) AND s.cancelled_at IS NULL
"""


def count_waiting(sender_ids: Collection[int]) -> int:
    """How many mails of some senders will still be sent; those of cancelled streams will not."""
    return sum(count_waiting_by_sender(sender_ids).values())


def count_waiting_by_sender(sender_ids: Collection[int]) -> Counter[int]:
    """The same for each of them, in two queries."""
    rows = sql.rows(_OF_SENDERS, {"senders": sql.Bigints(sender_ids)})
    streams: dict[int, int] = dict(rows)
    waiting = Counter[int]()
    for stream_id, books_ in read_books(list(streams)).items():
        waiting[streams[stream_id]] += books_.waiting
    return waiting


@dataclass(frozen=True, slots=True)
class FencedStream:
    id: int
    kind: StreamKind
    title: str
    waiting_count: int
    lost_time_count: int  # in doubt because of the lost time


_FENCED: LiteralString = """
SELECT s.id, s.kind, s.title,
       (SELECT coalesce(sum(b.hi - b.lo), 0)::bigint FROM deliveries_batch b
        WHERE b.stream_id = s.id),
       (SELECT count(*) FROM deliveries_attempt a JOIN deliveries_delivery d
          ON d.stream_id = a.stream_id AND d.position = a.position AND d.state = 'in_doubt'
        WHERE a.stream_id = s.id AND a.outcome = 'lost_time')
FROM deliveries_stream s WHERE s.id = ANY(%(ids)s::bigint[]) ORDER BY s.id
"""


def list_fenced_streams(stream_ids: Sequence[int]) -> list[FencedStream]:
    rows = sql.rows(_FENCED, {"ids": sql.Bigints(stream_ids)})
    return [FencedStream(id_, StreamKind(kind), *columns) for id_, kind, *columns in rows]


def count_unmatched() -> int:
    """How much evidence named no mail that it may act on."""
    return sql.count("SELECT count(*) FROM deliveries_unmatched", {})
