"""Which pages of Notion have news: what the books of their runs say beside what they were told."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import batched

from django.db import connection, transaction
from django.db.models import F, Q
from django.db.models.functions import Now

from postledger.campaigns import earlier, mailout_notes, mailout_results
from postledger.campaigns.mailout_results import Result
from postledger.campaigns.models import Mailout, Run
from postledger.deliveries import lineage, queries
from postledger.deliveries.queries import Books
from postledger.deliveries.states import State

AT_ONCE = 1_000


@dataclass(frozen=True, slots=True)
class News:
    """What a page is to be told; it is told for good when the runs that it is told of are over."""

    mailout: Mailout
    result: Result
    is_test: bool
    seen_at: datetime | None


@dataclass(frozen=True, slots=True)
class _Look:
    """A page's runs at one moment, the newest last; a test is told of only before the page went."""

    mailout: Mailout
    runs: Sequence[Run]
    books: Mapping[int, Books]  # by stream
    at: datetime

    @property
    def is_test(self) -> bool:
        return all(run.is_test for run in self.runs)

    @property
    def told_of(self) -> Sequence[Run]:
        return [run for run in self.runs if not run.is_test] or self.runs[-1:]

    @property
    def is_waiting(self) -> bool:
        return any(run.planned_at is None or self._of(run).waiting for run in self.told_of)

    @property
    def is_over(self) -> bool:
        return all(run.ended_at is not None for run in self.told_of)

    @property
    def is_as_told(self) -> bool:
        """Whether nothing happened since the page was told for good."""
        since, told = self.mailout.told_at, _told(self.mailout)
        ended = [run.ended_at for run in self.told_of]
        if not told.word or since is None or any(at is None or at > since for at in ended):
            return False
        return self.result().counts == told.counts

    @property
    def is_late(self) -> bool:
        """Whether a run that the page is not told of, as a test of it, ended since."""
        since = self.mailout.told_at
        return any(since and run.ended_at and run.ended_at > since for run in self.runs)

    def result(self, *, is_left_out: bool = False) -> Result:
        books = [self._of(run) for run in self.told_of]
        return mailout_results.result(books, is_left_out=is_left_out)

    def troubled(self) -> Sequence[Run]:
        return [run for run in self.runs if _has_trouble(self._of(run))]

    def cancelled_before(self) -> list[int]:
        """The streams before the newest one of which something was cancelled."""
        older = [run for run in self.told_of[:-1] if self._of(run).counts[State.CANCELLED]]
        return [run.stream_id for run in older]

    def _of(self, run: Run) -> Books:
        return self.books[run.stream_id]


def find(workspace_id: int, now: datetime) -> list[News]:
    """All there is to tell a workspace; what went wrong is kept before, to be told as well."""
    watched = _watched(workspace_id, now)
    looks = (look for some in batched(watched, AT_ONCE) for look in _looks(some))
    return [news for look in looks if (news := _news(look)) is not None]


def _watched(workspace_id: int, now: datetime) -> list[Mailout]:
    """Those whose runs are not over, those that are not told of the end, and those with failures.

    What failed or is in doubt may be decided by a command, which knows nothing of runs.
    """
    is_open = Q(run__ended_at=None) | Q(told_at=None) | Q(run__ended_at__gt=F("told_at"))
    is_due = Q(tell_after=None) | Q(tell_after__lte=now)
    is_watched = Q(run__isnull=False) & (is_open | Q(failed_count__gt=0))
    found = Mailout.objects.filter(is_due, is_watched, workspace_id=workspace_id)
    return list(found.distinct().order_by("pk"))


def _looks(mailouts: Sequence[Mailout]) -> Iterator[_Look]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        [(seen_at,)] = cursor.fetchall()
    # What they froze may be large, and says nothing of how they stand.
    slim = Run.objects.only("mailout_id", "stream_id", "is_test", "planned_at", "ended_at")
    runs: dict[int | None, list[Run]] = defaultdict(list)
    for run in slim.filter(mailout__in=mailouts).order_by("frozen_at", earlier.ORDER):
        runs[run.mailout_id].append(run)
    books = queries.books_of([run.stream_id for found in runs.values() for run in found])
    return (_Look(mailout, runs[mailout.pk], books, seen_at) for mailout in mailouts)


def _news(look: _Look) -> News | None:
    mailout = look.mailout
    there = Mailout.objects.filter(pk=mailout.pk)
    if look.is_waiting:
        # Whatever comes of it is news, even if the counts are the same again.
        there.exclude(word="").update(word="")
        return None
    seen_at = look.at if look.is_over else None
    if look.is_as_told:
        if look.is_late:
            there.update(told_at=seen_at)
        return None
    found = _result(look)
    # A test tells less of the same result: neither the status nor when the page was sent.
    is_whole = look.is_test or mailout.sent_at is not None
    if is_whole and found == _told(mailout):
        there.update(told_at=seen_at)
        return None
    _keep(look)
    return News(mailout, found, is_test=look.is_test, seen_at=seen_at)


def _result(look: _Look) -> Result:
    found, older = look.result(), look.cancelled_before()
    if found.word != mailout_results.SENT or not older:
        return found  # who was left out makes no difference
    return look.result(is_left_out=lineage.is_left_out(older))


def _told(mailout: Mailout) -> Result:
    return Result(mailout.sent_count or 0, mailout.failed_count or 0, mailout.word)


def _has_trouble(books: Books) -> bool:
    return bool(books.counts[State.FAILED] or books.counts[State.IN_DOUBT])


def _keep(look: _Look) -> None:
    with transaction.atomic():
        for run in look.troubled():
            mailout_notes.keep_failures(look.mailout, run)
        if not look.is_test:
            # What a test told is forgotten with it: Notion may be away before this is told.
            unsent = Mailout.objects.filter(pk=look.mailout.pk, sent_at=None)
            unsent.update(sent_at=Now(), word="")
    look.mailout.refresh_from_db(fields=["sent_at"])
