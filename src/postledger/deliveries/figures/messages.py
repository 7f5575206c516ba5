"""Searches all mail of a workspace: single mails and those of runs, the newest first.

A page goes on where another ended, towards older or newer mail; walking in one direction neither
repeats nor skips a mail, whatever is planned meanwhile.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import groupby
from typing import LiteralString

from postledger.deliveries.entries import StreamKind
from postledger.deliveries.figures import message_sources
from postledger.deliveries.figures.message_sources import (
    LAST,
    Key,
    Message,
    MessageFilters,
    Read,
)
from postledger.deliveries.ledger import sql
from postledger.lib import ids
from postledger.lib.ids import DeliveryId

# Streams of a workspace that one search goes through, and months of an unselective one.
_MOST_STREAMS = 5_000
_MOST_MONTHS = 4
_EARLIEST = datetime(ids.EPOCH_YEAR, 2, 1, tzinfo=UTC)
_LATEST = datetime(9000, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class MessageCursor:
    """A place between two mails: in the order of single mails, and in that of the mail of runs."""

    month: int  # whose streams are read next
    single: Key
    run: Key
    is_newer: bool = False  # which way the page goes

    def encode(self) -> str:
        way = "n" if self.is_newer else "o"
        numbers = (self.month, self.single[1], *self.run)
        return "-".join([way, *(f"{number + 1:x}" for number in numbers)])

    @classmethod
    def decode(cls, text: str) -> "MessageCursor | None":
        """None for a text that `encode` cannot have written."""
        if not _CURSOR.fullmatch(text):
            return None
        way, *parts = text.split("-")
        month, single, stream, position = (min(int(part, 16) - 1, LAST[0]) for part in parts)
        return cls(min(month, _LAST_MONTH), (0, single), (stream, position), is_newer=way == "n")


_CURSOR = re.compile("[no](-[0-9a-f]{1,16}){4}")
_LAST_MONTH = 1 << 16


@dataclass(frozen=True, slots=True)
class MessagePage:
    """Some mails, the newest first; with a cursor there may be more, even if this page has none."""

    messages: Sequence[Message]
    older: MessageCursor | None
    newer: MessageCursor | None


def search_messages(
    workspace_id: int,
    filters: MessageFilters,
    *,
    limit: int = 50,
    cursor: MessageCursor | None = None,
    is_test: bool = False,
) -> MessagePage:
    """One page of a workspace's mail, the newest first; with `is_test` of the mail of test keys.

    An address is found by the keys of runs and by the words of single mails, in two queries however
    large the ledger is. Without an address the months are read one by one, up to four for a page.
    """
    filters = _within_reach(filters)
    start = cursor or MessageCursor(_LAST_MONTH, (0, LAST[1]), LAST)
    streams = _list_streams(workspace_id, filters, start, is_test=is_test)
    is_all = len(streams) < _MOST_STREAMS
    place, messages = start, list[Message]()
    for number, (month, group) in enumerate(_group(streams, filters)):
        place = _enter(place, month)
        is_at_end = False
        if number < _MOST_MONTHS:
            found, place, is_at_end = _read_group(group, filters, place, limit - len(messages))
            messages += found
        if not is_at_end:
            is_all = False
            break
    else:
        place = place if is_all else _pass_streams(place, streams)
    return _make_page(messages, start=start, end=place, is_all=is_all, is_first=cursor is None)


def _within_reach(filters: MessageFilters) -> MessageFilters:
    """The same filters without times that no mail has and no arithmetic bears."""
    return replace(
        filters,
        since=filters.since and min(max(filters.since, _EARLIEST), _LATEST),
        until=filters.until and min(max(filters.until, _EARLIEST), _LATEST),
    )


def _enter(place: MessageCursor, month: int) -> MessageCursor:
    """The place where reading a month begins.

    When a month begins, some processes still use the streams of the last one: single mails of the
    two may have their positions the other way round. So each month is read from its own end.
    """
    if month == place.month:
        return place
    edge = -1 if place.is_newer else LAST[1]
    return replace(place, month=month, single=(0, edge))


def _pass_streams(place: MessageCursor, streams: "_Streams") -> MessageCursor:
    """The place after all these streams, of which there are more; the last may have no mail."""
    id_, is_single = streams[-1]
    if is_single:
        return place
    return replace(place, run=(id_, LAST[1] - 1 if place.is_newer else 0))


def find_message(workspace_id: int, id_: DeliveryId) -> Message | None:
    """The mail with this id, or with the id of one of its tries, if this workspace has it."""
    streams = sql.rows(_STREAM, {"workspace": workspace_id, "stream": id_.stream_id})
    if not streams:
        return None
    is_single = streams[0][0] == StreamKind.TRANSACTIONAL
    start = (0 if is_single else id_.stream_id, id_.position + 1)
    read = message_sources.read_messages(
        [id_.stream_id], MessageFilters(), are_single=is_single, start=start, limit=1
    )
    return next((one for one in read.messages if one.position == id_.position), None)


_STREAM: LiteralString = """
SELECT kind FROM deliveries_stream WHERE id = %(stream)s AND workspace_id = %(workspace)s
"""
# Of one kind of mail an index says which streams have it; single mails are looked for in all. Those
# come first in their month: its runs may be too many for one page, and its single mails are read
# in one order.
_STREAMS: LiteralString = """
SELECT id, kind = 'transactional' FROM deliveries_stream
WHERE workspace_id = %(workspace)s AND is_test = %(is_test)s
  AND (%(ids)s::bigint[] IS NULL OR id = ANY(%(ids)s::bigint[]))
  AND (%(sender)s::bigint IS NULL OR sender_id = %(sender)s)
  AND (%(kind)s::text IS NULL OR kind = %(kind)s)
  AND (%(address)s::text IS NULL OR kind = 'transactional' OR id IN (
      SELECT stream_id FROM deliveries_delivery WHERE dedupe_key = %(address)s
  ))
  AND (%(message)s::text IS NULL OR id IN (
      SELECT stream_id FROM deliveries_providermessage WHERE message_id = %(message)s
  ))
  AND id >= %(first)s AND id < %(end)s
  AND (kind = 'transactional' OR id {side} %(run)s)
  AND created_at < coalesce(%(until)s, 'infinity'::timestamptz)
