"""The progress of a run: its books, its waiting mail by reason, and its pace."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.utils.translation import gettext

from postledger.campaigns import states
from postledger.campaigns.models import Campaign, Run
from postledger.campaigns.runs.run_lookup import CampaignUnknownError, find_run
from postledger.campaigns.states import Ending, RunFacts, RunState
from postledger.deliveries import causes, queries
from postledger.deliveries.entries import Hold, HoldScope
from postledger.deliveries.explanations.explain import format_time
from postledger.deliveries.explanations.reason_texts import explain_reason
from postledger.deliveries.figures import pace
from postledger.deliveries.queries import Books, ReportCounts, StreamFacts, WaitSummary
from postledger.deliveries.reasons import LIMIT_REASONS, Reason
from postledger.deliveries.states import State
from postledger.lib import sentences
from postledger.lib.ids import LAST_ID
from postledger.lib.sentences import say
from postledger.mailing import send_times
from postledger.supabase import passes
from postledger.supabase.passes import PassFailure

PAGE = 25
# Mails a second: a lower rate is that of a few results, and says little about the rest.
_SLOWEST = 0.1


@dataclass(frozen=True, slots=True)
class Pace:
    mails_per_second: float
    ends_at: datetime | None  # None: cannot be predicted


@dataclass(frozen=True, slots=True)
class RunHold:
    """One cause of a hold in force: nothing is sent while it lasts."""

    scope: HoldScope
    reason: Reason
    why: str
    moved_by: str
    since: datetime
    until: datetime | None
    actor: str
    detail: str
    fails_at: datetime | None  # from when on mail that is due fails, if nobody acts


@dataclass(frozen=True, slots=True)
class WaitingMails:
    """Mails that have no result yet for one reason."""

    reason: Reason
    why: str
    moved_by: str
    mails: int  # an upper bound: some of these may have a result
    since: datetime
    next_due_at: datetime


@dataclass(frozen=True, slots=True)
class PlanningIssue:
    """Why planning does not go on; a worker tries again all the time."""

    detail: str
    since: datetime | None


@dataclass(frozen=True, slots=True)
class AudienceWait:
    """Why planning has not begun: the contacts of the audience are not up to date."""

    reason: Reason
    why: str
    moved_by: str
    since: datetime
    detail: str  # what goes wrong meanwhile; empty: nothing


@dataclass(frozen=True, slots=True)
class Progress:
    """One run at one moment."""

    run_id: UUID
    number: int  # rises from run to run
    campaign_id: int
    launch_id: UUID
    state: RunState
    is_test: bool
    is_remaining: bool  # it goes to those whom previous runs did not mail
    actor: str
    launched_at: datetime
    starts_at: datetime | None  # of its first mail, as it was scheduled; None: at once
    planned_at: datetime | None
    ended_at: datetime | None
    ended_by: str
    books: Books
    feedback: ReportCounts  # beside the books
    excluded: Mapping[str, int]  # contacts of the audience without mail, by cause
    trouble: str  # why planning stopped
    trouble_since: datetime | None
    audience_wait: AudienceWait | None
    holds: Sequence[RunHold]  # of the run, its sender or the account; first what ends last
    waits: Sequence[WaitingMails]  # waiting mail by reason
    pace: Pace | None  # of a run that sends, if it can be measured

    @property
    def hold(self) -> RunHold | None:
        return self.holds[0] if self.holds else None

    @property
    def next_due_at(self) -> datetime | None:
        """Of its first waiting mail; None: none waits."""
        return min((wait.next_due_at for wait in self.waits), default=None)

    @property
    def waiting(self) -> int:
        return self.books.waiting

    @property
    def planning_issue(self) -> PlanningIssue | None:
        return PlanningIssue(self.trouble, self.trouble_since) if self.trouble else None


def find_progress(
    workspace_id: int, run_id: UUID, *, only_sandboxed: bool = False, now: datetime
) -> Progress:
    run = find_run(workspace_id, run_id, only_sandboxed=only_sandboxed)
    return read_runs([run], now=now)[0].progress


def list_progress(  # noqa: PLR0913  the parts of a query, each by its name
    workspace_id: int,
    campaign_id: int,
    *,
    only_sandboxed: bool = False,
    before: int = LAST_ID,
    limit: int = PAGE,
    now: datetime,
) -> list[Progress]:
    """A campaign's runs, the newest first; `before` is the last number of the previous page."""
    if not Campaign.objects.filter(workspace_id=workspace_id, pk=campaign_id).exists():
        raise CampaignUnknownError(say("Campaign not found."))
    runs = Run.objects.filter(campaign_id=campaign_id, stream_id__lt=before)
    if only_sandboxed:
        runs = runs.filter(is_sandboxed=True)
    newest = list(runs.order_by("-stream_id")[:limit])
    return [read.progress for read in read_runs(newest, now=now)]


