"""Why the mails of a run wait: planning first, then what holds its stream."""

from datetime import datetime
from uuid import UUID

from django.utils.translation import gettext

from postledger.campaigns.runs import progress
from postledger.campaigns.runs.progress import AudienceWait, PlanningIssue, Progress, ReadRun
from postledger.campaigns.runs.run_lookup import find_run
from postledger.campaigns.states import RunState
from postledger.deliveries.explanations import why
from postledger.deliveries.explanations.reason_texts import explain_reason
from postledger.deliveries.explanations.why import Cause
from postledger.lib.sentences import say


def list_run_causes(workspace_id: int, run_id: UUID, *, now: datetime) -> list[Cause]:
    """What keeps the mail of a run back; empty if all of it has gone."""
    [read] = progress.read_runs([find_run(workspace_id, run_id)], now=now)
    return explain_run(read, now=now)


def explain_run(read: ReadRun, *, now: datetime) -> list[Cause]:
    """The same of a run that was read already. Pure."""
    run, stream = read.progress, read.stream
    causes = [] if stream is None else why.list_stream_causes(stream, read.waits, now=now)
    if run.state is RunState.OPEN:
        return [_explain_open()]
    if stream is None or stream.cancelled_at is not None:
        return causes
    if run.planned_at is None and not read.waits:
        causes = list(why.list_stops(stream, now=now))
    return [*_explain_planning(run), *causes]


def _explain_open() -> Cause:
    return Cause(
        "open",
        gettext("Every mail has a result, and some failed or are in doubt."),
        None,
        None,
        gettext("a person's decision"),
        gettext("Retry the failures, decide the doubts, or close the run."),
    )


def _explain_planning(run: Progress) -> list[Cause]:
    if run.planned_at is not None:
        return []
    if run.planning_issue is not None:
        return [_explain_trouble(run.planning_issue)]
    if run.audience_wait is not None:
        return [_explain_audience_wait(run.audience_wait)]
    return [
        Cause(
            "planning",
            gettext("Its audience is being planned."),
            run.launched_at,
            None,
            gettext("a worker plans it"),
            gettext("Nothing: it goes on by itself."),
        )
    ]


def _explain_trouble(issue: PlanningIssue) -> Cause:
    return Cause(
        "planning_stopped",
        say("Planning its audience has stopped: %(detail)s", detail=issue.detail),
        issue.since,
        None,
        gettext("the next try"),
        gettext("Mend it; a worker tries again all the time."),
    )


def _explain_audience_wait(wait: AudienceWait) -> Cause:
    because = gettext("It waits because %(why)s.") % {"why": wait.why}
    return Cause(
        wait.reason,
        f"{because} {wait.detail}".strip(),
        wait.since,
        None,
        wait.moved_by,
        explain_reason(wait.reason).advice,
    )
