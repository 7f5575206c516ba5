"""What commands say about the quota and the rate of an account."""

from collections.abc import Iterator
from datetime import datetime

from postledger.accounts.models import AccountQuota, ProviderAccount
from postledger.accounts.sending_limits import SHARE_OF_MAX_RATE


def summarise(account: ProviderAccount, quota: AccountQuota | None) -> str:
    """The part of a line of `account list`; empty for an account without a quota and a rate."""
    parts = []
    if account.rate_per_second is not None:
        parts.append(f"at most {account.rate_per_second:g} a second")
    if quota is not None and quota.synced_at is not None:
        parts.append(f"quota: {_describe_left(quota)}, read {_format(quota.synced_at)}")
    if quota is not None and quota.failed_since is not None:
        parts.append(f"quota not read since {_format(quota.failed_since)}")
    return "".join(f"  {part}" for part in parts)


def describe(account: ProviderAccount, quota: AccountQuota) -> Iterator[str]:
    """All that is known about the quota of an account, line by line."""
    if quota.is_hidden:
        yield f'The quota of account "{account.name}" is not known: its mail goes without it.'
        yield quota.error
    elif quota.synced_at is None:
        yield f'The quota of account "{account.name}" was never read: its mail goes without it.'
    else:
        yield f'The quota of account "{account.name}": {_describe_left(quota)}.'
        if quota.max_rate is not None:
            yield _describe_rate(account, quota.max_rate)
        if quota.remaining is not None and not quota.is_limit:
            yield "Mail beyond them waits only if the provider refuses it; it may charge for it."
        yield f"Read {_format(quota.synced_at)}, next {_format(quota.next_sync_at)}."
    if quota.failed_since is not None:
        yield f"Not read since {_format(quota.failed_since)}: {quota.error}"
        yield f"It is tried again {_format(quota.next_sync_at)}."


def _describe_left(quota: AccountQuota) -> str:
    if quota.remaining is None:
        return "unlimited"
    of_size = "" if quota.size is None else f" of {quota.size:,}"
    thing = "mails" if quota.is_limit else "credits"
    return f"{quota.remaining:,}{of_size} {thing} left"


def _describe_rate(account: ProviderAccount, max_rate: float) -> str:
    if account.rate_per_second is not None:
        ours = f"{account.rate_per_second:g}, as postledger account rate has set it"
    else:
        ours = f"{max_rate * SHARE_OF_MAX_RATE:g}"
    return f"The provider takes {max_rate:g} mails a second; we send at most {ours}."


def _format(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC"