@dataclass(frozen=True, slots=True)
class ReadRun:
    """A run with the facts that its progress was made of."""

    progress: Progress
    stream: StreamFacts | None
    waits: Sequence[WaitSummary]


@dataclass(frozen=True, slots=True)
class _Figures:
    """What the ledger says of some streams at one moment, by their ids."""

    streams: Mapping[int, StreamFacts]
    books: Mapping[int, Books]
    waits: Mapping[int, Sequence[WaitSummary]]
    feedback: Mapping[int, ReportCounts]
    rates: Mapping[int, float]
    pass_failures: Mapping[int, PassFailure | None]  # by workspace, where a run awaits a pass


def read_runs(runs: Sequence[Run], *, now: datetime) -> list[ReadRun]:
    """The progress of some runs; as many queries for many runs as for one."""
    ids = [run.stream_id for run in runs]
    figures = _Figures(
        queries.find_streams(ids),
        queries.read_books(ids),
        queries.summarise_all_waits(ids),
        queries.read_report_counts(ids),
        pace.read_rates(ids, now=now),
        {
            workspace_id: passes.find_failure(workspace_id)
            for workspace_id in {run.workspace_id for run in runs if _awaits_pass(run)}
        },
    )
    return [_read_run(run, figures, now) for run in runs]


def find_start(run: Run) -> datetime | None:
    """When the first of its recipients are due, as the launch fixed it; None: at once."""
    try:
        moments = [send_times.wave_from_json(wave).due_at for wave in run.waves]
    except ValueError:  # planning says so, in the run's trouble
        return None
    scheduled = [moment for moment in moments if moment is not None]
    return min(scheduled) if scheduled and len(scheduled) == len(moments) else None


def read_states(
    runs: Sequence[Run], *, now: datetime
) -> list[tuple[RunState, Books, Sequence[Hold]]]:
    """The states and books of some runs and what holds them, in their order; two queries."""
    ids = [run.stream_id for run in runs]
    streams, books = queries.find_streams(ids), queries.read_books(ids)
    return [
        (
            _find_state(run, books[id_], streams.get(id_), now),
            books[id_],
            _list_holds(streams.get(id_), now),
        )
        for id_, run in zip(ids, runs, strict=True)
    ]


def _find_state(run: Run, books: Books, stream: StreamFacts | None, now: datetime) -> RunState:
    is_held = _is_paused(_list_holds(stream, now))
    is_cancelled = queries.is_cancelled(stream)
    return states.state_of(facts(run, books, is_cancelled=is_cancelled, is_held=is_held))


def _list_holds(stream: StreamFacts | None, now: datetime) -> Sequence[Hold]:
    return causes.sort_in_force(stream.holds if stream else (), now=now)


def _read_run(run: Run, figures: _Figures, now: datetime) -> ReadRun:
    stream = figures.streams.get(run.stream_id)
    books = figures.books[run.stream_id]
    holds = _list_holds(stream, now)
    is_cancelled = queries.is_cancelled(stream)
    state = _find_state(run, books, stream, now)
    waits = figures.waits[run.stream_id]
    is_sending = state in {RunState.PLANNING, RunState.SENDING}
    rate = figures.rates.get(run.stream_id, 0.0) if is_sending else 0.0
    failure = figures.pass_failures.get(run.workspace_id)
    progress = Progress(
        run_id=run.pk,
        number=run.stream_id,
        campaign_id=run.campaign_id,
        launch_id=run.launch_id,
        state=state,
        is_test=run.is_test,
        is_remaining=run.root_id is not None,
        actor=run.actor,
        launched_at=run.launched_at,
        starts_at=find_start(run),
        planned_at=run.planned_at,
        ended_at=run.ended_at,
        ended_by=run.ended_by,
        books=books,
        feedback=figures.feedback[run.stream_id],
        excluded=run.excluded,
        trouble=sentences.read_document(run.trouble),
        trouble_since=run.trouble_since,
        audience_wait=None if is_cancelled else _audience_wait(run, failure),
        holds=list(map(_run_hold, holds)),
        waits=[_waiting_mails(wait, holds, books.waiting) for wait in waits],
        pace=None if rate < _SLOWEST else _pace(run, books.waiting, waits, rate=rate, now=now),
    )
    return ReadRun(progress, stream, waits)


