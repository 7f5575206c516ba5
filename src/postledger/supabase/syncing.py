"""Syncs the first workspace's contacts with the subscribers of a Supabase project.

A pass goes through all rows by email, page by page. A page is read and compared with the contacts,
our stronger states are written to Supabase, and Supabase's stronger states are applied here in the
transaction that moves the cursor. If the process dies in between, the next call repeats the page:
rows that were written already are as they should be, so that nothing is applied twice. No
transaction is open during a request. Only the end of a pass shows which rows are missing.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import structlog
from django.db.models import F

from postledger.accounts import integrations, queries
from postledger.lib import work_leases
from postledger.lib.errors import RefusedError
from postledger.lib.work_leases import Work
from postledger.supabase import apply_page, classify, client, errors, passes, removals, rows
from postledger.supabase.client import SubscribersTable
from postledger.supabase.models import RowFailure, Sync, SyncProblem
from postledger.supabase.page import RowIssue

EVERY = timedelta(minutes=5)  # from the end of a pass to the start of the next
_SHIFT = timedelta(seconds=45)  # the most that a scheduled call takes
_RETRY_AFTER = timedelta(minutes=1)  # a pass that failed is continued no earlier

_COUNTS = (
    "read_count",
    "created_count",
    "renamed_count",
    "ended_count",
    "written_count",
    "gone_count",
    "returned_count",
)

_log = structlog.get_logger(__name__)


def sync_due(now: datetime) -> None:
    """Continues the pass, or starts one that is due; the next call does the remaining pages."""
    workspace_id = passes.find_connected_workspace()
    # Asked twice: the lease is a row to write, and another process may have done it meanwhile.
    if workspace_id is None or not _is_due(_get_or_create(workspace_id), now):
        return
    with work_leases.alone(Work.SYNC) as is_ours:
        if is_ours and _is_due(_get_or_create(workspace_id), now):
            try:
                _pass(workspace_id, now=now, until=now + _SHIFT)
            except RefusedError as refused:
                _log.warning("supabase_not_synced", code=refused.code, detail=str(refused))


def sync_all(*, accepts_missing: bool = False) -> Sync:
    """Continues the pass, or starts one, to its end; raises RefusedError when that fails.

    `accepts_missing` deletes the contacts of all missing rows, however many they are.
    """
    workspace_id = passes.find_connected_workspace()
    if workspace_id is None:
        raise errors.not_set_up()
    with work_leases.alone(Work.SYNC) as is_ours:
        if not is_ours:
            raise errors.SupabaseBusyError(
                "A worker syncs right now; postledger supabase status shows how far it is."
            )
        _get_or_create(workspace_id)
        _pass(
            workspace_id,
            now=datetime.now(UTC),
            until=datetime.max.replace(tzinfo=UTC),
            accepts_missing=accepts_missing,
        )
    return _get_or_create(workspace_id)


def is_set_up() -> bool:
    return passes.find_connected_workspace() is not None


def _get_or_create(workspace_id: int) -> Sync:
    return Sync.objects.get_or_create(workspace_id=workspace_id)[0]


def _is_due(sync: Sync, now: datetime) -> bool:
    if sync.retry_at is not None and now < sync.retry_at:
        return False
    is_under_way = sync.started_at is not None
    is_requested = sync.requested_pass > sync.pass_count
    is_old = sync.finished_at is None or now >= sync.finished_at + EVERY
    return is_under_way or is_requested or is_old


def _pass(
    workspace_id: int, *, now: datetime, until: datetime, accepts_missing: bool = False
) -> None:
    syncs = Sync.objects.filter(workspace_id=workspace_id)
    syncs.filter(started_at=None).update(
        started_at=now,
        pass_count=F("pass_count") + 1,
        cursor="",
        **dict.fromkeys(_COUNTS, 0),
    )
    clock = _clock(now)
    try:
        project = integrations.supabase(workspace_id)
        if project is None:
            raise errors.not_set_up()
        with client.connect(project.url, project.api_key) as table:
            while _sync_page(workspace_id, table, clock):
                if clock() >= until:
                    return
        _finish(workspace_id, now, accepts_missing=accepts_missing)
    except RefusedError as refused:
        syncs.filter(trouble=None).update(troubled_at=now)
        syncs.update(trouble=str(refused), retry_at=clock() + _RETRY_AFTER)
        raise


def _clock(now: datetime) -> Callable[[], datetime]:
    """A pass may take hours, and a row that is read late may have changed since it started."""
    start = time.monotonic()
    return lambda: now + timedelta(seconds=time.monotonic() - start)


def _sync_page(workspace_id: int, table: SubscribersTable, clock: Callable[[], datetime]) -> bool:
    """Syncs one page; False when no row is left."""
    after = Sync.objects.values_list("cursor", flat=True).get(workspace_id=workspace_id)
    records = table.read_after(after)
    if not records:
        return False
    now = clock()
    page = classify.classify_page(workspace_id, records, after=after, table=table, now=now)
    apply_page.apply_page(workspace_id, page, now=now)
    return True


def _finish(workspace_id: int, now: datetime, *, accepts_missing: bool) -> None:
    """Ends a pass that read every row: contacts of missing rows are deleted.

    If so many are missing that it looks like a mistake, none is deleted and an error is raised. The
    pass ends all the same, so that the next one can find the rows.
    """
    known, missing = removals.count_missing(workspace_id)
    if accepts_missing or rows.is_plausible(known=known, missing=missing):
        removals.delete_missing(workspace_id, actor=apply_page.ORIGIN.actor, now=now)
        _end(workspace_id, now, is_complete=True)
        return
    refused = errors.rows_missing(missing, of=known)
    issue = RowIssue("subscribers", RowFailure.NOT_FOUND, str(refused))
    apply_page.record_issues(workspace_id, [issue], now=now)
    _end(workspace_id, now, is_complete=False)
    raise refused


def _end(workspace_id: int, now: datetime, *, is_complete: bool) -> None:
    """Deletes the problems that the pass did not meet again, and logs the counts."""
    sync = _get_or_create(workspace_id)
    over = SyncProblem.objects.filter(workspace_id=workspace_id, seen_at__lt=sync.started_at or now)
    over.delete()
    this = Sync.objects.filter(
        workspace_id=workspace_id, pass_count=sync.pass_count, started_at__isnull=False
    )
    ended: dict[str, object] = {"started_at": None, "finished_at": now, "cursor": ""}
    if is_complete:
        ended["complete_pass"] = sync.pass_count
    if not this.update(**ended, trouble=None, troubled_at=None):
        raise errors.overtaken()
    counts = {name.removesuffix("_count"): getattr(sync, name) for name in _COUNTS}
    _log.info("supabase_synced", **counts)


@dataclass(frozen=True, slots=True)
class SyncStatus:
    sync: Sync
    problems: Sequence[SyncProblem]  # the oldest ones
    problem_count: int


def read_status(*, most: int) -> SyncStatus | None:
    """The last pass and up to `most` of its problems; None before the first pass."""
    sync = Sync.objects.filter(workspace_id=queries.first_workspace_id() or 0).first()
    if sync is None:
        return None
    problems = SyncProblem.objects.filter(workspace_id=sync.workspace_id)
    return SyncStatus(sync, list(problems.order_by("since", "pk")[:most]), problems.count())
