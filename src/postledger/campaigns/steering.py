"""Steers runs: pause, resume, cancel, retry what failed, close. Each may be repeated at will."""

from datetime import datetime
from typing import ClassVar
from uuid import UUID

from django.db import transaction
from django.db.models.functions import Now

from postledger.accounts import trail
from postledger.campaigns import launching, progress
from postledger.campaigns.models import Run
from postledger.campaigns.states import Ending, RunState
from postledger.deliveries import ledger, queries, undecided
from postledger.deliveries.entries import Seen
from postledger.deliveries.reasons import Reason
from postledger.deliveries.states import State
from postledger.lib import wake
from postledger.lib.errors import RefusedError

_AT_ONCE = 500


class RunOverError(RefusedError):
    code: ClassVar[str] = "run_over"


class RunBusyError(RefusedError):
    code: ClassVar[str] = "run_busy"


def find(workspace_id: int, run_id: UUID) -> Run:
    run = Run.objects.filter(workspace_id=workspace_id, pk=run_id).first()
    if run is None:
        raise launching.unknown_run()
    return run


def pause(workspace_id: int, run_id: UUID, *, actor: str) -> None:
    """After this only windows already armed may go; planning goes on, for it sends nothing."""
    run = _alive(workspace_id, run_id)
    with transaction.atomic():
        if ledger.hold(run.stream_id, reason=Reason.PAUSED, actor=actor):
            _note(run, "campaign.paused", actor)


def resume(workspace_id: int, run_id: UUID, *, actor: str) -> None:
    run = _alive(workspace_id, run_id)
    with transaction.atomic():
        if ledger.release(run.stream_id):
            _note(run, "campaign.resumed", actor)
    wake.ring(run.stream_id)


def cancel(workspace_id: int, run_id: UUID, *, actor: str) -> None:
    """For good: nothing more is handed over, and what has not gone is booked as cancelled."""
    run = find(workspace_id, run_id)
    if _is_cancelled(run):
        return
    _check_alive(run)
    with transaction.atomic():
        if ledger.cancel(run.stream_id, actor=actor):
            _note(run, "campaign.cancelled", actor)


def retry_failed(workspace_id: int, run_id: UUID, *, code: str | None = None, actor: str) -> int:
    """Gives what failed another chance, of one cause or of all; says how many that were.

    Each failure is requeued once, however many ask at a time: a click counts only while the mail
    is as it was seen. Killed in between, what is requeued goes, and a repeated call does the rest.
    """
    run = find(workspace_id, run_id)
    if _is_cancelled(run):
        raise _over(run)
    requeued, after = 0, -1
    while failed := undecided.undecided(
        run.stream_id, State.FAILED, after=after, code=code, limit=_AT_ONCE
    ):
        after = failed[-1].position
        seen = [Seen(found.position, found.last_try) for found in failed]
        with transaction.atomic():
            # Locked, so that nobody closes it, because nothing waits, at this very moment.
            there = _locked(run)
            taken = len(ledger.requeue(run.stream_id, seen, actor=actor))
            if taken:
                _reopen(there)
            requeued += taken
    if requeued:
        _note(run, "campaign.retried", actor, requeued=requeued)
        wake.ring(run.stream_id)
    return requeued


def close(workspace_id: int, run_id: UUID, *, actor: str, now: datetime) -> None:
    """Ends a run with its failures, and with its doubts: a person says that this is all."""
    run = find(workspace_id, run_id)
    with transaction.atomic():
        there = _locked(run)
        if there.ended_as == Ending.CLOSED:
            return
        _check_alive(there)
        found = progress.of(workspace_id, run_id, now=now)
        if found.state is RunState.SENT:
            return  # nothing failed: it ends by itself
        if found.planned_at is None or found.waiting:
            raise RunBusyError(
                f"The run is {found.state.value}, and {found.waiting:,} mails have no result yet."
                " Cancel it, or wait until all have one; then it can be closed."
            )
        _end(run, Ending.CLOSED, actor)


def _locked(run: Run) -> Run:
    return Run.objects.select_for_update(no_key=True).get(pk=run.pk)


def _end(run: Run, ending: Ending, actor: str) -> None:
    alive = Run.objects.filter(pk=run.pk, ended_at=None)
    if alive.update(ended_at=Now(), ended_as=ending.value, ended_by=actor):
        _note(run, f"campaign.{ending.value}", actor)


def _reopen(run: Run) -> None:
    """A run that was closed with its failures is open again when some of them go once more."""
    ended = Run.objects.filter(pk=run.pk, ended_at__isnull=False)
    ended.update(ended_at=None, ended_as=None, ended_by="")


def _alive(workspace_id: int, run_id: UUID) -> Run:
    run = find(workspace_id, run_id)
    _check_alive(run)
    return run


def _check_alive(run: Run) -> None:
    """One that is over is alive again while mail of it waits, whoever gave it another chance."""
    if run.ended_at is None:
        return
    if not queries.books_of([run.stream_id])[run.stream_id].waiting:
        raise _over(run)
    _reopen(run)


def _is_cancelled(run: Run) -> bool:
    return queries.is_cancelled(queries.stream(run.stream_id))


def _over(run: Run) -> RunOverError:
    return RunOverError(
        f"The run is over: it was {run.ended_as or Ending.CANCELLED.value}."
        " Send to the rest, or launch another campaign."
    )


def _note(run: Run, action: str, actor: str, **data: int) -> None:
    trail.note(
        run.workspace_id, actor=actor, action=action, subject=f"run {run.pk}", data=dict(data)
    )