def explain_planning(stream_id: int) -> list[str]:
    """Why the audience of a run is not in the ledger yet; empty if it is, or if there is no run."""
    run = Run.objects.filter(stream_id=stream_id, planned_at=None).first()
    if run is None:
        return []
    if run.trouble and run.trouble_since:
        values = {
            "time": format_time(run.trouble_since),
            "detail": sentences.read_document(run.trouble),
        }
        return [gettext("Planning stopped at %(time)s: %(detail)s") % values]
    failure = passes.find_failure(run.workspace_id) if _awaits_pass(run) else None
    wait = _audience_wait(run, failure)
    if wait is None:
        return [gettext("Its audience is being planned.")]
    sentence = gettext("It has waited since %(time)s because %(why)s; %(moved_by)s.") % {
        "time": format_time(wait.since),
        "why": wait.why,
        "moved_by": wait.moved_by,
    }
    return [sentence, wait.detail] if wait.detail else [sentence]


def _awaits_pass(run: Run) -> bool:
    return run.awaited_pass is not None and run.planned_at is None


def _audience_wait(run: Run, failure: PassFailure | None) -> AudienceWait | None:
    if not _awaits_pass(run):
        return None
    explanation = explain_reason(Reason.AUDIENCE_SYNCING)
    return AudienceWait(
        Reason.AUDIENCE_SYNCING,
        explanation.why,
        explanation.moved_by,
        run.launched_at,
        _describe_failure(failure),
    )


def _describe_failure(failure: PassFailure | None) -> str:
    if failure is None:
        return ""
    if failure.since is None:
        sentence = gettext("Reading the subscribers has failed: %(detail)s")
        return sentence % {"detail": failure.detail}
    return gettext("Reading the subscribers has failed since %(time)s: %(detail)s") % {
        "time": format_time(failure.since),
        "detail": failure.detail,
    }


def facts(run: Run, books: Books, *, is_cancelled: bool, is_held: bool) -> RunFacts:
    return RunFacts(
        is_planned=run.planned_at is not None,
        is_held=is_held,
        is_cancelled=is_cancelled,
        ended_as=None if run.ended_as is None else Ending(run.ended_as),
        waiting=books.waiting,
        failed=books.counts[State.FAILED],
        in_doubt=books.counts[State.IN_DOUBT],
    )


def _pace(
    run: Run, waiting: int, waits: Sequence[WaitSummary], *, rate: float, now: datetime
) -> Pace:
    # The end of unplanned or scheduled mail does not depend on the rate.
    is_predictable = run.planned_at is not None and all(wait.next_due_at <= now for wait in waits)
    ends_at = now + timedelta(seconds=waiting / rate) if is_predictable else None
    return Pace(round(rate, 1), ends_at)


def _run_hold(hold: Hold) -> RunHold:
    explanation = explain_reason(hold.reason, scope=hold.scope)
    return RunHold(
        hold.scope,
        hold.reason,
        explanation.why,
        explanation.moved_by,
        hold.since,
        hold.until,
        hold.actor,
        hold.detail,
        hold.fails_at,
    )


def _waiting_mails(wait: WaitSummary, holds: Sequence[Hold], waiting: int) -> WaitingMails:
    """The hold that ends last decides what moves the mails, whatever they wait for."""
    explanation = explain_reason(wait.reason)
    return WaitingMails(
        wait.reason,
        explanation.why,
        _run_hold(holds[0]).moved_by if holds else explanation.moved_by,
        min(wait.position_count, waiting),
        wait.since,
        wait.next_due_at,
    )


def _is_paused(holds: Sequence[Hold]) -> bool:
    """A run that waits for its own limits is being sent: it goes on by itself."""
    return any(
        hold.reason not in LIMIT_REASONS or hold.scope is not HoldScope.STREAM for hold in holds
    )
