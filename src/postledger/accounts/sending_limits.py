"""The limits that people and providers set for a sender, as they are stored."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from postledger.accounts.limits import SLOWEST
from postledger.accounts.models import AccountQuota, Member, ProviderAccount, Sender

# SES takes short bursts, and now and then less than the rate that it names.
SHARE_OF_MAX_RATE = 0.9


@dataclass(frozen=True, slots=True)
class StoredQuota:
    """What a provider said when it was last asked; it has said so at least once."""

    remaining: int
    size: int | None
    sync_id: int
    mark_count_id: str | None
    mark_granted: int | None
    synced_at: datetime
    next_sync_at: datetime


@dataclass(frozen=True, slots=True)
class SendingLimits:
    """None is without that limit."""

    zone: str  # of the workspace: its days are the days of daily limits
    rate_per_second: float | None = None
    rate_per_hour: int | None = None
    daily_limit: int | None = None
    counted_since: datetime | None = None  # when one of these two was last added
    account_rate: float | None = None
    tuned_rate: float | None = None  # that the account's provider bears, as it was last stored
    quota: StoredQuota | None = None
    # In the form in which they are stored: those of the workspace, and the sender's own.
    working_hours: tuple[Mapping[str, object], ...] = ()

    @property
    def lowest_rate(self) -> float | None:
        """The lowest of the rates a second that apply."""
        rates = (self.rate_per_second, self.account_rate, self.tuned_rate)
        return min((rate for rate in rates if rate is not None), default=None)

    @property
    def are_asked(self) -> bool:
        """Whether the limiter has to be asked, be it for the time by the clock that all share."""
        asked = (
            self.rate_per_second,
            self.rate_per_hour,
            self.daily_limit,
            self.account_rate,
            self.tuned_rate,
            self.quota,
        )
        return bool(self.working_hours) or any(limit is not None for limit in asked)


def describe(sender: Sender) -> SendingLimits:
    """The limits of a sender that was read with its workspace, account and quota."""
    account, workspace = sender.account, sender.workspace
    quota = _find_quota(account)
    hours = (workspace.working_hours, sender.working_hours)
    return SendingLimits(
        zone=workspace.time_zone,
        rate_per_second=sender.rate_per_second,
        rate_per_hour=sender.rate_per_hour,
        daily_limit=sender.daily_limit,
        counted_since=sender.counted_since,
        account_rate=_find_rate(account, quota),
        tuned_rate=account.tuned_rate if account else None,
        quota=_describe_quota(quota, is_limit=True),
        working_hours=tuple(each for each in hours if each is not None),
    )


@dataclass(frozen=True, slots=True)
class StoredMemberLimit:
    per_day: int
    counted_since: datetime | None  # when it was added


def find_member_limit(member_id: int) -> StoredMemberLimit | None:
    """How many mails a day the runs of a member may send; None: no limit."""
    limited = Member.objects.filter(pk=member_id, daily_limit__isnull=False)
    row = limited.values_list("daily_limit", "counted_since").first()
    return None if row is None else StoredMemberLimit(row[0] or 0, row[1])


def _find_quota(account: ProviderAccount | None) -> AccountQuota | None:
    return getattr(account, "accountquota", None)


def _find_rate(account: ProviderAccount | None, quota: AccountQuota | None) -> float | None:
    """The rate that a person set, or else most of the one that the provider names."""
    if account is not None and account.rate_per_second is not None:
        return account.rate_per_second
    if quota is None or quota.max_rate is None:
        return None
    return max(quota.max_rate * SHARE_OF_MAX_RATE, SLOWEST)


def describe_credits(sender: Sender) -> StoredQuota | None:
    """What the account's provider has left without holding mail at the end of it."""
    return _describe_quota(_find_quota(sender.account), is_limit=False)


def _describe_quota(quota: AccountQuota | None, *, is_limit: bool) -> StoredQuota | None:
    if quota is None or quota.synced_at is None or quota.remaining is None:
        return None
    if quota.is_limit is not is_limit:
        return None
    return StoredQuota(
        remaining=quota.remaining,
        size=quota.size,
        sync_id=quota.sync_id,
        mark_count_id=quota.mark_count_id,
        mark_granted=quota.mark_granted,
        synced_at=quota.synced_at,
        next_sync_at=quota.next_sync_at,
    )
