"""Runs and campaigns in tables, with links to the emails behind each figure."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from postledger.campaigns import listing
from postledger.campaigns.listing import CampaignGroup, LaunchRow
from postledger.campaigns.runs import run_steps
from postledger.campaigns.runs.progress import Progress
from postledger.campaigns.states import RunState
from postledger.deliveries.entries import Hold, HoldScope
from postledger.deliveries.explanations import why
from postledger.deliveries.explanations.why import Cause
from postledger.deliveries.reasons import Reason
from postledger.deliveries.states import State
from postledger.web.dashboard import formats
from postledger.web.dashboard.components import balance
from postledger.web.dashboard.components.badges import Badge
from postledger.web.dashboard.components.balance import Balance
from postledger.web.dashboard.runs import words
from postledger.web.shared.sentences import translate

_MOMENTS = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class RunRow:
    run: Progress | LaunchRow
    badge: Badge
    balance: Balance
    url: str
    mails_url: str
    starts_at: datetime | None = None  # of a run that is scheduled and has not begun
    hold: str = ""  # why it is held

    @property
    def accepted(self) -> int:
        return self.run.books.counts[State.ACCEPTED]

    @property
    def failed(self) -> int:
        return self.run.books.counts[State.FAILED]


@dataclass(frozen=True, slots=True)
class CampaignRow:
    campaign: listing.CampaignRow
    url: str
    badge: Badge
    row: RunRow | None  # of its newest run
    note: Promise | str  # when it finishes, or why it waits
    note_label: str = ""
    note_at: datetime | None = None
    list_name: str = ""  # empty: everybody


def make_run_row(workspace_id: int, run: Progress | LaunchRow, *, now: datetime) -> RunRow:
    starts_at = find_start(run, now)
    mails_url = find_mails_url(workspace_id, run.campaign_id, run.run_id)
    return RunRow(
        run=run,
        badge=words.make_badge(
            run.state,
            is_scheduled=starts_at is not None,
            is_waiting=is_all_later(run, now),
            is_sender_held=is_sender_held(run),
            books=run.books,
        ),
        balance=balance.build_balance(run.books.planned, run.books.states, url=mails_url),
        url=reverse("run", args=[workspace_id, run.run_id]),
        mails_url=mails_url,
        starts_at=starts_at,
        hold=_explain_hold(run) if run.state is RunState.PAUSED else "",
    )


def _explain_hold(run: Progress | LaunchRow) -> str:
    """Why a run of a table stands still; of a pause its badge says enough."""
    first = run.holds[0] if run.holds else None
    if not isinstance(first, Hold) or first.reason is Reason.PAUSED:
        return ""
    return translate(why.explain_hold(first).sentence)


def find_mails_url(workspace_id: int, campaign_id: int, run_id: UUID) -> str:
    """Where the emails of a run are listed."""
    url = reverse("messages", args=[workspace_id])
    return balance.add_query(url, campaign=str(campaign_id), run=str(run_id))


def find_start(run: Progress | LaunchRow, now: datetime) -> datetime | None:
    """When a scheduled run begins; None if it has begun, or is stopped."""
    is_under_way = run.state in {RunState.PLANNING, RunState.SENDING}
    starts_at = run.starts_at if is_under_way else None
    return starts_at if starts_at is not None and starts_at > now else None


def is_ahead(run: Progress, now: datetime) -> bool:
    """Whether its first mail is due later, so that nothing of it can have gone."""
    return run.starts_at is not None and run.starts_at > now


def can_be_replaced(run: Progress, now: datetime) -> bool:
    """Whether a copy of its campaign may take its place: no run of it can have mailed anybody."""
    return not run.is_remaining and is_ahead(run, now)


def is_sender_held(run: Progress | LaunchRow) -> bool:
    """Whether its sender, or the account, is held and the run itself goes on."""
    return bool(run.holds) and not run_steps.is_paused(run.holds)


def is_all_later(run: Progress | LaunchRow, now: datetime) -> bool:
    """Whether all its mail waits for a later time, if that is no matter of moments."""
    return run.next_due_at is not None and run.next_due_at - now > _MOMENTS


def make_campaign_row(
    workspace_id: int, campaign: listing.CampaignRow, names: Mapping[str, str], now: datetime
) -> CampaignRow:
    url = reverse("campaign", args=[workspace_id, campaign.id])
    if campaign.run is None:
        made = _("Created by %(name)s") % {"name": formats.isolate(names[campaign.created_by])}
        badge = words.make_badge(words.DRAFT)
        return CampaignRow(campaign, url, badge, None, made, "", campaign.created_at)
    row = make_run_row(workspace_id, campaign.run, now=now)
    if row.starts_at is not None:
        note = _("Scheduled: nothing of it has gone yet")
        return CampaignRow(campaign, url, row.badge, row, note, _("Begins"), row.starts_at)
    return CampaignRow(campaign, url, row.badge, row, *_note(campaign, campaign.run, names))


def list_actors(campaigns: Iterable[listing.CampaignRow]) -> Iterator[str]:
    """Everybody whom the rows name."""
    for campaign in campaigns:
        yield campaign.created_by
        if campaign.run is not None:
            yield campaign.run.ended_by
            yield from (hold.actor for hold in campaign.run.holds)


type _Note = tuple[Promise | str, str, datetime | None]


def _note(campaign: listing.CampaignRow, run: Progress, names: Mapping[str, str]) -> _Note:
    """What a row says at its end: when it finishes, or why it waits."""
    first = campaign.causes[0] if campaign.causes else None
    match run.state:
        case RunState.SENT:
            return _("Every email has a result"), _("Finished"), run.ended_at
        case RunState.CLOSED:
            by = _("Closed by %(name)s with its failures") % {
                "name": formats.isolate(names[run.ended_by])
            }
            return by, "", run.ended_at
        case RunState.CANCELLED:
            return _("Cancelled for good"), _("Since"), first.since if first else run.ended_at
        case RunState.OPEN:
            return _note_open(run), "", None
        case _ if campaign.group is CampaignGroup.WAITING and first is not None:
            return _note_wait(run, first, names)
        case _:
            return _note_pace(run)


def _note_pace(run: Progress) -> _Note:
    if run.pace is not None:
        return formats.rate(run.pace.mails_per_second), _("Finishes"), run.pace.ends_at
    return (_("Its audience is being planned") if run.planned_at is None else ""), "", None


def _note_open(run: Progress) -> str:
    in_doubt, failed = run.books.counts[State.IN_DOUBT], run.books.counts[State.FAILED]
    if in_doubt:
        told = ngettext("%(n)s is in doubt: decide", "%(n)s are in doubt: decide", in_doubt)
        return told % {"n": formats.count(in_doubt)}
    told = ngettext(
        "Every email has a result; %(n)s failed",
        "Every email has a result; %(n)s failed",
        failed,
    )
    return told % {"n": formats.count(failed)}


def _note_wait(run: Progress, cause: Cause, names: Mapping[str, str]) -> _Note:
    hold = run.hold
    if hold is not None and hold.reason is Reason.PAUSED and hold.scope is HoldScope.STREAM:
        paused = _("Paused by %(name)s until you resume it") % {
            "name": formats.isolate(names[hold.actor])
        }
        return paused, _("Since"), hold.since
    if cause.until is not None:
        return translate(cause.sentence), _("Until"), cause.until
    return translate(cause.sentence), _("Since"), cause.since
