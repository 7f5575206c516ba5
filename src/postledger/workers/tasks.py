"""Celery's tasks: wake-ups for the dispatcher, the upkeep, and how often each task runs.

Every task may run twice at once without harm.
"""

from datetime import UTC, datetime, timedelta

from celery import current_app, shared_task
from celery.schedules import schedule

from postledger.accounts.people import sessions
from postledger.alerts import recounts, watching
from postledger.campaigns.notion import status_reports
from postledger.campaigns.planning import planning
from postledger.campaigns.runs import run_control
from postledger.contacts.actions import erasing
from postledger.deliveries import ledger, partitions, queries
from postledger.dispatch.db_threads import call_on_thread
from postledger.feedback import inbox, unmatched
from postledger.imports import uploads
from postledger.lib import crashpoints
from postledger.lib.crashpoints import Point
from postledger.notifications.events import retention as past_notifications
from postledger.notifications.fan_out import planner as event_planner
from postledger.notifications.sources import polling
from postledger.privacy import erasure
from postledger.supabase import syncing
from postledger.transactional import idempotency
from postledger.workers import celery_settings, dispatcher_step

# Enough for two workers; the remaining work is done a few seconds later.
_DRAINED_AT_ONCE = 100
_SWEPT_AT_ONCE = 100
_IDLE_AFTER = timedelta(hours=1)

TICK_EVERY = 1.0  # seconds
# The upkeep, for beat and for workers without beat: a task of each name, and seconds.
INTERVALS = {
    "sweep": 5.0,
    "plan": 2.0,
    "fan_out": 1.0,
    "poll": 1.0,
    "drain": 5.0,
    "give_up": 30.0,
    "fold": 10.0,
    "forget_secrets": 5.0,
    "notion": 10.0,
    "supabase": 5.0,
    "watch": 30.0,
    "recount": 60.0,
    "tidy": 600.0,
}
SCHEDULE = {
    # A message that is older than its interval is superseded by the next one.
    name: {
        "task": f"postledger.{name}",
        "schedule": schedule(seconds),
        "options": {"expires": seconds},
    }
    for name, seconds in {"tick": TICK_EVERY, **INTERVALS}.items()
}


def publish_wake_up(stream_id: int) -> None:
    current_app.send_task(
        "postledger.wake",
        args=[stream_id],
        expires=celery_settings.WAKE_UP_LIFE.total_seconds(),
        retry=False,
    )


@shared_task(name="postledger.wake")
def wake(stream_id: int) -> None:
    """A stream has work now."""
    crashpoints.reached(Point.ON_WAKE_UP)
    dispatcher_step.wake(stream_id)


@shared_task(name="postledger.tick")
def tick() -> None:
    """Some stream may have due work."""
    dispatcher_step.tick()


@shared_task(name="postledger.sweep")
def sweep() -> None:
    """Takes all lost leases away, and lets the dispatcher poll for their work."""
    for _ in range(_SWEPT_AT_ONCE):
        swept = call_on_thread(ledger.sweep)
        if not swept.given_back:
            break
        dispatcher_step.report_sweep(swept)


@shared_task(name="postledger.drain")
def drain() -> None:
    """Books the waiting mail of cancelled streams."""
    for stream_id in call_on_thread(queries.cancelled_with_work):
        for _ in range(_DRAINED_AT_ONCE):
            if not call_on_thread(ledger.drain, stream_id):
                break


@shared_task(name="postledger.give_up")
def give_up() -> None:
    """Fails the due mail of senders that stayed blocked."""
    for stream_id in call_on_thread(queries.blocked_with_work):
        for _ in range(_DRAINED_AT_ONCE):
            count = call_on_thread(ledger.give_up, stream_id)
            if not count:
                break
            dispatcher_step.report_given_up(stream_id, count)


@shared_task(name="postledger.fold")
def fold() -> None:
    """Adds finished batches' counters to their streams."""
    call_on_thread(ledger.fold)


@shared_task(name="postledger.forget_secrets")
def forget_secrets() -> None:
    """Empties the mails with secret links that were sent."""
    call_on_thread(ledger.forget_secrets)


@shared_task(name="postledger.plan")
def plan() -> None:
    """Writes the audiences of launched campaigns into the ledger, notes first mails, and ends runs
    that are over.
    """
    call_on_thread(planning.plan_all)
    call_on_thread(run_control.note_first_mails)
    call_on_thread(run_control.end_finished_runs)


@shared_task(name="postledger.fan_out")
def fan_out() -> None:
    """Tells the subscriptions of published events, and ends notifications whose job never came."""
    call_on_thread(event_planner.plan_all)
    call_on_thread(past_notifications.expire_without_job, datetime.now(UTC))


@shared_task(name="postledger.poll")
def poll() -> None:
    """Reads the sources of events whose time has come."""
    call_on_thread(polling.poll_due)


@shared_task(name="postledger.notion")
def notion() -> None:
    """Reports the results of mailouts to Notion."""
    call_on_thread(status_reports.report_all, datetime.now(UTC))


@shared_task(name="postledger.supabase")
def supabase() -> None:
    """Syncs contacts with the subscribers of a Supabase project."""
    call_on_thread(syncing.sync_due, datetime.now(UTC))


@shared_task(name="postledger.watch")
def watch() -> None:
    """Opens, tells and closes alerts."""
    call_on_thread(watching.watch, datetime.now(UTC))


@shared_task(name="postledger.recount")
def recount() -> None:
    """Recounts the books of streams that have changed."""
    call_on_thread(recounts.recount_due, datetime.now(UTC))


@shared_task(name="postledger.tidy")
def tidy() -> None:
    """Creates partitions, retires idle streams, repeats erasures, and deletes what has expired:
    holds, minutes, uploads, unconfirmed contacts, idempotency keys, messages and unmatched events
    of providers, events of dropped months, and sessions.
    """
    call_on_thread(partitions.create_missing)
    call_on_thread(ledger.retire_idle_streams, idle=_IDLE_AFTER)
    call_on_thread(ledger.retire_marks)
    call_on_thread(ledger.forget_ended_holds)
    call_on_thread(ledger.forget_old_pace)
    call_on_thread(uploads.abandon_old_uploads, datetime.now(UTC))
    call_on_thread(erasure.retry_pending, datetime.now(UTC))
    call_on_thread(erasing.remove_unconfirmed, datetime.now(UTC))
    call_on_thread(idempotency.delete_expired, datetime.now(UTC))
    call_on_thread(inbox.drop_old_messages, datetime.now(UTC))
    call_on_thread(unmatched.drop_old_events, datetime.now(UTC))
    call_on_thread(past_notifications.forget_events)
    call_on_thread(sessions.delete_expired, datetime.now(UTC))
