"""Routes for runs of campaigns: progress, steering and reports."""

from dataclasses import replace
from typing import Annotated
from uuid import UUID

from django.http import StreamingHttpResponse
from ninja import Path, Query

from postledger.accounts.keys import Scope
from postledger.campaigns.drafts import forecasts
from postledger.campaigns.launches import launching
from postledger.campaigns.planning import exclusions
from postledger.campaigns.runs import progress, report, run_control, run_lookup
from postledger.campaigns.runs.progress import Progress
from postledger.campaigns.runs.report import Failure
from postledger.deliveries import queries
from postledger.deliveries.figures import pace
from postledger.deliveries.states import State
from postledger.dispatch import heartbeat
from postledger.feedback import event_flow
from postledger.observability import masking
from postledger.web.api.common.pagination import cut_page
from postledger.web.api.common.routing import Call, Routes
from postledger.web.api.runs.schemas import (
    ExclusionPage,
    ExclusionsQuery,
    Failures,
    ForecastRun,
    Launched,
    PaceSeriesOut,
    RetriedRun,
    RetryIn,
    RunOut,
)
from postledger.web.shared.csv_files import csv_response

routes = Routes("runs", read=Scope.CAMPAIGNS_READ, write=Scope.CAMPAIGNS_WRITE)

RunId = Annotated[UUID, Path(description="The id of the run.")]


@routes.get("/{uuid:run_id}", ForecastRun)
def get_run(call: Call, run_id: RunId) -> dict[str, object]:
    """The books of the run, why the remaining mails wait, what will move them, and when it ends."""
    run = _find_progress(call, run_id)
    forecast = forecasts.forecast_run(
        call.workspace_id, run, worker_count=heartbeat.count_alive(), now=call.now
    )
    return {**dict(RunOut.model_validate(run)), "forecast": forecast}


@routes.post("/{uuid:run_id}/pause", RunOut)
def pause_run(call: Call, run_id: RunId) -> Progress:
    """Pauses the run. Mails that a provider is receiving at this moment are still sent."""
    run_control.pause_run(call.workspace_id, run_id, actor=call.actor)
    return _find_progress(call, run_id)


@routes.post("/{uuid:run_id}/resume", RunOut)
def resume_run(call: Call, run_id: RunId) -> Progress:
    """Ends a pause. A hold of the whole sender stays."""
    run_control.resume_run(call.workspace_id, run_id, actor=call.actor)
    return _find_progress(call, run_id)


@routes.post("/{uuid:run_id}/cancel", RunOut)
def cancel_run(call: Call, run_id: RunId) -> Progress:
    """Cancels the run for good. Mails that were not sent become cancelled."""
    run_control.cancel_run(call.workspace_id, run_id, actor=call.actor)
    return _find_progress(call, run_id)


@routes.post("/{uuid:run_id}/retry", RetriedRun)
def retry_run(call: Call, run_id: RunId, payload: RetryIn) -> dict[str, object]:
    """Sends failed mails again, those of one code or all. Reopens a closed run.

    A mail of which nothing was handed over is made with the contact's current values. One whose
    recipient paused, unsubscribed or complained since, or whose address bounced or was suppressed,
    stays failed.
    """
    retried = run_control.retry_failed(
        call.workspace_id, run_id, code=payload.code, actor=call.actor
    )
    run = RunOut.model_validate(_find_progress(call, run_id))
    return {**dict(run), "requeued": retried.requeued}


@routes.post("/{uuid:run_id}/remaining", Launched, status=202, shown_with=None)
def send_remaining(call: Call, run_id: RunId) -> dict[str, object]:
    """Sends the campaign's current content to the recipients whose mail was never handed over."""
    launched = launching.launch_remaining(
        call.workspace_id, run_id, actor=call.actor, member_id=call.member_id, now=call.now
    )
    return {"run_id": launched}


@routes.post("/{uuid:run_id}/close", RunOut)
def close_run(call: Call, run_id: RunId) -> Progress:
    """Closes the run with its failures. Every mail must have a result."""
    run_control.close_run(call.workspace_id, run_id, actor=call.actor, now=call.now)
    return _find_progress(call, run_id)


@routes.get_csv("/{uuid:run_id}/report.csv", scopes=[Scope.CAMPAIGNS_READ, Scope.CONTACTS_READ])
def get_run_report(call: Call, run_id: RunId) -> StreamingHttpResponse:
    """One line for each mail: email, status, error_message, message_id, sent_at, feedback,
    feedback_at.

    Safe for spreadsheets: cells that they would execute begin with an apostrophe.
    """
    lines = report.write_csv(call.workspace_id, run_id)
    report.note_download(call.workspace_id, run_id, actor=call.actor)
    return csv_response(lines, file_name=report.name_file(call.workspace_id, run_id))


@routes.get("/{uuid:run_id}/failures", Failures)
def list_run_failures(call: Call, run_id: RunId) -> dict[str, object]:
    """Mails of the run that failed or are in doubt, by cause, with what to do.

    Without the scope contacts:read, addresses in the examples are masked.
    """
    failures = report.list_failures(call.workspace_id, run_id, only_sandboxed=call.is_test)
    if not call.may_read_contacts:
        failures = [
            replace(failure, example=masking.mask_text(failure.example)) for failure in failures
        ]
    return {"failures": [_add_events(call, run_id, failure) for failure in failures]}


def _add_events(call: Call, run_id: RunId, failure: Failure) -> Failure:
    """Beside a doubt: whether the events arrive that would end it."""
    if failure.state is not State.IN_DOUBT:
        return failure
    stream_id = run_lookup.find_run(call.workspace_id, run_id).stream_id
    stream = queries.find_stream(stream_id)
    if stream is None or stream.is_test:
        return failure
    flow = event_flow.find_flow(stream.sender_id, now=call.now)
    remedy = f"{failure.remedy} Of its sender: {event_flow.describe(flow, now=call.now)}."
    return replace(failure, remedy=remedy)


@routes.get("/{uuid:run_id}/pace", PaceSeriesOut)
def get_run_pace(call: Call, run_id: RunId) -> dict[str, object]:
    """How many mails were accepted, from the first result of the run to its last."""
    run = run_lookup.find_run(call.workspace_id, run_id)
    series = pace.read_pace(run.stream_id)
    return {"seconds": int(series.width.total_seconds()), "points": series.points}


@routes.get(
    "/{uuid:run_id}/exclusions",
    ExclusionPage,
    scopes=[Scope.CAMPAIGNS_READ, Scope.CONTACTS_READ],
)
def list_run_exclusions(
    call: Call, run_id: RunId, query: Query[ExclusionsQuery]
) -> dict[str, object]:
    """Contacts of the audience that get no mail of the run, each with its reason."""
    listed = exclusions.list_exclusions(
        call.workspace_id,
        run_id,
        reason=query.reason,
        after=query.after,
        limit=query.limit + 1,
    )
    return cut_page("exclusions", listed, query.limit, lambda exclusion: exclusion.contact_id)


def hide_addresses(call: Call, run: Progress) -> Progress:
    """The run as this caller may see it: a provider's answer may quote a recipient."""
    if call.may_read_contacts:
        return run
    holds = [replace(hold, detail=masking.mask_text(hold.detail)) for hold in run.holds]
    return replace(run, holds=holds)


def _find_progress(call: Call, run_id: RunId) -> Progress:
    run = progress.find_progress(
        call.workspace_id, run_id, only_sandboxed=call.is_test, now=call.now
    )
    return hide_addresses(call, run)
