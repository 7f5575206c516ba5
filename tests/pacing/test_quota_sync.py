"""Quotas are read from providers once in their time, and what was read later stays."""

import asyncio
import logging
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.db.models import F
from django.db.models.functions import Now
from redis import Redis

from postledger.accounts import provider_accounts, queries, quotas, senders, sending_limits
from postledger.accounts.models import AccountQuota, ProviderAccount, Sender
from postledger.deliveries import account_changes
from postledger.pacing import quota, quota_sync, stored
from postledger.pacing.limiter import Limiter
from postledger.pacing.limits import (
    Figures,
    Limit,
    Outcome,
    Request,
    Reserve,
    Unfilled,
)
from postledger.providers.base import QuotaReading
from tests import cast
from tests.pacing.paced import granted, refusals
from tools.fakes.http.faults import AnswerError, DelayAnswer, Rule
from tools.fakes.http.server import serving_in_thread
from tools.fakes.sendgrid.account import ApiKey
from tools.fakes.sendgrid.server import FakeSendGrid
from tools.fakes.sendgrid.service import API_KEY
from tools.fakes.ses.quota import UNLIMITED, Quota
from tools.fakes.ses.server import FakeSes
from tools.fakes.ses.service import ACCESS_KEY_ID, SECRET_ACCESS_KEY

pytestmark = pytest.mark.django_db(transaction=True)

NOTHING_RESERVED = Reserve(of_rate=0, of_quota=0)
WAIT = timedelta(minutes=1)


@pytest.fixture
def fake() -> Iterator[FakeSes]:
    with serving_in_thread(FakeSes()) as fake:
        fake.service.account.quota = Quota(1000, UNLIMITED)
        yield fake


@pytest.fixture
def clean_redis(redis_url: str) -> str:
    """A Redis that was emptied long ago: it may be filled at once."""
    with Redis.from_url(redis_url) as client:
        client.flushall()
        client.set("postledger:pacing:server", f"{client.info('server')['run_id']}:1")
    return redis_url


def keys(fake: FakeSes) -> dict[str, object]:
    return {
        "region": "us-east-1",
        "access_key_id": ACCESS_KEY_ID,
        "secret_access_key": SECRET_ACCESS_KEY,
        "endpoint": fake.endpoint,
    }


def attach_ses(fake: FakeSes, workspace: str = "acme") -> ProviderAccount:
    return attach("ses", keys(fake), workspace)


def attach(kind: str, settings: Mapping[str, object], workspace: str = "acme") -> ProviderAccount:
    sender = cast.sender(workspace)
    account_id = provider_accounts.create_account(
        sender.workspace_id, name=kind, kind=kind, settings=settings, actor="test"
    )
    senders.attach_sender(
        sender.workspace_id, sender_id=sender.pk, account_id=account_id, actor="test"
    )
    return ProviderAccount.objects.get(pk=account_id)


def stored_quota(account: ProviderAccount) -> AccountQuota:
    return AccountQuota.objects.get(pk=account.pk)


def bring_forward(account: ProviderAccount) -> None:
    """Lets the database's clock pass the time of the next reading."""
    AccountQuota.objects.filter(pk=account.pk).update(next_sync_at=datetime(2020, 1, 1, tzinfo=UTC))


def minutes_to_next(account: ProviderAccount) -> int:
    left = AccountQuota.objects.values_list(F("next_sync_at") - Now(), flat=True)
    seconds: float = left.get(pk=account.pk).total_seconds()
    return round(seconds / 60)


def ask(url: str, count: int, figures: Figures | None = None) -> Outcome:
    """Asks the limiter for mails of acme's sender, by what is stored about it."""
    outgoing = queries.outgoing(cast.sender().pk)
    assert outgoing is not None
    assert outgoing.account_id is not None
    limits = stored.make_sender_limits(
        outgoing.limits,
        sender_id=outgoing.sender_id,
        account_id=outgoing.account_id,
        reserve=NOTHING_RESERVED,
        now=datetime.now(UTC),
    )
    request = Request(count, limits)

    async def play() -> Outcome:
        limiter = Limiter(url, timeout=60)
        outcome = await limiter.grant(request)
        if isinstance(outcome, Unfilled):
            assert await limiter.fill(outcome, request, figures or Figures(0, 0))
            outcome = await limiter.grant(request)
        await limiter.close()
        return outcome

    return asyncio.run(play())


def take(url: str, count: int) -> int:
    """How many mails the limiter grants."""
    return granted(ask(url, count)).count


def send(fake: FakeSes, count: int) -> None:
    for _ in range(count):
        fake.service.account.quota.count(1, datetime.now(UTC))


def test_an_account_is_read_by_itself_from_its_first_sender_on(
    fake: FakeSes, clean_redis: str
) -> None:
    fake.service.account.quota = Quota(1000, 20, sent_by_others=400)
    account = attach_ses(fake)

    assert quota_sync.sync_due(clean_redis) == 1
    assert quota_sync.sync_due(clean_redis) == 0

    row = stored_quota(account)
    assert (row.remaining, row.size, row.max_rate, row.sync_id) == (600, 1000, 20, 1)
    outgoing = queries.outgoing(cast.sender().pk)
    assert outgoing
    assert outgoing.limits.account_rate == 18
    bring_forward(account)
    quota_sync.sync_due(clean_redis)
    assert minutes_to_next(account) == 5


