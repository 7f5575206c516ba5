"""Tells Notion what became of its pages: counts, status and time to each, and when nothing waits.

Writing a page's row twice changes nothing. An error's row is begun in the database, added, and
ended in the database: one that was begun and not ended is looked for before it is added again.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import LiteralString

import structlog
from django.conf import settings
from django.db import connection, transaction
from django.db.models import F, Q
from django.db.models.functions import Coalesce, Now

from postledger.campaigns import mailout_notes, mailout_results, mailout_rows
from postledger.campaigns.mailout_results import Result
from postledger.campaigns.models import Mailout, Run
from postledger.content import mailouts
from postledger.content.notion.properties import Value
from postledger.content.notion.writing import Writer
from postledger.deliveries import lineage, queries
from postledger.deliveries.states import State
from postledger.lib.errors import RefusedError

PAUSE = timedelta(minutes=5)  # before a page is told that Notion refused to be told of

# Beside the other advisory locks: together, two would be faster than Notion allows.
_TELLER = 7
_LOCK: LiteralString = "SELECT pg_try_advisory_lock(%s, 0)"
_UNLOCK: LiteralString = "SELECT pg_advisory_unlock(%s, 0)"

_log = structlog.get_logger(__name__)


def tell_all(now: datetime) -> None:
    """Tells what there is to tell, for some seconds; what is left is told at the next call."""
    if not settings.NOTION_TOKEN:
        return
    with _alone() as is_ours:
        if is_ours:
            _tell(now)


@contextmanager
def _alone() -> Iterator[bool]:
    with connection.cursor() as cursor:
        cursor.execute(_LOCK, [_TELLER])
        [(is_ours,)] = cursor.fetchall()
    try:
        yield is_ours
    finally:
        if is_ours:
            with connection.cursor() as cursor:
                cursor.execute(_UNLOCK, [_TELLER])


def _tell(now: datetime) -> None:
    news = [found for mailout in _watched(now) if (found := _looked_at(mailout)) is not None]
    rows = mailout_rows.unwritten(now)
    if not news and not rows:
        return
    try:
        with mailouts.writing() as writer:
            for one in news:
                _tell_page(writer, one, now)
            mailout_rows.write(writer, rows, now)
    except RefusedError as refused:
        # Neither the page nor the row is at fault: everything waits for the next call.
        _log.warning("notion_not_told", code=refused.code, detail=str(refused))


@dataclass(frozen=True, slots=True)
class _News:
    """What a page is to be told; it is told for good when all its runs are over."""

    mailout: Mailout
    result: Result
    is_test: bool
    seen_at: datetime | None


def _watched(now: datetime) -> list[Mailout]:
    """Those whose runs are not over, and those that are not told of the end."""
    is_open = Q(run__ended_at=None) | Q(told_at=None) | Q(run__ended_at__gt=F("told_at"))
    is_due = Q(tell_after=None) | Q(tell_after__lte=now)
    found = Mailout.objects.filter(is_due, Q(run__isnull=False) & is_open)
    return list(found.distinct().order_by("pk"))


def _looked_at(mailout: Mailout) -> _News | None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        [(seen_at,)] = cursor.fetchall()
    runs = list(Run.objects.filter(mailout=mailout).order_by("stream_id"))
    live = [run for run in runs if not run.is_test]
    shown = live or runs[-1:]
    books = queries.books_of([run.stream_id for run in runs])
    if any(run.planned_at is None or books[run.stream_id].waiting for run in shown):
        # Whatever comes of it is news, even if the counts are the same again.
        Mailout.objects.filter(pk=mailout.pk).exclude(word="").update(word="")
        return None
    older = [run.stream_id for run in shown[:-1]]
    found = mailout_results.result(
        [books[run.stream_id] for run in shown],
        is_left_out=any(books[stream].counts[State.CANCELLED] for stream in older)
        and lineage.is_left_out(older),
    )
    is_over = all(run.ended_at is not None for run in runs)
    news = _News(mailout, found, is_test=not live, seen_at=seen_at if is_over else None)
    if _is_told(mailout, found):
        Mailout.objects.filter(pk=mailout.pk).update(told_at=news.seen_at)
        return None
    troubled = [run for run in runs if _has_trouble(books[run.stream_id])]
    _keep(mailout, troubled, is_test=news.is_test)
    return news


def _is_told(mailout: Mailout, found: Result) -> bool:
    return found == Result(mailout.sent_count or 0, mailout.failed_count or 0, mailout.word)


def _has_trouble(books: queries.Books) -> bool:
    return bool(books.counts[State.FAILED] or books.counts[State.IN_DOUBT])


def _keep(mailout: Mailout, troubled: list[Run], *, is_test: bool) -> None:
    with transaction.atomic():
        for run in troubled:
            mailout_notes.keep_failures(mailout, run)
        if not is_test:
            Mailout.objects.filter(pk=mailout.pk).update(sent_at=Coalesce("sent_at", Now()))
    mailout.refresh_from_db(fields=["sent_at"])


def _tell_page(writer: Writer, news: _News, now: datetime) -> None:
    there = Mailout.objects.filter(pk=news.mailout.pk)
    try:
        missing = writer.update(str(news.mailout.page_id), _values(news))
    except mailout_rows.FOR_GOOD as refused:
        _log.warning("notion_page_refused", code=refused.code, page_id=str(news.mailout.page_id))
        there.update(trouble=f"{refused.code}: {refused}", tell_after=now + PAUSE)
        return
    trouble = f"The page has no property {', '.join(missing)} to write to." if missing else ""
    there.update(
        told_at=news.seen_at,
        sent_count=news.result.sent_count,
        failed_count=news.result.failed_count,
        word=news.result.word,
        trouble=trouble,
        tell_after=None,
    )


def _values(news: _News) -> Mapping[str, Value]:
    """A test says how many it reached, and leaves the page as one that was not sent."""
    counts = {"sent_count": news.result.sent_count, "failed_count": news.result.failed_count}
    if news.is_test or news.mailout.sent_at is None:
        return counts
    return {**counts, "status": news.result.word, "sent_at": news.mailout.sent_at}
