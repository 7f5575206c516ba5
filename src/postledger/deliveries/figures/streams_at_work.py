"""The streams of a workspace that have work: which of them move, and what the others wait for."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import LiteralString

from postledger.deliveries import causes, queries
from postledger.deliveries.entries import Hold, StreamKind
from postledger.deliveries.explanations import why
from postledger.deliveries.explanations.why import Cause
from postledger.deliveries.figures import pace
from postledger.deliveries.ledger import sql
from postledger.deliveries.queries import Books, StreamFacts, WaitSummary
from postledger.deliveries.reasons import Reason


@dataclass(frozen=True, slots=True)
class WaitingMail:
    """Mails of one stream that wait for the same cause."""

    cause: Cause  # what to tell, since when, until when, what moves it, and what a person can do
    mails: int
    hold: Hold | None  # where a hold is the cause: who set it, and on what


@dataclass(frozen=True, slots=True)
class StreamAtWork:
    """One stream that has work, at one moment."""

    stream: StreamFacts
    books: Books
    rate: float | None  # results a second in the last minute; None: it does not move
    ends_at: datetime | None  # at this rate; None: it cannot be predicted, or is never at an end
    next_in_line: int  # mails that the next free worker takes
    waiting: Sequence[WaitingMail]  # the others

    @property
    def is_moving(self) -> bool:
        return self.rate is not None


@dataclass(frozen=True, slots=True)
class WorkspaceWork:
    """All streams of a workspace with work; `now` is the moment of the figures."""

    now: datetime
    streams: Sequence[StreamAtWork]  # the newest first
    # Of the mail that a worker could take now. The queue of a campaign that moves is left out: its
    # mail waits for its turn.
    oldest_due_at: datetime | None

    @property
    def moving(self) -> list[StreamAtWork]:
        return [one for one in self.streams if one.is_moving]

    @property
    def kept_back(self) -> list[StreamAtWork]:
        return [one for one in self.streams if one.waiting]

    @property
    def waiting(self) -> int:
        return sum(one.books.waiting for one in self.streams)

    @property
    def next_in_line(self) -> int:
        return sum(one.next_in_line for one in self.streams)

    @property
    def ends_at(self) -> datetime | None:
        """When all that moves and has an end will have ended at this pace."""
        return max((one.ends_at for one in self.moving if one.ends_at), default=None)


@dataclass(frozen=True, slots=True)
class _Waits:
    """The live batches of one stream and reason, split into those that are due and the others."""

    summary: WaitSummary
    is_due: bool
    oldest_free_at: datetime | None  # when the oldest that nobody leases became due


_LIVE: LiteralString = """
SELECT b.stream_id, b.due_at <= %(now)s, min(b.due_at) FILTER (WHERE b.lease IS NULL),
       b.reason, count(*), sum(b.hi - b.lo)::bigint, count(b.lease), min(b.due_at), min(b.since)
FROM deliveries_lane l
JOIN deliveries_stream s ON s.id = l.stream_id
JOIN deliveries_batch b ON b.stream_id = s.id
WHERE s.workspace_id = %(workspace)s AND NOT s.is_test AND s.cancelled_at IS NULL
GROUP BY b.stream_id, b.due_at <= %(now)s, b.reason ORDER BY b.stream_id, count(*) DESC
"""


def read_work(workspace_id: int, *, now: datetime) -> WorkspaceWork:
    """What is moving in a workspace, and what waits and why; mail of test keys is left out.

    Four queries, whatever the number of streams and mails.
    """
    waits: defaultdict[int, list[_Waits]] = defaultdict(list)
    rows = sql.rows(_LIVE, {"workspace": workspace_id, "now": now})
    for stream_id, is_due, oldest, reason, *columns in rows:
        waits[stream_id].append(_Waits(WaitSummary(Reason(reason), *columns), is_due, oldest))
    facts = queries.find_streams(list(waits))
    books = queries.read_books(list(waits))
    rates = pace.read_rates(list(waits), now=now)
    streams = [
        describe(facts[id_], books[id_], waits[id_], rate=rates.get(id_), now=now)
        for id_ in sorted(facts, reverse=True)
    ]
    return WorkspaceWork(now, streams, min(_list_overdue(streams, waits, now), default=None))


def describe(
    stream: StreamFacts,
    books: Books,
    waits: Sequence[_Waits],
    *,
    rate: float | None,
    now: datetime,
) -> StreamAtWork:
    """One stream with what its mail waits for. Pure."""
    waiting = list(_split(stream, books.waiting, waits, now))
    kept_back = sum(group.mails for group in waiting)
    is_endless = stream.kind is not StreamKind.CAMPAIGN or any(not one.is_due for one in waits)
    ends_at = None
    if rate is not None and not is_endless and not stream.holds:
        ends_at = now + timedelta(seconds=books.waiting / rate)
    return StreamAtWork(
        stream, books, rate, ends_at, max(0, books.waiting - kept_back), tuple(waiting)
    )


def _split(
    stream: StreamFacts, waiting: int, waits: Sequence[_Waits], now: datetime
) -> list[WaitingMail]:
    """All mail of a stream that is held; else what is not due yet, by its reason."""
    holds = causes.sort_in_force(stream.holds, now=now)
    if stream.fenced_since is not None or holds:
        [first, *_] = why.list_stream_causes(stream, [one.summary for one in waits], now=now)
        hold = next((hold for hold in holds if hold.reason == first.code), None)
        return [WaitingMail(first, waiting, hold)]
    groups: list[WaitingMail] = []
    for one in waits:
        if one.is_due:
            continue
        [cause, *_] = why.list_stream_causes(stream, [one.summary], now=now)
        # Positions are an upper bound: some of them may have a result.
        mails = min(one.summary.position_count, waiting - sum(group.mails for group in groups))
        groups.append(WaitingMail(cause, mails, None))
    return groups


def _list_overdue(
    streams: Sequence[StreamAtWork], waits: Mapping[int, Sequence[_Waits]], now: datetime
) -> Iterator[datetime]:
    """When mail became due that a worker could take now."""
    for one in streams:
        is_held = one.stream.fenced_since or causes.sort_in_force(one.stream.holds, now=now)
        is_queue = one.is_moving and one.stream.kind is StreamKind.CAMPAIGN
        if not is_held and not is_queue:
            yield from (
                wait.oldest_free_at
                for wait in waits[one.stream.id]
                if wait.is_due and wait.oldest_free_at is not None
            )
