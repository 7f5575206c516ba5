"""Why the mails of a run wait: planning first, then what holds its stream."""

from datetime import datetime
from uuid import UUID

from postledger.campaigns import progress
from postledger.campaigns.progress import Progress
from postledger.campaigns.states import RunState
from postledger.deliveries import queries, why
from postledger.deliveries.reasons import Reason
from postledger.deliveries.why import Cause

_OPEN = "Retry the failures, decide the doubts, or close the run."


def list_run_causes(workspace_id: int, run_id: UUID, *, now: datetime) -> list[Cause]:
    """What keeps the mail of a run back; empty if all of it has gone."""
    run = progress.find_progress(workspace_id, run_id, now=now)
    stream = queries.find_stream(run.number)
    waits = queries.summarise_waits(run.number)
    causes = [] if stream is None else why.list_stream_causes(stream, waits, now=now)
    if run.state is RunState.OPEN:
        sentence = "Every mail has a result, and some failed or are in doubt."
        return [Cause("open", sentence, None, None, "a person's decision", _OPEN)]
    if stream is None or stream.cancelled_at is not None:
        return causes
    return [*_explain_planning(run), *causes]


def _explain_planning(run: Progress) -> list[Cause]:
    if run.planned_at is not None:
        return []
    if run.planning_issue is not None:
        issue = run.planning_issue
        advice = "Mend it; a worker tries again all the time."
        sentence = f"Planning its audience has stopped: {issue.detail}"
        return [Cause("planning_stopped", sentence, issue.since, None, "the next try", advice)]
    if run.audience_wait is not None:
        wait = run.audience_wait
        sentence = f"It waits because {wait.why}. {wait.detail}".strip()
        advice = why.ADVICE[Reason.AUDIENCE_SYNCING]
        return [Cause(wait.reason, sentence, wait.since, None, wait.moved_by, advice)]
    sentence = "Its audience is being planned."
    advice = "Nothing: it goes on by itself."
    return [Cause("planning", sentence, run.launched_at, None, "a worker plans it", advice)]
