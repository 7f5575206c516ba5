"""Asks providers for their quotas: claims what is due, asks without a transaction, and stores.

A provider that does not answer delays nobody else, and what it said before still counts.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import structlog

from postledger.accounts import quotas, sealing
from postledger.accounts.models import AccountQuota, ProviderAccount, Sender
from postledger.accounts.quotas import QuotaClaim
from postledger.deliveries import ledger, queries
from postledger.lib.errors import RefusedError
from postledger.pacing import quota
from postledger.pacing.limiter import Limiter
from postledger.pacing.limits import Mark
from postledger.pacing.quota import Known
from postledger.providers import quota_source, registry
from postledger.providers.base import (
    QuotaHiddenError,
    QuotaReading,
    QuotaUnreadError,
    ReadsQuota,
)
from postledger.providers.quota_source import QuotaSource

MOST_AT_ONCE = 50
ASK_SECONDS = 20.0  # with credentials that a machine may have to fetch

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class _Asked:
    answer: QuotaReading | QuotaUnreadError
    mark: Mark | None


def sync_due(redis_url: str, *, settle_time: timedelta = quota.SETTLE_TIME) -> int:
    """Reads all quotas whose time has come, and returns how many this process claimed."""
    if not quotas.has_due():
        return 0
    claims = quotas.claim_due(queries.list_busy_senders(), limit=MOST_AT_ONCE)
    if claims:
        _sync(claims, redis_url, settle_time)
    return len(claims)


def sync_now(account: ProviderAccount, redis_url: str) -> AccountQuota | None:
    """Reads the quota of one account, whenever its time is, and returns what is stored then."""
    own = set(account.sender_set.values_list("pk", flat=True))
    is_busy = not own.isdisjoint(queries.list_busy_senders())
    _sync([quotas.claim_now(account, is_busy=is_busy)], redis_url, quota.SETTLE_TIME)
    return quotas.find_quota(account.pk)


def sync_early(account_id: int, now: datetime) -> None:
    """Has the quota read soon, after the provider refused mail because it is used up.

    One that is not shown to the keys would not be then.
    """
    row = quotas.find_quota(account_id)
    if row is not None and not row.is_hidden:
        quotas.bring_forward(account_id, quota.find_early_sync(_describe(row), now))


def _sync(claims: Sequence[QuotaClaim], redis_url: str, settle_time: timedelta) -> None:
    answers = asyncio.run(_ask_all(claims, redis_url, settle_time))
    for claim, asked in zip(claims, answers, strict=True):
        match asked.answer:
            case QuotaReading() as reading:
                _store(claim, reading, asked.mark)
            case QuotaHiddenError() as hidden:
                _store_hidden(claim, str(hidden))
            case error:
                _note_failure(claim, str(error))


def _store(claim: QuotaClaim, reading: QuotaReading, mark: Mark | None) -> None:
    known = _describe(claim.before)
    is_stored = quotas.store_reading(
        claim,
        reading,
        count_id=None if mark is None else mark.count_id,
        granted=None if mark is None else mark.granted,
        wait=quota.find_interval(known, mark, is_busy=claim.is_busy),
    )
    if is_stored and quota.shows_more(known, reading, mark):
        _wake(claim.account.pk)


def _store_hidden(claim: QuotaClaim, why: str) -> None:
    if quotas.store_hidden(claim, why, wait=quota.LONGEST_RETRY) and claim.before.synced_at:
        _wake(claim.account.pk)


def _note_failure(claim: QuotaClaim, error: str) -> None:
    wait = quota.find_retry(_describe(claim.before), claim.claimed_at)
    if quotas.store_failure(claim, error, wait=wait):
        _log.warning(
            "quota_not_read",
            account_id=claim.account.pk,
            workspace_id=claim.account.workspace_id,
            error=error,
            seconds=wait.total_seconds(),
        )


def _wake(account_id: int) -> None:
    """Lets mail that waits for the quota of an account ask again."""
    senders = Sender.objects.filter(account_id=account_id).values_list("pk", flat=True)
    ledger.end_limit_holds(sender_ids=list(senders), within=ledger.SETTINGS_READ_WITHIN)


async def _ask_all(
    claims: Sequence[QuotaClaim], redis_url: str, settle_time: timedelta
) -> list[_Asked]:
    limiter = Limiter(redis_url)
    try:
        return await asyncio.gather(*(_ask(claim, limiter, settle_time) for claim in claims))
    finally:
        await limiter.close()


async def _ask(claim: QuotaClaim, limiter: Limiter, settle_time: timedelta) -> _Asked:
    """Asks once more if the limiter began to count the account's mail while it was asked."""
    mark = await limiter.mark(claim.account.pk)
    asked = await _ask_after(claim, mark, settle_time)
    if mark is None and (mark := await limiter.mark(claim.account.pk)) is not None:
        asked = await _ask_after(replace(claim, is_busy=True), mark, settle_time)
    return asked


async def _ask_after(claim: QuotaClaim, mark: Mark | None, settle_time: timedelta) -> _Asked:
    if not quota.is_settled(_describe(claim.before), mark, is_busy=claim.is_busy):
        await asyncio.sleep(settle_time.total_seconds())
    try:
        async with asyncio.timeout(ASK_SECONDS):
            return _Asked(await _read(claim.account), mark)
    except QuotaUnreadError as error:
        return _Asked(error, mark)
    except TimeoutError:
        return _Asked(
            QuotaUnreadError(f"The provider did not answer within {ASK_SECONDS:g} seconds."), mark
        )
    # Any other is a bug of a provider, or of settings from another version; its words may quote
    # what it read, and the other accounts still have to be read.
    except Exception as error:  # noqa: BLE001
        unread = QuotaUnreadError(f"The quota cannot be read ({type(error).__name__}).")
        return _Asked(unread, mark)


async def _read(account: ProviderAccount) -> QuotaReading:
    try:
        source = sealing.unseal_quota_source(account)
        if source is not None:
            return await quota_source.read_quota(QuotaSource.model_validate(source))
        provider = registry.build(account.kind, sealing.unseal_settings(account))
    except RefusedError as refused:
        raise QuotaUnreadError(str(refused)) from None
    if not isinstance(provider, ReadsQuota):
        raise QuotaUnreadError(f"A provider of kind {account.kind} does not say its quota.")
    try:
        await provider.open()
        return await provider.read_quota()
    except OSError as error:
        raise QuotaUnreadError(f"The provider cannot be opened: {error.strerror}.") from None
    finally:
        await provider.close()


def _describe(row: AccountQuota) -> Known:
    mark = None
    if row.mark_count_id is not None and row.mark_granted is not None:
        mark = Mark(row.mark_count_id, row.mark_granted)
    remaining = row.remaining if row.is_limit else None
    return Known(remaining, mark, row.synced_at, row.failed_since)
