"""Writes the status of mailed pages to Notion: counts, status and time, once nothing waits.

Writing the same report twice changes nothing.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import batched

import structlog
from django.db import connection, transaction
from django.db.models import F, Q
from django.db.models.functions import Now

from postledger.accounts import integrations
from postledger.accounts.integrations import IntegrationKind
from postledger.campaigns.launches import previous_runs
from postledger.campaigns.models import Mailout, Run
from postledger.campaigns.notion import error_rows, feedback_counts
from postledger.campaigns.notion.mailouts import FAILED, SENT
from postledger.content import notion_pages
from postledger.content.notion.writing import Value, Writer
from postledger.deliveries import lineage, queries
from postledger.deliveries.queries import Books
from postledger.deliveries.states import State
from postledger.lib import database_outage, work_leases
from postledger.lib.errors import RefusedError
from postledger.lib.work_leases import Work

_BATCH = 1_000
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Status:
    sent_count: int
    failed_count: int  # with those in doubt: it is unknown whether they were sent
    word: str  # in Notion's status property


def decide_status(books: Sequence[Books], *, is_left_out: bool = False) -> Status:
    """The status of finished runs, the newest last; sent only without a failure or a doubt.

    Nor may the newest be cancelled, or an older one have left out recipients for good: those it
    merely had not reached were the newest run's recipients.
    """
    sent, failed, doubted = (
        sum(run_books.counts[state] for run_books in books)
        for state in (State.ACCEPTED, State.FAILED, State.IN_DOUBT)
    )
    is_failed = failed or doubted or is_left_out or books[-1].counts[State.CANCELLED]
    return Status(sent, failed + doubted, FAILED if is_failed else SENT)


@dataclass(frozen=True, slots=True)
class _Report:
    mailout: Mailout
    status: Status
    is_test: bool
    read_at: datetime | None  # None: the runs are not over, so it is not the last report


@dataclass(frozen=True, slots=True)
class _PageRuns:
    """A page's runs at one moment, the newest last."""

    mailout: Mailout
    runs: Sequence[Run]
    books: Mapping[int, Books]  # by stream
    read_at: datetime

    @property
    def is_test(self) -> bool:
        return all(run.is_test for run in self.runs)

    @property
    def reported(self) -> Sequence[Run]:
        """All real runs; before the first of them, the newest test."""
        return [run for run in self.runs if not run.is_test] or self.runs[-1:]

    @property
    def is_waiting(self) -> bool:
        return any(
            run.planned_at is None or self.books[run.stream_id].waiting for run in self.reported
        )

    @property
    def is_over(self) -> bool:
        return all(run.ended_at is not None for run in self.reported)

    @property
    def is_unchanged(self) -> bool:
        """Whether nothing happened since the last report."""
        since, last = self.mailout.reported_at, _last_status(self.mailout)
        if not last.word or since is None:
            return False
        if any(run.ended_at is None or run.ended_at > since for run in self.reported):
            return False
        status = self.status()
        return (status.sent_count, status.failed_count) == (last.sent_count, last.failed_count)

    def status(self, *, is_left_out: bool = False) -> Status:
        books = [self.books[run.stream_id] for run in self.reported]
        return decide_status(books, is_left_out=is_left_out)

    def cancelled_before_newest(self) -> list[int]:
        older = [run.stream_id for run in self.reported[:-1]]
        return [stream_id for stream_id in older if self.books[stream_id].counts[State.CANCELLED]]


def report_all(now: datetime) -> None:
    """Writes the due reports and error rows, for some seconds; the next call writes the others."""
    with work_leases.alone(Work.REPORTING) as is_ours:
        for workspace_id in integrations.workspaces(IntegrationKind.NOTION) if is_ours else []:
            try:
                _report_workspace(workspace_id, now)
            except RefusedError as error:
                # Not the fault of one page or row: everything waits for the next call.
                _log.warning(
                    "notion_report_failed",
                    workspace_id=workspace_id,
                    code=error.code,
                    detail=str(error),
                )
            except Exception as error:  # a broken workspace must not stop the others
                if database_outage.is_away(error):
                    raise
                _log.exception("notion_report_failed", workspace_id=workspace_id)


def _report_workspace(workspace_id: int, now: datetime) -> None:
    notion = notion_pages.require_notion(workspace_id)
    reports = list(_due_reports(workspace_id, now))
    rows = error_rows.list_unwritten(workspace_id, notion, now)
    counts = feedback_counts.list_due(workspace_id, now)
    if not reports and not rows and not counts:
        return
    with notion_pages.open_writer(notion) as writer:
        for report in reports:
            _write_report(writer, report, now)
        error_rows.write_rows(writer, rows, notion, now)
        feedback_counts.write_counts(writer, counts, now)


