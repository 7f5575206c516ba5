"""Changes the state of runs: pause, resume, cancel, retry, close, end. Each is idempotent."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import batched
from uuid import UUID

from django.db import transaction
from django.db.models.functions import Now

from postledger.accounts import trail
from postledger.campaigns import states
from postledger.campaigns.models import Run
from postledger.campaigns.runs import progress, requeueing, retry_outlook, run_log
from postledger.campaigns.runs.run_lookup import find_run
from postledger.campaigns.states import Ending, RunState
from postledger.deliveries import ledger, queries
from postledger.deliveries.entries import SeenDelivery
from postledger.deliveries.queries import Books
from postledger.deliveries.reasons import Reason
from postledger.deliveries.states import State
from postledger.lib import sentences, wake
from postledger.lib.errors import ConflictError
from postledger.lib.sentences import say

SYSTEM = "postledger"
ENDED_AT_ONCE = 1_000
_IN_THE_TRAIL: Mapping[Ending, trail.Action] = {
    Ending.SENT: "campaign.sent",
    Ending.CLOSED: "campaign.closed",
}
_SLIM = (
    *("workspace_id", "campaign_id", "stream_id", "is_test"),
    *("planned_at", "first_mail_at", "ended_as"),
)


class RunOverError(ConflictError):
    code = "run_over"


class RunBusyError(ConflictError):
    code = "run_busy"


def pause_run(workspace_id: int, run_id: UUID, *, actor: str) -> None:
    """Afterwards only armed windows are sent; planning goes on, because it sends nothing."""
    run = find_run(workspace_id, run_id)
    _check_live(run)
    with transaction.atomic():
        if ledger.hold(run.stream_id, reason=Reason.PAUSED, actor=actor):
            _log(run, "campaign.paused", actor)


def resume_run(workspace_id: int, run_id: UUID, *, actor: str) -> bool:
    """Returns whether the run was held: a hold of its sender or account stays."""
    run = find_run(workspace_id, run_id)
    _check_live(run)
    with transaction.atomic():
        is_released = ledger.release(run.stream_id)
        if is_released:
            _log(run, "campaign.resumed", actor)
    wake.notify(run.stream_id)
    return is_released


def cancel_run(workspace_id: int, run_id: UUID, *, actor: str) -> bool:
    """For good: nothing more is handed over, and waiting mail is booked as cancelled or, if the
    provider refuses the sender now, as failed. False if it was cancelled already.
    """
    run = find_run(workspace_id, run_id)
    if _is_cancelled(run):
        return False
    _check_live(run)
    with transaction.atomic():
        is_cancelled = ledger.cancel(run.stream_id, actor=actor)
        if is_cancelled:
            _log(run, "campaign.cancelled", actor)
    return is_cancelled


@dataclass(frozen=True, slots=True)
class Retried:
    requeued: int
    stopped: int  # they stay failed


def retry_failed(
    workspace_id: int, run_id: UUID, *, code: str | None = None, actor: str
) -> Retried:
    """Requeues the failures of one code, or all of them.

    Those whose recipient gets no mail now stay failed: no provider would be asked about them.
    A mail of which nothing was handed over is filled in with the values that its contact has now.
    Concurrent calls requeue each failure once: a mail that changed since it was read is skipped.
    After a crash in between, a repeated call requeues the remaining failures.
    """
    run = find_run(workspace_id, run_id)
    if _is_cancelled(run):
        raise _run_over(run)
    requeued = stopped_count = 0
    for failed in retry_outlook.iterate_failed(run, code=code):
        stopped = retry_outlook.find_stopped(run, failed)
        stopped_count += len(stopped)
        tried = [mail for mail in failed if mail.position not in stopped]
        seen = [SeenDelivery(mail.position, mail.last_try) for mail in tried]
        if seen:
            requeued += len(requeueing.requeue_of_run(run, seen, actor=actor))
    if requeued:
        _log(run, "campaign.retried", actor, requeued=requeued)
        wake.notify(run.stream_id)
    return Retried(requeued, stopped_count)


def close_run(workspace_id: int, run_id: UUID, *, actor: str, now: datetime) -> None:
    """Ends a run with its failures and doubts, by a person's decision."""
    run = find_run(workspace_id, run_id)
    with transaction.atomic():
        run = requeueing.lock_run(run)
        if run.ended_as == Ending.CLOSED:
            return
        _check_live(run)
        current = progress.find_progress(workspace_id, run_id, now=now)
        if current.state is RunState.SENT:
            return  # without a failure it ends by itself
        if current.planned_at is None or current.waiting:
            raise RunBusyError(
                say(
                    "The run is still going on; mails without a result yet: %(waiting)s. Cancel it,"
                    " or wait until all have one; then it can be closed.",
                    waiting=current.waiting,
                )
            )
        _end(run, Ending.CLOSED, actor)


