"""Celery's doors: bells for the dispatcher, and the ledger's upkeep."""

from datetime import UTC, datetime, timedelta

from celery import shared_task

from postledger.campaigns import ending, mailout_telling, planning
from postledger.contacts.importing import uploads
from postledger.contacts.supabase import syncing
from postledger.deliveries import ledger, partitions, queries
from postledger.dispatch.db_threads import call_on_thread
from postledger.lib import crashpoints
from postledger.lib.crashpoints import Point
from postledger.privacy import pending
from postledger.workers import engine

# Enough to keep up with two workers; what is left is done a few seconds later.
_DRAINED_AT_ONCE = 100
_SWEPT_AT_ONCE = 100
_LANE_IDLE = timedelta(hours=1)


@shared_task(name="postledger.bell")
def bell(stream_id: int) -> None:
    """A stream has work now."""
    crashpoints.reached(Point.ON_BELL)
    engine.ring(stream_id)


@shared_task(name="postledger.tick")
def tick() -> None:
    """Some stream may have work that came due."""
    engine.tick()


@shared_task(name="postledger.sweep")
def sweep() -> None:
    """Takes lost leases away, all of them, and has what they gave back looked for."""
    for _ in range(_SWEPT_AT_ONCE):
        found = call_on_thread(ledger.sweep)
        if not found.given_back:
            break
        engine.swept(found)


@shared_task(name="postledger.drain")
def drain() -> None:
    """Books the waiting rest of cancelled streams."""
    for stream_id in call_on_thread(queries.cancelled_with_work):
        for _ in range(_DRAINED_AT_ONCE):
            if not call_on_thread(ledger.drain, stream_id):
                break


@shared_task(name="postledger.fold")
def fold() -> None:
    """Adds finished batches' counters to their streams."""
    call_on_thread(ledger.fold)


@shared_task(name="postledger.plan")
def plan() -> None:
    """Writes the audiences of launched campaigns into the ledger, and ends runs that are over."""
    call_on_thread(planning.plan_all)
    call_on_thread(ending.end_all)


@shared_task(name="postledger.notion")
def notion() -> None:
    """Tells Notion what became of its pages."""
    call_on_thread(mailout_telling.tell_all, datetime.now(UTC))


@shared_task(name="postledger.supabase")
def supabase() -> None:
    """Syncs contacts with the subscribers of a Supabase project."""
    call_on_thread(syncing.sync_due, datetime.now(UTC))


@shared_task(name="postledger.tidy")
def tidy() -> None:
    """Makes the coming months' room, takes idle streams off the walk, and forgets what is to be."""
    call_on_thread(partitions.ensure)
    call_on_thread(ledger.retire_lanes, idle=_LANE_IDLE)
    call_on_thread(ledger.retire_marks)
    call_on_thread(uploads.abandon_old, datetime.now(UTC))
    call_on_thread(pending.look_again, datetime.now(UTC))
