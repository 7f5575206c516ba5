"""Syncs the first workspace's contacts with the subscribers of a Supabase project.

A pass goes through all rows by their emails, page by page: it is read and looked at, what counts
more here is written there, then what counts more there is taken here in the transaction that moves
the cursor. Whatever dies in between, the next call begins with the same page: what was written is
found as it should be, and nothing is done twice. No transaction is open while Supabase is asked.
Only the end of a pass tells who is there no more.
"""

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import structlog
from django.db.models import F

from postledger.accounts import integrations, queries
from postledger.accounts.integrations import Kind, Supabase
from postledger.contacts.supabase import client, deciding, missing, refusals, sorting, taking
from postledger.contacts.supabase.client import Subscribers
from postledger.contacts.supabase.models import SupabaseProblem, SupabaseSync, Way
from postledger.contacts.supabase.taking import Problem
from postledger.lib import work_leases
from postledger.lib.errors import RefusedError
from postledger.lib.work_leases import Work

EVERY = timedelta(minutes=5)  # between the end of a pass and the begin of the next
_SHIFT = timedelta(seconds=45)  # of a scheduled call, before it makes room for others

_log = structlog.get_logger(__name__)


def sync_due(now: datetime) -> None:
    """Goes on with the pass, or begins one that is due; what is left is done at the next call."""
    workspace_id = _connected()
    if workspace_id is None:
        return
    with work_leases.alone(Work.SYNC) as is_ours:
        if is_ours and _is_due(_begun(workspace_id), now):
            try:
                _pass(workspace_id, now=now, until=now + _SHIFT)
            except RefusedError as refused:
                _log.warning("supabase_not_synced", code=refused.code, detail=str(refused))


def sync_all(*, accepts_missing: bool = False) -> SupabaseSync:
    """Goes on with the pass, or begins one, to its end; raises RefusedError when that fails.

    `accepts_missing` says that whoever is not there is gone, however many they are.
    """
    workspace_id = _connected()
    if workspace_id is None:
        raise refusals.not_set_up()
    with work_leases.alone(Work.SYNC) as is_ours:
        if not is_ours:
            raise refusals.BusyError(
                "A worker syncs right now; postledger supabase status shows how far it is."
            )
        _begun(workspace_id)
        _pass(
            workspace_id,
            now=datetime.now(UTC),
            until=datetime.max.replace(tzinfo=UTC),
            accepts_missing=accepts_missing,
        )
    return _begun(workspace_id)


def is_set_up() -> bool:
    return _connected() is not None


def _connected() -> int | None:
    """The first workspace, if it has a project."""
    first = queries.default_workspace_id()
    return first if first in integrations.workspaces(Kind.SUPABASE) else None


def _project(workspace_id: int) -> Supabase:
    found = integrations.supabase(workspace_id)
    if found is None:
        raise refusals.not_set_up()
    return found


def _begun(workspace_id: int) -> SupabaseSync:
    return SupabaseSync.objects.get_or_create(workspace_id=workspace_id)[0]


def _is_due(sync: SupabaseSync, now: datetime) -> bool:
    is_under_way = sync.started_at is not None
    return is_under_way or sync.finished_at is None or now >= sync.finished_at + EVERY


def _pass(
    workspace_id: int, *, now: datetime, until: datetime, accepts_missing: bool = False
) -> None:
    there = SupabaseSync.objects.filter(workspace_id=workspace_id)
    there.filter(started_at=None).update(
        started_at=now,
        pass_count=F("pass_count") + 1,
        cursor="",
        read_count=0,
        created_count=0,
        renamed_count=0,
        ended_count=0,
        written_count=0,
        gone_count=0,
        returned_count=0,
    )
    clock = _clock(now)
    try:
        project = _project(workspace_id)
        with client.connect(project.url, project.api_key) as table:
            while _step(workspace_id, table, clock):
                if clock() >= until:
                    return
        _finish(workspace_id, now, accepts_missing=accepts_missing)
    except RefusedError as refused:
        there.filter(trouble=None).update(troubled_at=now)
        there.update(trouble=str(refused))
        raise


def _clock(now: datetime) -> Callable[[], datetime]:
    """A pass may take hours, and what is read late in it may have happened since it began."""
    begin = time.monotonic()
    return lambda: now + timedelta(seconds=time.monotonic() - begin)


def _step(workspace_id: int, table: Subscribers, clock: Callable[[], datetime]) -> bool:
    """Does one page; False when there was none left."""
    after = SupabaseSync.objects.values_list("cursor", flat=True).get(workspace_id=workspace_id)
    found = table.after(after)
    if not found:
        return False
    now = clock()
    page = sorting.sort(workspace_id, found, after=after, table=table, now=now)
    taking.take(workspace_id, page, now=now)
    return True


def _finish(workspace_id: int, now: datetime, *, accepts_missing: bool) -> None:
    """Ends a pass that saw every row: who was not among them is deleted here, too.

    If there are so many that it looks like a mistake, the pass ends all the same, so that the next
    one can find them, and it is told.
    """
    found = missing.count(workspace_id)
    if accepts_missing or deciding.is_believed(known=found.known, missing=found.missing):
        missing.delete(workspace_id, actor=taking.ORIGIN.actor, now=now)
        _end(workspace_id, now)
        return
    refused = refusals.rows_missing(found.missing, of=found.known)
    problem = Problem("subscribers", Way.FOUND, str(refused))
    taking.note(workspace_id, [problem], now=now)
    _end(workspace_id, now)
    raise refused


def _end(workspace_id: int, now: datetime) -> None:
    """Problems that the pass did not meet again are over."""
    sync = _begun(workspace_id)
    over = SupabaseProblem.objects.filter(
        workspace_id=workspace_id, seen_at__lt=sync.started_at or now
    )
    over.delete()
    this = SupabaseSync.objects.filter(
        workspace_id=workspace_id, pass_count=sync.pass_count, started_at__isnull=False
    )
    ended = {"started_at": None, "finished_at": now, "cursor": ""}
    if not this.update(**ended, trouble=None, troubled_at=None):
        raise refusals.overtaken()
    _log.info(
        "supabase_synced",
        read=sync.read_count,
        created=sync.created_count,
        renamed=sync.renamed_count,
        ended=sync.ended_count,
        written=sync.written_count,
        gone=sync.gone_count,
        returned=sync.returned_count,
    )