def note_first_mails() -> None:
    """Logs each live run of which a provider has accepted a mail, once."""
    fresh = Run.objects.filter(ended_at=None, first_mail_at=None).only(*_SLIM)
    for runs in batched(fresh.iterator(chunk_size=ENDED_AT_ONCE), ENDED_AT_ONCE):
        books = queries.read_books([run.stream_id for run in runs])
        for run in runs:
            _note_first_mail(run, books[run.stream_id])


def _note_first_mail(run: Run, books: Books) -> None:
    if run.first_mail_at is not None or not books.counts[State.ACCEPTED]:
        return
    with transaction.atomic():
        fresh = Run.objects.filter(pk=run.pk, first_mail_at=None)
        if fresh.update(first_mail_at=Now()):
            run_log.log("campaign sent its first mail", run)


def end_finished_runs() -> int:
    """Ends every run whose books balance without an open decision; returns how many."""
    live = Run.objects.filter(ended_at=None, planned_at__isnull=False).order_by("launched_at")
    # Without the snapshot, which may be large.
    slim = live.only(*_SLIM)
    parts = batched(slim.iterator(chunk_size=ENDED_AT_ONCE), ENDED_AT_ONCE)
    return sum(map(_end_finished, parts))


def _end_finished(runs: Sequence[Run]) -> int:
    """Reads the books of all runs together: a run that nobody closes is read again for ever."""
    stream_ids = [run.stream_id for run in runs]
    books, streams = queries.read_books(stream_ids), queries.find_streams(stream_ids)
    ended = 0
    for run in runs:
        is_cancelled = queries.is_cancelled(streams.get(run.stream_id))
        _note_first_mail(run, books[run.stream_id])
        ending = states.ending_of(
            progress.facts(run, books[run.stream_id], is_cancelled=is_cancelled, is_held=False)
        )
        if ending is not None:
            with transaction.atomic():
                ended += _end(run, ending, SYSTEM)
    return ended


def _end(run: Run, ending: Ending, actor: str) -> bool:
    live = Run.objects.filter(pk=run.pk, ended_at=None)
    if not live.update(ended_at=Now(), ended_as=ending.value, ended_by=actor):
        return False
    # A test that went is no news, and a cancelled run was noted when it was cancelled.
    if ending is Ending.CLOSED or (ending is Ending.SENT and not run.is_test):
        _note_in_trail(run, _IN_THE_TRAIL[ending], actor)
    run_log.log("campaign ended", run, ended_as=ending.value)
    return True


def _check_live(run: Run) -> None:
    """Reopens an ended run whose mail was requeued by other means; refuses one without."""
    if run.ended_at is None:
        return
    if not queries.read_books([run.stream_id])[run.stream_id].waiting:
        raise _run_over(run)
    requeueing.reopen_run(run)


def _is_cancelled(run: Run) -> bool:
    return queries.is_cancelled(queries.find_stream(run.stream_id))


_OVER = {
    Ending.SENT: say("The run is over: it was sent."),
    Ending.CLOSED: say("The run is over: it was closed."),
    Ending.CANCELLED: say("The run is over: it was cancelled."),
}


def _run_over(run: Run) -> RunOverError:
    ending = Ending(run.ended_as or Ending.CANCELLED)
    remedy = say("Send to the remaining recipients, or launch another campaign.")
    return RunOverError(sentences.join([_OVER[ending], remedy]))


def _log(run: Run, action: trail.Action, actor: str, **data: int) -> None:
    run_log.log(action.replace(".", " "), run, **data)
    _note_in_trail(run, action, actor, **data)


def _note_in_trail(run: Run, action: trail.Action, actor: str, **data: int) -> None:
    trail.note(
        run.workspace_id, actor=actor, action=action, subject=f"run {run.pk}", data=dict(data)
    )
