"""How much of each limit of a sender is used, from counters: no email is read."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from django.urls import reverse
from django.utils.formats import number_format
from django.utils.html import format_html
from django.utils.translation import gettext as _

from postledger.accounts import sending_limits
from postledger.accounts.models import Sender
from postledger.accounts.sending_limits import SendingLimits, StoredQuota
from postledger.deliveries.figures import reports
from postledger.deliveries.states import State
from postledger.pacing import stored
from postledger.web.dashboard import formats
from postledger.web.dashboard.components import balance
from postledger.web.dashboard.senders import dns_words

_MINUTE = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Gauge:
    title: str
    used: str
    limit: str  # empty: there is none
    share: float | None  # in percent, at most 100
    text: str
    url: str  # of the emails behind it


@dataclass(frozen=True, slots=True)
class Usage:
    """How many emails of each sender were accepted, since some moments."""

    workspace_id: int
    minute: Mapping[int, int]
    hour: Mapping[int, int]
    day: Mapping[int, int]
    starts: Mapping[str, datetime]
    # By account and moment, as its senders ask one after the other.
    of_accounts: dict[tuple[int | None, datetime], int] = field(default_factory=dict)

    @property
    def minute_end(self) -> datetime:
        return self.starts["minute"] + _MINUTE


def read_usage(workspace_id: int, *, zone: str, now: datetime) -> Usage:
    """Of all senders of a workspace, in three queries."""
    starts = {
        # A full one: the counters of single emails, and a list of emails, have no smaller steps.
        "minute": now.replace(second=0, microsecond=0) - _MINUTE,
        "hour": now.astimezone(UTC).replace(minute=0, second=0, microsecond=0),
        "day": stored.find_day(zone, (), now).starts_at,
    }
    ends = {"minute": starts["minute"] + _MINUTE}
    counts = {
        name: count_accepted(workspace_id, since=since, until=ends.get(name))
        for name, since in starts.items()
    }
    return Usage(workspace_id, counts["minute"], counts["hour"], counts["day"], starts)


def count_accepted(
    workspace_id: int, *, since: datetime, until: datetime | None = None
) -> dict[int, int]:
    by_sender = reports.read_sender_reports(workspace_id, since=since, until=until)
    return {sender_id: counts.taken for sender_id, counts in by_sender.items()}


def build_gauges(sender: Sender, usage: Usage, *, now: datetime) -> list[Gauge]:
    """The sender has to be read with its workspace, account and quota."""
    limits = sending_limits.describe(sender)
    return list(_list_gauges(sender, limits, usage, now))


def _list_gauges(
    sender: Sender, limits: SendingLimits, usage: Usage, now: datetime
) -> Iterator[Gauge]:
    id_ = sender.pk
    per_second = usage.minute.get(id_, 0) / _MINUTE.total_seconds()
    yield Gauge(
        _("A second, in the last full minute"),
        str(number_format(round(per_second, 1), 1)),
        "" if limits.lowest_rate is None else str(number_format(f"{limits.lowest_rate:g}")),
        _find_share(per_second, limits.lowest_rate),
        _describe_pace(limits),
        _link(usage, id_, usage.starts["minute"], usage.minute_end),
    )
    ends = {
        "hour": usage.starts["hour"] + timedelta(hours=1),
        "day": stored.find_day(limits.zone, (), now).ends_at,
    }
    yield _count(
        _("This hour"),
        usage.hour.get(id_, 0),
        limits.rate_per_hour,
        ends["hour"],
        url=_link(usage, id_, usage.starts["hour"]),
    )
    yield _count(
        _("Today"),
        usage.day.get(id_, 0),
        limits.daily_limit,
        ends["day"],
        url=_link(usage, id_, usage.starts["day"]),
    )
    if limits.quota is not None and sender.account_id is not None:
        title, text = _("Quota of %(provider)s"), _("{} left; asked at {}")
        yield _measure_quota(sender, limits.quota, usage, title=title, text=text)
    if (credits_ := sending_limits.describe_credits(sender)) is not None:
        # Without a share: at the end of them no mail waits.
        text = _("{} left; asked at {}. Emails do not wait for more")
        title = _("Credits of %(provider)s")
        yield replace(_measure_quota(sender, credits_, usage, title=title, text=text), share=None)


def _count(title: str, used: int, limit: int | None, ends_at: datetime, *, url: str) -> Gauge:
    return Gauge(
        title,
        formats.count(used),
        formats.count(limit) if limit else "",
        _find_share(used, limit),
        format_html(_("Starts anew at {}"), formats.moment(ends_at)) if limit else "",
        url,
    )


def _measure_quota(
    sender: Sender, quota: StoredQuota, usage: Usage, *, title: str, text: str
) -> Gauge:
    """What the provider said, less what was accepted since by all senders of the account."""
    left = max(0, quota.remaining - _count_of_account(sender, usage, since=quota.synced_at))
    size = max(quota.size or quota.remaining, left)
    return Gauge(
        title % {"provider": dns_words.name_provider(sender)},
        formats.count(size - left),
        formats.count(size),
        _find_share(size - left, size),
        format_html(text, formats.count(left), formats.moment(quota.synced_at)),
        balance.add_query(reverse("messages", args=[usage.workspace_id]), sender=str(sender.pk)),
    )


def _count_of_account(sender: Sender, usage: Usage, *, since: datetime) -> int:
    """How many emails of all senders of the account were accepted; counted once for all of them."""
    key = (sender.account_id, since)
    if key not in usage.of_accounts:
        ids = Sender.objects.filter(account_id=sender.account_id).values_list("pk", flat=True)
        accepted = count_accepted(usage.workspace_id, since=since)
        usage.of_accounts[key] = sum(accepted.get(id_, 0) for id_ in ids)
    return usage.of_accounts[key]


def _describe_pace(limits: SendingLimits) -> str:
    if limits.tuned_rate is not None and limits.lowest_rate == limits.tuned_rate:
        return _("The provider asked for less; it rises again by itself")
    return ""


def _find_share(used: float, limit: float | None) -> float | None:
    return None if not limit else round(min(100.0, 100 * used / limit), 1)


def _link(usage: Usage, sender_id: int, since: datetime, until: datetime | None = None) -> str:
    url = balance.add_query(
        reverse("messages", args=[usage.workspace_id]),
        sender=str(sender_id),
        state=State.ACCEPTED.value,
        since=formats.input_moment(since),
    )
    return balance.add_query(url, until=formats.input_moment(until)) if until else url
