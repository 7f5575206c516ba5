"""Recounts the books of streams that have changed, a little at a time."""

import time
from collections.abc import Iterator
from datetime import datetime, timedelta

import structlog

from postledger.alerts.models import Recount
from postledger.deliveries import audit, queries
from postledger.deliveries.queries import ChangedStream
from postledger.lib import work_leases
from postledger.lib.work_leases import Work

_log = structlog.get_logger(__name__)

AGAIN_AFTER = timedelta(hours=1)
# A recount reads every delivery of its stream: it may take a thousandth of the time.
_REST_FACTOR = 1000
_CHANGED_WITHIN = timedelta(days=7)
_LONGEST_PASS = 10.0  # seconds, after which no further stream is begun


def recount_due(now: datetime) -> int:
    """Recounts streams until a pass has lasted long enough; returns how many.

    One process at a time: two would read the same deliveries.
    """
    count = 0
    with work_leases.alone(Work.RECOUNTING) as is_mine:
        began = time.monotonic()
        for stream in _list_due(now) if is_mine else ():
            if time.monotonic() - began > _LONGEST_PASS:
                break
            recount(stream, now=now)
            count += 1
    return count


def recount(stream: ChangedStream, *, now: datetime) -> None:
    """Stores whether the books of a stream balance, and since when they do not."""
    began = time.monotonic()
    discrepancies = audit.audit(stream.id).discrepancies
    seconds = time.monotonic() - began
    earlier = Recount.objects.filter(stream_id=stream.id).first()
    wrong_since = ((earlier and earlier.wrong_since) or now) if discrepancies else None
    for discrepancy in discrepancies[:1]:
        _log.error("the books do not balance", stream=stream.id, first=discrepancy.sentence)
    Recount.objects.update_or_create(
        stream_id=stream.id,
        defaults={
            "workspace_id": stream.workspace_id,
            "counted_at": now,
            "seconds": seconds,
            "wrong_since": wrong_since,
        },
    )


def _list_due(now: datetime) -> Iterator[ChangedStream]:
    """Never counted ones first; one whose books are wrong also if it has not changed."""
    wrong = Recount.objects.exclude(wrong_since=None).values_list("stream_id", flat=True)
    streams = queries.list_changed_streams(since=now - _CHANGED_WITHIN, beside=list(wrong))
    counted = Recount.objects.in_bulk([stream.id for stream in streams])
    due = [stream for stream in streams if is_due(stream, counted.get(stream.id), now=now)]
    return iter(sorted(due, key=lambda stream: _counted_at(counted.get(stream.id))))


def is_due(stream: ChangedStream, last: Recount | None, *, now: datetime) -> bool:
    if last is None:
        return True
    rest = max(AGAIN_AFTER, timedelta(seconds=last.seconds * _REST_FACTOR))
    has_news = last.wrong_since is not None or stream.changed_at > last.counted_at
    return has_news and now >= last.counted_at + rest


def _counted_at(recount: Recount | None) -> float:
    return recount.counted_at.timestamp() if recount else 0.0
