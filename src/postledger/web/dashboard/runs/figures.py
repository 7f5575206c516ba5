"""All figures of one run for its page: read once, so that they belong together."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from postledger.campaigns.drafts import forecasts
from postledger.campaigns.runs import live_run, run_steps
from postledger.campaigns.runs.live_run import LiveRun
from postledger.campaigns.runs.progress import Progress
from postledger.campaigns.runs.report import Failure
from postledger.campaigns.runs.retry_outlook import RetryOutlook
from postledger.campaigns.runs.run_steps import Obstacle
from postledger.campaigns.states import RunState
from postledger.deliveries.attention import sentences
from postledger.deliveries.entries import AttemptOutcome
from postledger.deliveries.explanations import remedies
from postledger.deliveries.reasons import Reason
from postledger.deliveries.states import State
from postledger.dispatch import heartbeat
from postledger.feedback import event_flow
from postledger.pacing.outlook import Outlook
from postledger.pacing.prospects import Binding
from postledger.web.dashboard.components import actor_names, balance
from postledger.web.dashboard.components.badges import Badge
from postledger.web.dashboard.components.balance import Balance
from postledger.web.dashboard.components.charts import Chart
from postledger.web.dashboard.components.why import Why
from postledger.web.dashboard.runs import banners, pace, rows, words

# Seconds between two refreshes. An answer takes a moment, and the page moves every two seconds.
_MOVING, _REPORTING, _RESTING = 1.2, 3.0, 10.0
# Providers report on the last mails after the end of a run, and on most of them at once.
_REPORTS_COME_SOON = timedelta(minutes=2)
_REPORTS_COME_FOR = timedelta(minutes=10)
# Mail that waits for a later moment for another reason has been tried before.
_PLANNED = frozenset({Reason.SCHEDULED, Reason.OUTSIDE_HOURS})


@dataclass(frozen=True, slots=True)
class Report:
    """What became of accepted mails, in one way."""

    label: str
    count: int
    url: str = ""  # of the people behind it


@dataclass(frozen=True, slots=True)
class FailureRow:
    """A cause of failures, and what can be done about it."""

    failure: Failure
    what: str
    remedy: Promise | str
    is_retried: bool  # a retry may help


@dataclass(frozen=True, slots=True)
class RunFigures:
    live: LiveRun
    run: Progress
    counted_at: datetime
    badge: Badge
    balance: Balance
    mails_url: str
    whys: Sequence[Why]  # banners over the figures
    waits: Sequence[Why]  # all waiting mail, by reason
    failures: Sequence[FailureRow]
    reports: Sequence[Report]
    is_reported: bool  # reports came, or are expected
    outlook: Outlook | None
    chart: Chart | None
    launched_by: str
    starts_at: datetime | None  # of a run that is scheduled and has not begun
    seconds: float | None  # until the next refresh; None: it is over

    @property
    def accepted(self) -> int:
        return self.run.books.counts[State.ACCEPTED]

    @property
    def failed(self) -> int:
        return self.run.books.counts[State.FAILED]

    @property
    def unreported(self) -> int:
        return max(0, self.accepted - self.run.feedback.reported)

    @property
    def left_out(self) -> int:
        return sum(self.run.excluded.values())

    @property
    def audience(self) -> int:
        return self.run.books.planned + self.left_out

    @property
    def exclusions(self) -> Sequence[tuple[int, Promise | str]]:
        counted = sorted(self.run.excluded.items(), key=lambda one: -one[1])
        return [(number, words.describe_exclusion(reason)) for reason, number in counted]

    @property
    def ends_at(self) -> datetime | None:
        """When it will end: by the limits that are known, else at its pace."""
        if self.outlook is not None:
            return self.outlook.ends_at
        return self.run.pace.ends_at if self.run.pace else None

    @property
    def end_note(self) -> Promise | str:
        """What sets the pace, or why no end can be told."""
        if self.run.ended_at is not None or not self.run.waiting:
            return ""
        binding = self.outlook.binding if self.outlook else None
        if binding is Binding.SCHEDULED and not _PLANNED & {wait.reason for wait in self.run.waits}:
            return _("what waits is tried again")
        return words.BINDINGS[binding] if binding else _("not known yet")

    @property
    def ended_at(self) -> datetime | None:
        """When it ended, or got its last result; None while mail waits."""
        is_done = self.run.planned_at is not None and not self.run.waiting
        last = find_last_result(self.live) if is_done else None
        return self.run.ended_at or (last and min(last, self.counted_at))

    @property
    def began_at(self) -> datetime:
        """Of a run that was scheduled, its time; it may have been cancelled before."""
        starts_at = self.run.starts_at
        is_begun = starts_at is not None and starts_at <= (self.ended_at or self.counted_at)
        return starts_at if starts_at is not None and is_begun else self.run.launched_at

    @property
    def elapsed(self) -> timedelta:
        return (self.ended_at or self.counted_at) - self.began_at

    @property
    def tenths_done(self) -> int:
        """How much has a result, in steps of ten percent: so often a reader is told of it."""
        books = self.run.books
        return 10 * (10 * (books.planned - books.waiting) // books.planned) if books.planned else 0


def read_figures(workspace_id: int, run_id: UUID, *, may_steer: bool, now: datetime) -> RunFigures:
    """Who may not steer the run is offered no step."""
    live = live_run.read_live_run(workspace_id, run_id, now=now)
    run = live.progress
    outlook = forecasts.forecast_run(
        workspace_id, run, worker_count=heartbeat.count_alive(), now=now
    )
    names = actor_names.name_actors(workspace_id, _list_actors(live))
    mails_url = rows.find_mails_url(workspace_id, run.campaign_id, run.run_id)
    starts_at = rows.find_start(run, now)
    is_reported = bool(run.feedback.reported) or event_flow.reports_back(live.sender_id)
    return RunFigures(
        live=live,
        run=run,
        counted_at=now,
        badge=words.make_badge(
            run.state,
            is_scheduled=starts_at is not None,
            is_waiting=rows.is_all_later(run, now),
            is_sender_held=rows.is_sender_held(run),
            books=run.books,
        ),
        balance=balance.build_balance(run.books.planned, run.books.states, url=mails_url),
        mails_url=mails_url,
        whys=banners.list_banners(
            workspace_id, live, names, starts_at=starts_at, may_steer=may_steer
        ),
        waits=banners.list_waits(live, mails_url, now=now),
        failures=[_make_failure_row(failure, live.retry) for failure in live.failures],
        reports=_list_reports(workspace_id, live, is_reported=is_reported),
        is_reported=is_reported,
        outlook=outlook,
        chart=pace.draw_pace(live.series, now=now),
        launched_by=names[run.actor],
        starts_at=starts_at,
        seconds=find_interval(live, now=now),
    )


def _list_actors(live: LiveRun) -> Iterator[str]:
    """Everybody whom the page names."""
    yield live.progress.actor
    yield from (hold.actor for hold in live.progress.holds)
    yield from (cause.actor for cause in live.causes if cause.actor)


def _make_failure_row(failure: Failure, retry: RetryOutlook) -> FailureRow:
    if failure.state is State.IN_DOUBT:
        advice = _("Look at the provider's own log, then decide.")
        return FailureRow(failure, _("In doubt"), advice, is_retried=False)
    what = sentences.describe_failure(failure.outcome, failure.code)
    if retry.is_hopeless_for(failure.code):
        advice = str(words.OBSTACLES[Obstacle.NOBODY_MAILABLE])
        return FailureRow(failure, what, advice, is_retried=False)
    is_retried = not remedies.is_hopeless(failure.outcome, failure.code)
    return FailureRow(failure, what, _advise(failure), is_retried)


def _advise(failure: Failure) -> Promise | str:
    is_hopeless = remedies.is_hopeless(failure.outcome, failure.code)
    # The content of a run stays as it was launched.
    if failure.outcome is AttemptOutcome.INVALID and not is_hopeless:
        return _(
            "Fill in what the cause names for these contacts, then retry. To change the text,"
            " duplicate the campaign and send it to these people."
        )
    return remedies.advise(failure.outcome, failure.code)


def find_last_result(live: LiveRun) -> datetime | None:
    """The end of the last slot of time with an accepted mail; None if none was accepted."""
    points = live.series.points
    return points[-1].at + live.series.width if points else None


def find_interval(live: LiveRun, *, now: datetime) -> float | None:
    """Seconds until the figures are read again; None once nothing changes them any more."""
    run = live.progress
    is_draining = run_steps.is_over(run) and run.waiting > 0
    if is_draining or run.state in {RunState.PLANNING, RunState.SENDING}:
        return _MOVING
    if run.ended_at is not None and now - run.ended_at > _REPORTS_COME_FOR:
        return None
    last = find_last_result(live)
    if not run.waiting and last is not None and now - last < _REPORTS_COME_SOON:
        return _REPORTING
    return _RESTING


def _list_reports(workspace_id: int, live: LiveRun, *, is_reported: bool) -> Sequence[Report]:
    """What is known of accepted mails: the provider's reports, and who left by our own pages."""
    counts = live.progress.feedback
    listed: Mapping[str, int] = {
        _("Delivered"): counts.delivered,
        _("Bounced"): counts.bounced,
        _("Bounced for now"): counts.soft_bounced,
        _("On the provider's suppression list"): counts.on_suppression_list,
        _("Marked as spam"): counts.complained,
        _("Dropped by the provider"): counts.dropped,
    }
    # Most providers are not asked to watch readers: then a zero would say that nobody read it.
    watched = {_("Opened"): counts.opened, _("Clicked"): counts.clicked}
    shown = {**listed, **{label: count for label, count in watched.items() if count}}
    reports = [Report(label, number) for label, number in shown.items()] if is_reported else []
    if live.unsubscribed is not None and not live.progress.is_test:
        url = reverse("run_leavers", args=[workspace_id, live.progress.run_id])
        label = pgettext("a count of people", "Unsubscribed")
        reports.append(Report(label, live.unsubscribed, url))
    return reports
