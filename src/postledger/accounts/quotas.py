"""The quotas of accounts, as their providers said them: which to read next, and what was read.

Times are those of the database. One process at a time reads a quota: it claims it first. A reading
that began later is never overwritten by one that began earlier.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.db import transaction
from django.db.models import DateTimeField, Exists, F, OuterRef, Q, QuerySet
from django.db.models.expressions import CombinedExpression
from django.db.models.functions import Coalesce, Now

from postledger.accounts.models import AccountQuota, ProviderAccount, Sender
from postledger.lib.errors import RefusedError
from postledger.lib.sentences import say
from postledger.providers import registry
from postledger.providers.base import QuotaReading

# Longer than a reading takes; a process that died meanwhile delays the next one by so much.
CLAIM_TIME = timedelta(seconds=90)
_LONGEST_ERROR = 500
# Of a quota whose last reading counts no more. The count of syncs goes on: the limiter takes only a
# later one.
UNREAD: Final[Mapping[str, None]] = dict.fromkeys(
    ("remaining", "size", "max_rate", "synced_at", "failed_since")
)
_READABLE = Q(kind__in=registry.QUOTA_KINDS) | Q(sealed_quota_source__isnull=False)


class NoQuotaError(RefusedError):
    code = "no_quota"


@dataclass(frozen=True, slots=True)
class QuotaClaim:
    """The right to read one quota now."""

    before: AccountQuota  # with its account, as both were when it was claimed
    claimed_at: datetime
    is_busy: bool = False  # mail of the account waits or is on its way

    @property
    def account(self) -> ProviderAccount:
        return self.before.account


def has_due() -> bool:
    """Whether the time of some quota has come; one that nobody ever read is due at once."""
    _create_missing()
    return _claimable().filter(next_sync_at__lte=Now()).exists()


def claim_due(busy_sender_ids: Collection[int], *, limit: int) -> list[QuotaClaim]:
    """Claims quotas whose time has come, of accounts that have a sender in use or mail to send.

    Each is claimed by one process.
    """
    in_use = Sender.objects.filter(Q(archived_at=None) | Q(pk__in=busy_sender_ids))
    busy = set(Sender.objects.filter(pk__in=busy_sender_ids).values_list("account_id", flat=True))
    with transaction.atomic():
        due = (
            _claimable()
            .select_for_update(skip_locked=True, of=("self",))
            .filter(next_sync_at__lte=Now())
            .filter(Exists(in_use.filter(account_id=OuterRef("account_id"))))
            .order_by("next_sync_at")[:limit]
        )
        return _claim(due, busy)


def claim_now(account: ProviderAccount, *, is_busy: bool) -> QuotaClaim:
    """Claims the quota of one account, whenever its time is."""
    _create_missing()
    with transaction.atomic():
        own = _claimable().select_for_update(of=("self",)).filter(account=account)
        claims = _claim(own, {account.pk} if is_busy else set())
    if not claims:
        raise NoQuotaError(
            say(
                "Nobody says the quota of the account “%(name)s”: name a URL where it can be read,"
                " with --url and --path.",
                name=account.name,
            )
        )
    return claims[0]


def store_reading(
    claim: QuotaClaim,
    reading: QuotaReading,
    *,
    count_id: str | None,
    granted: int | None,
    wait: timedelta,
) -> bool:
    """Stores what the provider said; False if a later reading, or another account, is there."""
    return bool(
        _still_ours(claim).update(
            remaining=reading.remaining,
            size=reading.size,
            max_rate=reading.max_rate,
            is_limit=reading.is_limit,
            sync_id=F("sync_id") + 1,
            mark_count_id=count_id,
            mark_granted=granted,
            # Not when it answered: mails that were sent meanwhile may not be in its count.
            synced_at=claim.claimed_at,
            next_sync_at=_in(wait),
            failed_since=None,
            error="",
        )
    )


def store_failure(claim: QuotaClaim, error: str, *, wait: timedelta) -> bool:
    """Notes why the provider did not say it; what it said before still counts."""
    return bool(
        _still_ours(claim).update(
            failed_since=Coalesce("failed_since", claim.claimed_at, output_field=DateTimeField()),
            error=error[:_LONGEST_ERROR],
            next_sync_at=_in(wait),
        )
    )


def store_hidden(claim: QuotaClaim, why: str, *, wait: timedelta) -> bool:
    """Notes that the provider does not show it; what it said before counts no more."""
    return bool(
        _still_ours(claim).update(**UNREAD, next_sync_at=_in(wait), error=why[:_LONGEST_ERROR])
    )


def find_quota(account_id: int) -> AccountQuota | None:
    return AccountQuota.objects.filter(pk=account_id).first()


def bring_forward(account_id: int, moment: datetime) -> None:
    """Has the quota read at a moment, unless it is read earlier anyway."""
    later = AccountQuota.objects.filter(pk=account_id, next_sync_at__gt=moment)
    later.update(next_sync_at=moment)


def _create_missing() -> None:
    """A row for each account whose quota can be read, however the account came to be."""
    missing = ProviderAccount.objects.filter(_READABLE, accountquota=None)
    rows = [AccountQuota(account_id=pk) for pk in missing.values_list("pk", flat=True)]
    if rows:
        AccountQuota.objects.bulk_create(rows, ignore_conflicts=True)


def _claimable() -> QuerySet[AccountQuota]:
    readable = ProviderAccount.objects.filter(_READABLE, pk=OuterRef("account_id"))
    quotas = AccountQuota.objects.select_related("account__workspace")
    return quotas.filter(Exists(readable)).annotate(claimed_at=Now())


def _claim(rows: QuerySet[AccountQuota], busy_account_ids: Collection[int]) -> list[QuotaClaim]:
    quotas = list(rows)
    claimed = AccountQuota.objects.filter(pk__in=[row.pk for row in quotas])
    claimed.update(next_sync_at=_in(CLAIM_TIME))
    return [
        QuotaClaim(row, getattr(row, "claimed_at"), row.account_id in busy_account_ids)  # noqa: B009  annotated
        for row in quotas
    ]


def _still_ours(claim: QuotaClaim) -> QuerySet[AccountQuota]:
    # Each condition is one of the row itself, or a subquery: PostgreSQL asks all of them again if
    # another process has just written to the row.
    account = claim.account
    unchanged = ProviderAccount.objects.filter(
        pk=account.pk,
        updated_at=account.updated_at,
        sealed_quota_source=account.sealed_quota_source,
    )
    is_later = Q(synced_at=None) | Q(synced_at__lt=claim.claimed_at)
    return AccountQuota.objects.filter(is_later, Exists(unchanged), pk=account.pk)


def _in(wait: timedelta) -> CombinedExpression:
    return Now() + wait