ORDER BY id >> 32 {up}, kind <> 'transactional', id {up} LIMIT %(most)s
"""
_OLDER: LiteralString = _STREAMS.format(side="<=", up="DESC")
_NEWER: LiteralString = _STREAMS.format(side=">=", up="ASC")

type _Streams = Sequence[tuple[int, bool]]


def _list_streams(
    workspace_id: int, filters: MessageFilters, start: MessageCursor, *, is_test: bool
) -> _Streams:
    """The streams that may have such mail, in the order in which they are read."""
    # A run may be planned in the month after the one in which it was opened.
    first = ids.first_stream_of(ids.month_of(filters.since) - 1) if filters.since else 0
    end = LAST[0]
    if not filters.is_selective:
        if start.is_newer:
            first = max(first, ids.first_stream_of(start.month))
        elif start.month < _LAST_MONTH:
            end = ids.first_stream_of(start.month + 1)
    params = {
        "workspace": workspace_id,
        "is_test": is_test,
        "ids": None if filters.stream_ids is None else sql.Bigints(filters.stream_ids),
        "sender": filters.sender_id,
        "kind": filters.kind and filters.kind.value,
        "address": filters.address.lower() if filters.address else None,
        "message": filters.message_id,
        "first": first,
        "end": end,
        "run": start.run[0],
        "until": filters.until,
        "most": _MOST_STREAMS,
    }
    rows = sql.rows(_NEWER if start.is_newer else _OLDER, params)
    return [(id_, is_single) for id_, is_single in rows]


def _group(streams: _Streams, filters: MessageFilters) -> Iterator[tuple[int, _Streams]]:
    """All of them at once where an index leads to the mails, else month by month."""
    if filters.is_selective:
        yield _LAST_MONTH, streams
        return
    for month, group in groupby(streams, key=lambda stream: ids.month_of_stream(stream[0])):
        yield month, list(group)


def _read_group(
    streams: _Streams, filters: MessageFilters, place: MessageCursor, limit: int
) -> tuple[list[Message], MessageCursor, bool]:
    """Up to `limit` mails in the order of the page, the place after them, and whether the streams
    have no more.
    """
    reads = [
        message_sources.read_messages(
            [id_ for id_, is_single in streams if is_single is are_single],
            filters,
            are_single=are_single,
            start=start,
            limit=limit + 1,  # one more tells whether there are more
            is_newer=place.is_newer,
        )
        for are_single, start in ((True, place.single), (False, place.run))
    ]
    return merge(reads[0], reads[1], place, limit)


def merge(
    singles: Read, of_runs: Read, place: MessageCursor, limit: int
) -> tuple[list[Message], MessageCursor, bool]:
    """Joins the two orders by time, each keeping its own order. Pure.

    Ends where one of them was not read further: what follows there may belong before the rest of
    the other.
    """
    rests = [list(reversed(singles.messages)), list(reversed(of_runs.messages))]
    ends = [singles.end, of_runs.end]
    places = [place.single, place.run]
    merged: list[Message] = []
    while len(merged) < limit:
        blocked = [n for n in (0, 1) if not rests[n] and ends[n] is not None]
        ready = [n for n in (0, 1) if rests[n]]
        if blocked or not ready:
            break
        choose = min if place.is_newer else max
        source = choose(ready, key=lambda n: rests[n][-1].planned_at)
        message = rests[source].pop()
        merged.append(message)
        places[source] = message.key
    for n in (0, 1):
        end = ends[n]
        if not rests[n] and end is not None:
            places[n] = end
    is_at_end = not any(rests) and ends == [None, None]
    return merged, replace(place, single=places[0], run=places[1]), is_at_end


def _make_page(
    messages: Sequence[Message],
    *,
    start: MessageCursor,
    end: MessageCursor,
    is_all: bool,
    is_first: bool,
) -> MessagePage:
    """A page that was read towards newer mail is turned round."""
    onward = None if is_all else end
    if start.is_newer:
        return MessagePage(list(reversed(messages)), _turn(start), onward)
    return MessagePage(messages, onward, None if is_first else _turn(start))


def _turn(cursor: MessageCursor) -> MessageCursor:
    """The same place for the other way; keys are left out on both ways, so it is moved by one."""
    step = 1 if cursor.is_newer else -1
    single, run = cursor.single, cursor.run
    return replace(
        cursor,
        single=(single[0], single[1] + step),
        run=(run[0], run[1] + step),
        is_newer=not cursor.is_newer,
    )