def _due_reports(workspace_id: int, now: datetime) -> Iterator[_Report]:
    """Stores the error rows of each page's failures before its report."""
    for watched in batched(_watched(workspace_id, now), _BATCH):
        for page in _load_runs(watched):
            report = _due_report(page)
            if report is not None:
                yield report


def _watched(workspace_id: int, now: datetime) -> list[Mailout]:
    """Pages with runs that are not over, without a final report, or with failures.

    A command may decide a failure or a doubt; it knows nothing of runs.
    """
    is_open = Q(run__ended_at=None) | Q(reported_at=None) | Q(run__ended_at__gt=F("reported_at"))
    is_due = Q(report_after=None) | Q(report_after__lte=now)
    is_watched = Q(run__isnull=False) & (is_open | Q(failed_count__gt=0))
    watched = Mailout.objects.filter(is_due, is_watched, workspace_id=workspace_id)
    return list(watched.distinct().order_by("pk"))


def _load_runs(watched: Sequence[Mailout]) -> Iterator[_PageRuns]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        [(read_at,)] = cursor.fetchall()
    # Without the snapshot, which may be large.
    slim = Run.objects.only("mailout_id", "stream_id", "is_test", "planned_at", "ended_at")
    runs: dict[int | None, list[Run]] = defaultdict(list)
    for run in slim.filter(mailout__in=watched).order_by("frozen_at", previous_runs.ORDER):
        runs[run.mailout_id].append(run)
    books = queries.read_books([run.stream_id for of_page in runs.values() for run in of_page])
    return (_PageRuns(mailout, runs[mailout.pk], books, read_at) for mailout in watched)


def _due_report(page: _PageRuns) -> _Report | None:
    mailout = page.mailout
    stored = Mailout.objects.filter(pk=mailout.pk)
    if page.is_waiting:
        # The next result is reported even if its counts are the same again.
        stored.exclude(word="").update(word="")
        return None
    read_at = page.read_at if page.is_over else None
    if page.is_unchanged:
        # A test that is not reported may have ended since.
        if mailout.reported_at and any(
            run.ended_at and run.ended_at > mailout.reported_at for run in page.runs
        ):
            stored.update(reported_at=read_at)
        return None
    status = page.status()
    if status.word == SENT and (cancelled := page.cancelled_before_newest()):
        status = page.status(is_left_out=lineage.is_left_out(cancelled))
    # A test reports less of the same status: neither the word nor when the page was sent.
    is_complete = page.is_test or mailout.sent_at is not None
    if is_complete and status == _last_status(mailout):
        stored.update(reported_at=read_at)
        return None
    _store_failures(page)
    return _Report(mailout, status, is_test=page.is_test, read_at=read_at)


def _last_status(mailout: Mailout) -> Status:
    return Status(mailout.sent_count or 0, mailout.failed_count or 0, mailout.word)


def _store_failures(page: _PageRuns) -> None:
    with transaction.atomic():
        for run in page.runs:
            counts = page.books[run.stream_id].counts
            if counts[State.FAILED] or counts[State.IN_DOUBT]:
                error_rows.store_failures(page.mailout, run)
        if not page.is_test:
            # The test's report is void now: Notion may be away before the next one is written.
            unsent = Mailout.objects.filter(pk=page.mailout.pk, sent_at=None)
            unsent.update(sent_at=Now(), word="")
    page.mailout.refresh_from_db(fields=["sent_at"])


def _write_report(writer: Writer, report: _Report, now: datetime) -> None:
    mailout, status = report.mailout, report.status
    stored = Mailout.objects.filter(pk=mailout.pk)
    values: dict[str, Value] = {
        "sent_count": status.sent_count,
        "failed_count": status.failed_count,
    }
    if not report.is_test and mailout.sent_at is not None:
        values |= {"status": status.word, "sent_at": mailout.sent_at}
    try:
        missing = writer.update(str(mailout.page_id), values)
    except error_rows.PERMANENT as error:
        _log.warning("notion_page_refused", code=error.code, page_id=str(mailout.page_id))
        report_after = now + error_rows.RETRY_AFTER
        stored.update(trouble=f"{error.code}: {error}", report_after=report_after)
        return
    stored.update(
        reported_at=report.read_at,
        sent_count=status.sent_count,
        failed_count=status.failed_count,
        word=status.word,
        trouble=f"The page has no property {', '.join(missing)} to write to." if missing else "",
        report_after=None,
    )
