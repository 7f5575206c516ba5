"""The door for runs of campaigns: see how far one is, and steer it."""

from datetime import UTC, datetime
from uuid import UUID

from django.http import HttpRequest
from ninja import Router
from ninja.responses import Status

from postledger.accounts.keys import Scope
from postledger.campaigns import launching, progress, steering
from postledger.web.api import run_forms
from postledger.web.api.run_forms import Launched, RetriedRun, RetryIn, RunOut
from postledger.web.shared import auth
from postledger.web.shared.problems import KINDS, Problem

router = Router(tags=["runs"])

_PROBLEMS = frozenset(KINDS)

_reader = auth.ApiKey(Scope.CAMPAIGNS_READ)
_writer = auth.ApiKey(Scope.CAMPAIGNS_WRITE)


@router.get(
    "/{uuid:run_id}",
    auth=_reader,
    response={200: RunOut, _PROBLEMS: Problem},
    operation_id="getRun",
    summary="See how far a run is",
)
def look(request: HttpRequest, run_id: UUID) -> RunOut:
    """Its books, why the rest waits, since when, and what will move it."""
    return _run(auth.caller(request).workspace_id, run_id)


@router.post(
    "/{uuid:run_id}/pause",
    auth=_writer,
    response={200: RunOut, _PROBLEMS: Problem},
    operation_id="pauseRun",
    summary="Pause a run",
)
def pause(request: HttpRequest, run_id: UUID) -> RunOut:
    """Only what is with a provider at this moment still goes."""
    caller = auth.caller(request)
    steering.pause(caller.workspace_id, run_id, actor=caller.actor)
    return _run(caller.workspace_id, run_id)


@router.post(
    "/{uuid:run_id}/resume",
    auth=_writer,
    response={200: RunOut, _PROBLEMS: Problem},
    operation_id="resumeRun",
    summary="Resume a run",
)
def resume(request: HttpRequest, run_id: UUID) -> RunOut:
    """Ends a pause; what holds the whole sender stays."""
    caller = auth.caller(request)
    steering.resume(caller.workspace_id, run_id, actor=caller.actor)
    return _run(caller.workspace_id, run_id)


@router.post(
    "/{uuid:run_id}/cancel",
    auth=_writer,
    response={200: RunOut, _PROBLEMS: Problem},
    operation_id="cancelRun",
    summary="Cancel a run",
)
def cancel(request: HttpRequest, run_id: UUID) -> RunOut:
    """For good: what has not gone is booked as cancelled."""
    caller = auth.caller(request)
    steering.cancel(caller.workspace_id, run_id, actor=caller.actor)
    return _run(caller.workspace_id, run_id)


@router.post(
    "/{uuid:run_id}/retry",
    auth=_writer,
    response={200: RetriedRun, _PROBLEMS: Problem},
    operation_id="retryRun",
    summary="Retry what failed",
)
def retry(request: HttpRequest, run_id: UUID, payload: RetryIn) -> RetriedRun:
    """Gives failures another chance, those of one code or all; a closed run is open again."""
    caller = auth.caller(request)
    requeued = steering.retry_failed(
        caller.workspace_id, run_id, code=payload.code, actor=caller.actor
    )
    found = progress.of(caller.workspace_id, run_id, now=datetime.now(UTC))
    return run_forms.retried(found, requeued=requeued)


@router.post(
    "/{uuid:run_id}/rest",
    auth=_writer,
    response={202: Launched, _PROBLEMS: Problem},
    operation_id="sendRest",
    summary="Send to the rest",
)
def rest(request: HttpRequest, run_id: UUID) -> Status[Launched]:
    """Sends what the campaign says now to those whom this run meant and none tried to reach."""
    caller = auth.caller(request)
    launched = launching.rest(
        caller.workspace_id,
        run_id,
        actor=caller.actor,
        now=datetime.now(UTC),
        is_sandboxed=caller.is_test,
    )
    return Status(202, run_forms.launched(launched))


@router.post(
    "/{uuid:run_id}/close",
    auth=_writer,
    response={200: RunOut, _PROBLEMS: Problem},
    operation_id="closeRun",
    summary="Close a run with its failures",
)
def close(request: HttpRequest, run_id: UUID) -> RunOut:
    """Says that this is all; possible once every mail has a result."""
    caller = auth.caller(request)
    steering.close(caller.workspace_id, run_id, actor=caller.actor, now=datetime.now(UTC))
    return _run(caller.workspace_id, run_id)


def _run(workspace_id: int, run_id: UUID) -> RunOut:
    return run_forms.run(progress.of(workspace_id, run_id, now=datetime.now(UTC)))
