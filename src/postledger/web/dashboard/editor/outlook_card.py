"""The forecast in the editor: its days, and the ways to change it, each with where one goes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from django.urls import reverse
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from postledger.accounts import queries as accounts
from postledger.accounts.models import Sender
from postledger.accounts.people.roles import Permission
from postledger.campaigns.drafts.drafts import CampaignFacts
from postledger.pacing.outlook import Change, Outlook
from postledger.pacing.prospects import Binding, Owner
from postledger.web.dashboard import formats
from postledger.web.dashboard.access import Visitor

_MOST_DAYS = 7
_MINUTE = timedelta(minutes=1)
_SENDER_FIELD, _TIME_FIELD = "#id_sender", "#sender"
# Of the sender: the words, and the field of the form of limits.
_LIMITS: Mapping[Binding, tuple[Promise, str]] = {
    Binding.RATE_PER_SECOND: (
        gettext_lazy("Raise the sender's rate per second"),
        "rate_per_second",
    ),
    Binding.RATE_PER_HOUR: (gettext_lazy("Raise the sender's limit per hour"), "rate_per_hour"),
    Binding.DAILY_LIMIT: (gettext_lazy("Raise the sender's daily limit"), "daily_limit"),
}


@dataclass(frozen=True, slots=True)
class DayRow:
    day: date
    times: str
    mails: int


@dataclass(frozen=True, slots=True)
class Way:
    label: str
    url: str = ""  # empty: the visitor may not change it
    ends_at: datetime | None = None  # the earliest that it can bring; None: that is not known


@dataclass(frozen=True, slots=True)
class OutlookCard:
    days: Sequence[DayRow]
    later_days: int  # how many more days there are, and how many mails they have
    later_mails: int
    ways: Sequence[Way]


def make_card(visitor: Visitor, campaign: CampaignFacts, outlook: Outlook) -> OutlookCard:
    days, later = outlook.days[:_MOST_DAYS], outlook.days[_MOST_DAYS:]
    return OutlookCard(
        [DayRow(day.day, _write_times(day.starts_at, day.ends_at), day.mails) for day in days],
        len(later),
        sum(day.mails for day in later),
        list(_list_ways(visitor, campaign, outlook)),
    )


def _write_times(starts_at: datetime, ends_at: datetime) -> str:
    start, end = timezone.localtime(starts_at), timezone.localtime(ends_at)
    values = {"start": f"{start:%H:%M}", "end": f"{end:%H:%M}", "zone": formats.zone_name(start)}
    if values["start"] == values["end"]:
        return f"{values['start']} {values['zone']}"
    return _("%(start)s to %(end)s %(zone)s") % values


def _list_ways(visitor: Visitor, campaign: CampaignFacts, outlook: Outlook) -> Iterator[Way]:
    """What the forecast says would let it end earlier; then what it cannot know."""
    sender = accounts.find_sender(visitor.workspace.pk, address=campaign.sender)
    changes = [change for change in outlook.changes if _is_felt(change, outlook)]
    for change in changes:
        if way := _make_way(visitor, campaign, sender, change):
            yield way
    if outlook.binding is Binding.HELD:
        url = reverse("sender", args=[sender.workspace_id, sender.pk])
        yield Way(_("See why its sender is held"), url)
    if changes or outlook.binding is Binding.HELD:
        senders = accounts.senders(visitor.workspace.pk)
        if any(each.pk != sender.pk and each.archived_at is None for each in senders):
            yield Way(_("Choose another sender"), _SENDER_FIELD)
    if changes:
        yield Way(_("Start at another time"), _TIME_FIELD)


def _is_felt(change: Change, outlook: Outlook) -> bool:
    """Whether it ends earlier by so much that the shown times differ."""
    return outlook.ends_at is None or outlook.ends_at - change.ends_at >= _MINUTE


def _make_way(
    visitor: Visitor, campaign: CampaignFacts, sender: Sender, change: Change
) -> Way | None:
    workspace_id = visitor.workspace.pk
    limits_url = _offer(visitor, Permission.SET_UP, "sender_limits", workspace_id, sender.pk)
    match change.without, change.owner:
        case Binding.OUTSIDE_HOURS, _owner:
            return _widen_hours(campaign, sender, limits_url, change.ends_at)
        case Binding.QUOTA_EXHAUSTED, _owner:
            url = reverse("sender", args=[workspace_id, sender.pk])
            return Way(_("Ask the provider for a larger quota"), url, change.ends_at)
        case binding, Owner.SENDER if binding in _LIMITS:
            label, field = _LIMITS[binding]
            return Way(str(label), limits_url and f"{limits_url}#id_{field}", change.ends_at)
        case _binding, Owner.MEMBER:
            may_change = Permission.MANAGE_MEMBERS
            url = _offer(visitor, may_change, "member", workspace_id, visitor.member.pk)
            return Way(_("Raise your own daily limit"), url, change.ends_at)
        case Binding.RATE_PER_SECOND, Owner.ACCOUNT:
            return Way(_("Raise the rate of the provider account"), "", change.ends_at)
        case _:  # what no person changes here
            return None


def _widen_hours(
    campaign: CampaignFacts, sender: Sender, limits_url: str, ends_at: datetime
) -> Way:
    if campaign.delivery_window is not None:
        return Way(_("Leave out the working hours of this campaign"), _TIME_FIELD, ends_at)
    if sender.working_hours:
        url = limits_url and f"{limits_url}#id_spans"
        return Way(_("Widen the working hours of the sender"), url, ends_at)
    return Way(_("Widen the working hours of the workspace"), "", ends_at)


def _offer(visitor: Visitor, permission: Permission, page: str, *ids: int) -> str:
    return reverse(page, args=ids) if visitor.may(permission) else ""
