"""Syncs the first workspace's contacts with the subscribers of a Supabase project.

A pass goes through all rows by their emails, page by page: it is read and looked at, what counts
more here is written there, then what counts more there is taken here in the transaction that moves
the cursor. Whatever dies in between, the next call begins with the same page: what was written is
found as it should be, and nothing is done twice. No transaction is open while Supabase is asked.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import LiteralString

import structlog
from django.conf import settings
from django.db import connection

from postledger.accounts import queries
from postledger.contacts.supabase import client, refusals, sorting, taking
from postledger.contacts.supabase.client import Subscribers
from postledger.contacts.supabase.models import SupabaseProblem, SupabaseSync
from postledger.lib.errors import RefusedError

EVERY = timedelta(minutes=5)  # between the end of a pass and the begin of the next
_SHIFT = timedelta(seconds=45)  # of a scheduled call, before it makes room for others

# Beside the other advisory locks: two would ask for the same pages.
_SYNC = 8
_LOCK: LiteralString = "SELECT pg_try_advisory_lock(%s, 0)"
_UNLOCK: LiteralString = "SELECT pg_advisory_unlock(%s, 0)"

_log = structlog.get_logger(__name__)


def sync_due(now: datetime) -> None:
    """Goes on with the pass, or begins one that is due; what is left is done at the next call."""
    workspace_id = queries.default_workspace_id()
    if not is_set_up() or workspace_id is None:
        return
    with _alone() as is_ours:
        if is_ours and _is_due(_begun(workspace_id), now):
            try:
                _pass(workspace_id, now=now, until=now + _SHIFT)
            except RefusedError as refused:
                _log.warning("supabase_not_synced", code=refused.code, detail=str(refused))


def sync_all() -> SupabaseSync:
    """Goes on with the pass, or begins one, to its end; raises RefusedError when that fails."""
    workspace_id = queries.default_workspace_id()
    if not is_set_up() or workspace_id is None:
        raise refusals.NotSetUpError(
            "There is nothing to sync with. Set SUPABASE_URL and SUPABASE_SERVICE_ROLE_KEY, and"
            " run postledger setup if there is no workspace yet."
        )
    with _alone() as is_ours:
        if not is_ours:
            raise refusals.BusyError(
                "A worker syncs right now; postledger supabase status shows how far it is."
            )
        _begun(workspace_id)
        _pass(workspace_id, now=datetime.now(UTC), until=datetime.max.replace(tzinfo=UTC))
    return _begun(workspace_id)


def is_set_up() -> bool:
    return bool(settings.SUPABASE_URL and settings.SUPABASE_SERVICE_ROLE_KEY)


@contextmanager
def _alone() -> Iterator[bool]:
    with connection.cursor() as cursor:
        cursor.execute(_LOCK, [_SYNC])
        [(is_ours,)] = cursor.fetchall()
    try:
        yield is_ours
    finally:
        if is_ours:
            with connection.cursor() as cursor:
                cursor.execute(_UNLOCK, [_SYNC])


def _begun(workspace_id: int) -> SupabaseSync:
    return SupabaseSync.objects.get_or_create(workspace_id=workspace_id)[0]


def _is_due(sync: SupabaseSync, now: datetime) -> bool:
    is_under_way = sync.started_at is not None
    return is_under_way or sync.finished_at is None or now >= sync.finished_at + EVERY


def _pass(workspace_id: int, *, now: datetime, until: datetime) -> None:
    there = SupabaseSync.objects.filter(workspace_id=workspace_id)
    there.filter(started_at=None).update(
        started_at=now,
        cursor="",
        read_count=0,
        created_count=0,
        renamed_count=0,
        ended_count=0,
        written_count=0,
    )
    clock = _clock(now)
    try:
        with client.connect(settings.SUPABASE_URL, settings.SUPABASE_SERVICE_ROLE_KEY) as table:
            while _step(workspace_id, table, clock):
                if clock() >= until:
                    return
    except RefusedError as refused:
        there.filter(trouble=None).update(troubled_at=now)
        there.update(trouble=str(refused))
        raise
    _finish(workspace_id, now)


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


def _finish(workspace_id: int, now: datetime) -> None:
    """Ends the pass; problems that it did not meet again are over."""
    sync = _begun(workspace_id)
    over = SupabaseProblem.objects.filter(
        workspace_id=workspace_id, seen_at__lt=sync.started_at or now
    )
    over.delete()
    sync.started_at, sync.finished_at, sync.cursor = None, now, ""
    sync.trouble = sync.troubled_at = None
    sync.save()
    _log.info(
        "supabase_synced",
        read=sync.read_count,
        created=sync.created_count,
        renamed=sync.renamed_count,
        ended=sync.ended_count,
        written=sync.written_count,
    )