def test_mail_that_waits_has_the_quota_read_each_minute(fake: FakeSes, clean_redis: str) -> None:
    account = attach_ses(fake)
    cast.stream(mails=1)
    assert take(clean_redis, 1) == 1

    quota_sync.sync_due(clean_redis, settle_time=timedelta())

    assert minutes_to_next(account) == 1


def test_an_unused_account_is_not_read_unless_its_mail_waits(
    fake: FakeSes, clean_redis: str
) -> None:
    attach_ses(fake)
    Sender.objects.update(archived_at=Now(), is_default=False)
    assert quota_sync.sync_due(clean_redis) == 0

    cast.stream(mails=1)

    assert quota_sync.sync_due(clean_redis, settle_time=timedelta()) == 1


def test_a_quota_of_0_holds_the_first_mail(fake: FakeSes, clean_redis: str) -> None:
    fake.service.account.quota = Quota(0, UNLIMITED)
    account = attach_ses(fake)
    quota_sync.sync_due(clean_redis)

    until = stored_quota(account).next_sync_at
    assert refusals(ask(clean_redis, 1)) == {Limit.QUOTA: until}

    fake.service.account.quota = Quota(5, UNLIMITED)
    bring_forward(account)
    quota_sync.sync_due(clean_redis)

    assert take(clean_redis, 10) == 5


def test_an_unlimited_account_has_no_limit(fake: FakeSes, clean_redis: str) -> None:
    fake.service.account.quota = Quota(UNLIMITED, UNLIMITED)
    account = attach_ses(fake)
    quota_sync.sync_due(clean_redis)

    assert stored_quota(account).remaining is None
    assert take(clean_redis, 50) == 50


def test_neither_a_lagging_count_nor_other_systems_let_more_go_than_the_provider_takes(
    fake: FakeSes, clean_redis: str
) -> None:
    account_quota = fake.service.account.quota = Quota(30, UNLIMITED, report_lag=0.5)
    account = attach_ses(fake)
    cast.stream(mails=1)
    quota_sync.sync_due(clean_redis, settle_time=timedelta())
    send(fake, take(clean_redis, 12))
    account_quota.sent_by_others = 10

    bring_forward(account)
    quota_sync.sync_due(clean_redis, settle_time=timedelta(seconds=0.6))

    assert stored_quota(account).remaining == 8
    assert take(clean_redis, 50) == 8  # one mail more would be refused
    send(fake, 8)
    assert refusals(ask(clean_redis, 1))


@contextmanager
def while_it_is_read(
    fake: FakeSes, url: str, settle_time: timedelta = quota.SETTLE_TIME
) -> Iterator[None]:
    """Inside, the provider has been asked and has not answered."""
    fake.set_faults(Rule(DelayAnswer(1.0), operation="GetAccount", times=1))
    reading = threading.Thread(target=sync_on_thread, args=(url, settle_time))
    reading.start()
    while not fake.service.script.strikes[0]:
        threading.Event().wait(0.01)
    yield
    reading.join()


def test_what_was_granted_while_the_provider_was_asked_counts(
    fake: FakeSes, clean_redis: str
) -> None:
    """Perhaps twice, until the next reading; never not at all."""
    fake.service.account.quota = Quota(30, UNLIMITED)
    account = attach_ses(fake)
    quota_sync.sync_due(clean_redis)
    send(fake, take(clean_redis, 5))
    bring_forward(account)

    with while_it_is_read(fake, clean_redis):
        assert take(clean_redis, 7) == 7

    assert take(clean_redis, 50) == 30 - 5 - 7


def test_mail_that_begins_beside_the_first_reading_is_not_stopped_by_it(
    fake: FakeSes, clean_redis: str
) -> None:
    """The limiter was filled without a quota: only a reading with a mark tells it what is left."""
    fake.service.account.quota = Quota(30, UNLIMITED)
    attach_ses(fake)

    with while_it_is_read(fake, clean_redis, settle_time=timedelta()):
        send(fake, take(clean_redis, 7))

    assert take(clean_redis, 50) == 23


def sync_on_thread(url: str, settle_time: timedelta = quota.SETTLE_TIME) -> int:
    try:
        return quota_sync.sync_due(url, settle_time=settle_time)
    finally:
        connection.close()


def test_workers_that_look_at_once_read_an_account_once(fake: FakeSes, clean_redis: str) -> None:
    attach_ses(fake)
    attach_ses(fake, "globex")

    with ThreadPoolExecutor(6) as pool:
        counts = list(pool.map(sync_on_thread, [clean_redis] * 6))

    assert sum(counts) == 2
    assert set(AccountQuota.objects.values_list("sync_id", flat=True)) == {1}


