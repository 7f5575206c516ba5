"""Stops the runs whose reports ask for it."""

import structlog
from django.conf import settings
from django.db import transaction

from postledger.accounts import trail
from postledger.deliveries import ledger, queries
from postledger.deliveries.queries import GuardedRun
from postledger.deliveries.reasons import Reason
from postledger.feedback import guard
from postledger.feedback.guard import Counts, Stop
from postledger.observability import metrics

_log = structlog.get_logger(__name__)
ACTOR = "guard"
_REPORTS = {Reason.BOUNCE_RATE: "bounces", Reason.COMPLAINT_RATE: "complaints"}


def stop_bad_runs() -> int:
    """Holds each run that the guard stops, until a person releases it; returns how many.

    It reads counters alone, so nothing is lost if it is not called for a while, and two callers at
    once hold a run once.
    """
    return sum(map(_stop_if_bad, queries.list_guarded_runs()))


def _stop_if_bad(run: GuardedRun) -> bool:
    counts = Counts(run.accepted, run.delivered, run.bounced, run.complained)
    stop = guard.judge(counts, bounces=settings.GUARD_BOUNCES, complaints=settings.GUARD_COMPLAINTS)
    return stop is not None and _hold(run, stop)


def _hold(run: GuardedRun, stop: Stop) -> bool:
    with transaction.atomic():
        is_held = ledger.hold(run.stream_id, reason=stop.reason, actor=ACTOR, detail=stop.detail)
        if is_held:
            trail.note(
                run.workspace_id,
                actor=ACTOR,
                action="stream.stopped",
                subject=f"stream {run.stream_id}",
                data={"reason": stop.reason.value, "detail": stop.detail},
            )
    if is_held:
        metrics.GUARD_STOPS.add(1, reports=_REPORTS[stop.reason])
        _log.warning(
            "run stopped itself",
            stream_id=run.stream_id,
            workspace_id=run.workspace_id,
            reason=stop.reason.value,
            detail=stop.detail,
        )
    return is_held
