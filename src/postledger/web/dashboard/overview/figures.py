"""The figures of the overview, with the links to the emails behind them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from django.utils import timezone
from django.utils.translation import gettext as _

from postledger.alerts.detection import Cause
from postledger.deliveries.entries import HoldScope, StreamKind
from postledger.deliveries.figures import day_books, pace, streams_at_work
from postledger.deliveries.figures.day_books import DayBooks
from postledger.deliveries.figures.pace import PacePoint
from postledger.deliveries.figures.streams_at_work import StreamAtWork, WaitingMail, WorkspaceWork
from postledger.deliveries.reasons import Reason
from postledger.deliveries.states import State
from postledger.dispatch import heartbeat
from postledger.dispatch.heartbeat import LivingWorkers
from postledger.feedback import sender_health
from postledger.feedback.sender_health import SenderHealth
from postledger.web.dashboard import formats
from postledger.web.dashboard.components import balance, charts
from postledger.web.dashboard.components.balance import Balance
from postledger.web.dashboard.components.charts import Chart
from postledger.web.dashboard.components.why import Choice, Why, describe_cause, describe_start
from postledger.web.dashboard.needs import Needs, find_needs, recall_needs
from postledger.web.dashboard.overview.links import Links

_MINUTE = timedelta(minutes=1)
# The newest streams; the others are on the pages that the numbers lead to.
_MOST_ROWS = 20


@dataclass(frozen=True, slots=True)
class StreamRow:
    """One stream that is moving."""

    work: StreamAtWork
    url: str
    balance: Balance
    sender: str

    @property
    def is_campaign(self) -> bool:
        return self.work.stream.kind is StreamKind.CAMPAIGN

    @property
    def done(self) -> int:
        return self.work.books.planned - self.work.books.waiting


@dataclass(frozen=True, slots=True)
class OverviewFigures:
    now: datetime
    needs: Needs
    day: DayBooks
    balance: Balance
    is_balanced: bool
    work: WorkspaceWork
    last_minute: PacePoint
    last_minute_url: str
    chart: Chart | None
    oldest_due: timedelta | None
    workers: LivingWorkers
    moving: Sequence[StreamRow]
    whys: Sequence[Why]
    waiting_url: str
    senders: Sequence[SenderHealth]

    @property
    def is_off(self) -> bool:
        return not self.is_balanced

    @property
    def last_minute_rate(self) -> float:
        return self.last_minute.accepted / _MINUTE.total_seconds()

    @property
    def counted_until(self) -> datetime:
        return self.last_minute.at + _MINUTE

    @property
    def is_calm(self) -> bool:
        """Whether nothing is due that has no result, and nobody has to look at anything."""
        is_well = self.is_balanced and not self.needs.count and self.workers.count > 0
        waits = (group for one in self.work.kept_back for group in one.waiting)
        is_nothing_due = self.oldest_due is None and not self.work.next_in_line
        return is_well and is_nothing_due and all(_is_for_later(group) for group in waits)

    @property
    def is_new(self) -> bool:
        """Whether nothing was ever sent, as far as today and the last week tell."""
        is_idle = not self.day.planned and not self.work.streams
        return is_idle and not any(sender.accepted for sender in self.senders)


def _is_for_later(group: WaitingMail) -> bool:
    return group.cause.code == Reason.SCHEDULED


def read_figures(workspace_id: int, *, may_run: bool, now: datetime) -> OverviewFigures:
    """`may_run` offers the steps of campaigns, for those who may take them."""
    needs = recall_needs(workspace_id, now=now) or find_needs(workspace_id, now=now)
    senders = sender_health.list_sender_health(workspace_id, now=now)
    day = day_books.read_day_books(workspace_id, now=now)
    work = streams_at_work.read_work(workspace_id, now=now)
    minutes = pace.read_minutes(workspace_id, now=now)
    links = Links(workspace_id, [one.stream.id for one in work.streams], may_run=may_run)
    total = _balance_day(day, links)
    return OverviewFigures(
        now=now,
        needs=needs,
        day=day,
        balance=total,
        is_balanced=_are_balanced(day, work, needs),
        work=work,
        last_minute=minutes[-1],
        last_minute_url=links.to_minute(minutes[-1].at),
        chart=_draw(minutes),
        oldest_due=None if work.oldest_due_at is None else now - work.oldest_due_at,
        workers=heartbeat.read_living(),
        moving=list(_list_moving(work, links, senders))[:_MOST_ROWS],
        whys=list(_list_whys(work, links))[:_MOST_ROWS],
        waiting_url=balance.add_query(links.messages, state=State.WAITING.value),
        senders=senders,
    )


def _balance_day(day: DayBooks, links: Links) -> Balance:
    """Results of today lead to mail of today; what waits or is in doubt may be older."""
    url = balance.add_query(links.messages, since=formats.input_moment(day.starts_at))
    total = balance.build_balance(day.planned, day.states, url=url)
    parts = (
        replace(part, url=balance.add_query(links.messages, state=part.state.value))
        if part.state in {State.WAITING, State.IN_DOUBT}
        else part
        for part in total.parts
    )
    return replace(total, parts=tuple(parts))


def _are_balanced(day: DayBooks, work: WorkspaceWork, needs: Needs) -> bool:
    """By the counters of today and of all that has work, and by the recounts of the lines."""
    return (
        min(day.states.values()) >= 0
        and all(one.books.balances for one in work.streams)
        and not any(alert.cause is Cause.BOOKS_UNBALANCED for alert in needs.alerts)
    )


def _draw(minutes: Sequence[PacePoint]) -> Chart | None:
    if not any(point.accepted for point in minutes):
        return None
    rows = [charts.Row(point.at, point.accepted, point.accepted) for point in minutes]
    most = max(minutes, key=lambda point: point.accepted)
    first, last = (timezone.localtime(minutes[n].at) for n in (0, -1))
    story = _(
        "Accepted per minute from %(first)s to %(last)s: at most %(most)s, at %(when)s;"
        " %(now)s in the last minute"
    ) % {
        "first": f"{first:%H:%M}",
        "last": f"{last:%H:%M} {formats.zone_name(last)}",
        "most": formats.count(most.accepted),
        "when": f"{timezone.localtime(most.at):%H:%M}",
        "now": formats.count(minutes[-1].accepted),
    }
    return charts.draw(
        "minutes", rows, count_label=_("Accepted"), unit=_("Per minute"), story=story
    )


def _list_moving(
    work: WorkspaceWork, links: Links, senders: Sequence[SenderHealth]
) -> Iterator[StreamRow]:
    addresses = {sender.sender_id: sender.address for sender in senders}
    for one in work.moving:
        url = links.to_mails(one.stream.id)
        bar = balance.build_balance(one.books.planned, one.books.states, url=url)
        sender = addresses.get(one.stream.sender_id, "")
        yield StreamRow(one, links.to_stream(one.stream.id), bar, sender)


def _list_whys(work: WorkspaceWork, links: Links) -> Iterator[Why]:
    for one in work.kept_back:
        for group in one.waiting:
            yield replace(
                _describe(one, group, links),
                about=one.stream.title,
                about_url=links.to_stream(one.stream.id),
                mails=group.mails,
                mails_url=balance.add_query(
                    links.to_mails(one.stream.id), state=State.WAITING.value
                ),
                advice="",
            )


def _describe(one: StreamAtWork, group: WaitingMail, links: Links) -> Why:
    """Of a campaign that has not begun, its beginning."""
    is_begun = one.books.waiting < one.books.planned or len(one.waiting) > 1 or one.next_in_line
    begins = group.cause.until if group.cause.code == Reason.SCHEDULED else None
    if begins is not None and one.stream.kind is StreamKind.CAMPAIGN and not is_begun:
        return describe_start(begins)
    return describe_cause(group.cause, _list_choices(one, group, links))


def _list_choices(one: StreamAtWork, group: WaitingMail, links: Links) -> list[Choice]:
    """What helps: to resume what a person paused, or to look at what needs a decision."""
    if group.cause.code == Reason.PAUSED:
        if group.cause.scope is not HoldScope.STREAM:
            return [Choice(_("Look at the sender"), f"{links.attention}#held")]
        resuming = links.to_resuming(one.stream.id)
        return [Choice(_("Resume"), resuming, is_form=True)] if resuming else []
    if group.hold is not None and group.hold.until is None:
        return [Choice(_("Review"), links.attention)]
    return []