def test_an_earlier_reading_does_not_overwrite_a_later_one(fake: FakeSes) -> None:
    account = attach_ses(fake)
    earlier = quotas.claim_now(account, is_busy=False)
    later = quotas.claim_now(account, is_busy=False)

    assert store(later, 70)
    assert not store(earlier, 900)
    assert not quotas.store_failure(earlier, "It did not answer.", wait=WAIT)

    row = stored_quota(account)
    assert (row.remaining, row.sync_id, row.failed_since) == (70, 1, None)
    assert store(quotas.claim_now(account, is_busy=False), 60)
    assert stored_quota(account).sync_id == 2


def store(claim: quotas.QuotaClaim, remaining: int) -> bool:
    return quotas.store_reading(claim, QuotaReading(remaining), count_id="a", granted=1, wait=WAIT)


def test_a_reading_of_former_settings_is_dropped_and_the_account_read_again(
    fake: FakeSes,
) -> None:
    account = attach_ses(fake)
    claim = quotas.claim_now(account, is_busy=False)
    assert not quotas.has_due()

    account_changes.update_account(
        account.workspace_id,
        account_id=account.pk,
        changes={"configuration_set": "news"},
        actor="test",
    )

    assert not store(claim, 70)
    assert quotas.has_due()


def test_a_provider_that_does_not_say_it_delays_nobody_and_its_last_word_counts(
    fake: FakeSes, clean_redis: str, caplog: pytest.LogCaptureFixture
) -> None:
    account = attach_ses(fake)
    other = attach_ses(fake, "globex")
    quota_sync.sync_due(clean_redis)
    bring_forward(account)
    bring_forward(other)
    fake.service.account.quota = Quota(500, UNLIMITED)
    fake.set_faults(Rule(AnswerError("AccessDeniedException"), operation="GetAccount", times=1))

    with caplog.at_level(logging.DEBUG):
        assert quota_sync.sync_due(clean_redis) == 2

    rows = list(AccountQuota.objects.order_by("failed_since"))  # nulls are last
    failed, read = rows
    assert (failed.remaining, read.remaining) == (1000, 500)
    assert failed.error == "SES does not let the keys read the quota: allow them ses:GetAccount."
    assert failed.synced_at is not None
    assert minutes_to_next(failed.account) == 1
    assert "quota_not_read" in caplog.text
    assert SECRET_ACCESS_KEY not in caplog.text

    bring_forward(failed.account)
    quota_sync.sync_due(clean_redis)
    row = stored_quota(failed.account)
    assert (row.remaining, row.failed_since, row.error) == (500, None, "")


def test_a_quota_that_the_key_may_not_read_is_no_failure_and_its_last_word_counts_no_more(
    clean_redis: str, caplog: pytest.LogCaptureFixture
) -> None:
    with serving_in_thread(FakeSendGrid()) as fake:
        fake.service.account.credits.total = 1000
        account = attach("sendgrid", {"api_key": API_KEY, "endpoint": fake.endpoint})
        quota_sync.sync_due(clean_redis)
        assert stored_quota(account).remaining == 1000

        fake.service.account.keys[API_KEY] = ApiKey(frozenset({"mail.send"}))
        bring_forward(account)
        with caplog.at_level(logging.WARNING):
            assert quota_sync.sync_due(clean_redis) == 1

    quota_sync.sync_early(account.pk, datetime.now(UTC))  # mail was refused
    row = stored_quota(account)
    assert (row.remaining, row.size, row.synced_at, row.failed_since) == (None, None, None, None)
    assert "permission user.credits.read" in row.error
    assert minutes_to_next(account) == 15
    assert not caplog.records
    limits = sending_limits.describe(Sender.objects.get(account=account))
    assert limits.quota is None  # mail goes without it


def test_settings_that_cannot_be_unsealed_are_a_failure_like_others(
    fake: FakeSes, clean_redis: str
) -> None:
    account = attach_ses(fake)
    foreign = attach_ses(fake, "globex")
    # As if somebody had copied the row of another workspace.
    ProviderAccount.objects.filter(pk=account.pk).update(sealed_settings=foreign.sealed_settings)

    quota_sync.sync_due(clean_redis)

    assert stored_quota(account).synced_at is None
    assert "SECRET_KEY" in stored_quota(account).error
    assert stored_quota(foreign).remaining == 1000


def test_without_redis_a_quota_is_read_all_the_same(fake: FakeSes) -> None:
    account = attach_ses(fake)

    quota_sync.sync_due("redis://127.0.0.1:1/0")

    row = stored_quota(account)
    assert (row.remaining, row.mark_count_id) == (1000, None)


def test_a_refused_mail_brings_the_reading_forward(fake: FakeSes, clean_redis: str) -> None:
    account = attach_ses(fake)
    quota_sync.sync_due(clean_redis)
    AccountQuota.objects.update(synced_at=Now() - timedelta(minutes=2))
    assert not quotas.has_due()

    quota_sync.sync_early(account.pk, datetime.now(UTC))

    assert quotas.has_due()
    quota_sync.sync_due(clean_redis)
    quota_sync.sync_early(account.pk, datetime.now(UTC))
    assert not quotas.has_due()
    assert minutes_to_next(account) == 1
