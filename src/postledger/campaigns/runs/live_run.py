"""One run as a person watches it: its books, its pace, what keeps it back, and what failed."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from postledger.accounts import queries
from postledger.campaigns.models import Campaign
from postledger.campaigns.runs import progress, report, retry_outlook, run_causes, run_leavers
from postledger.campaigns.runs.progress import Progress
from postledger.campaigns.runs.report import Failure
from postledger.campaigns.runs.retry_outlook import RetryOutlook
from postledger.campaigns.runs.run_lookup import find_run
from postledger.deliveries.explanations.why import Cause
from postledger.deliveries.figures import pace
from postledger.deliveries.figures.pace import PaceSeries
from postledger.deliveries.states import State


@dataclass(frozen=True, slots=True)
class LiveRun:
    """One run at one moment; the states in `progress.books` are of one snapshot and add up."""

    name: str  # of the campaign
    tag: str
    list_key: str  # empty: all that the workspace sends
    sender: str  # of this run: the draft of a test may have another one since
    sender_id: int
    is_deleted: bool  # the draft, after this test
    progress: Progress
    causes: Sequence[Cause]  # what keeps mail back, first what ends last
    series: PaceSeries  # accepted mails from its first result to its last
    failures: Sequence[Failure]  # failed or in doubt, the most frequent cause first
    retry: RetryOutlook  # of the first failures
    unsubscribed: int | None  # by a link, this mail being their last; None: too many to count


def read_live_run(
    workspace_id: int, run_id: UUID, *, only_sandboxed: bool = False, now: datetime
) -> LiveRun:
    """Ten queries, and up to four more where mail failed, people left, or the draft of a test has
    another sender by now.
    """
    run = find_run(workspace_id, run_id, only_sandboxed=only_sandboxed)
    campaign = Campaign.with_deleted.select_related("sender").get(pk=run.campaign_id)
    [read] = progress.read_runs([run], now=now)
    sender = campaign.sender
    if read.stream is not None and read.stream.sender_id != sender.pk:
        sender = queries.get_sender(workspace_id, read.stream.sender_id)
    has_failed = read.progress.books.counts[State.FAILED] > 0
    return LiveRun(
        name=campaign.name,
        tag=campaign.tag,
        list_key=run.list_key,
        sender=sender.address,
        sender_id=sender.pk,
        is_deleted=campaign.deleted_at is not None,
        progress=read.progress,
        causes=run_causes.explain_run(read, now=now),
        series=pace.read_pace(run.stream_id),
        failures=report.find_failures(run.stream_id),
        unsubscribed=run_leavers.count_leavers(run, now=now),
        retry=retry_outlook.glance(run) if has_failed else retry_outlook.NOTHING_FAILED,
    )
