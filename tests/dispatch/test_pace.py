"""The dispatcher under limits: how many mails go, when they go, and what the others wait for."""

import time
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import override

import pytest
from redis import Redis

from postledger.accounts.models import (
    AccountQuota,
    Member,
    ProviderAccount,
    Sender,
    Workspace,
)
from postledger.deliveries import ledger, queries
from postledger.deliveries.entries import StreamKind
from postledger.deliveries.ledger import sql
from postledger.deliveries.reasons import Reason
from postledger.deliveries.states import State
from postledger.dispatch.options import Options
from postledger.pacing import quota_sync
from postledger.providers.base import Accepted, Outcome, OutgoingMessage, Throttled
from tests import cast
from tests.cli import installations
from tests.dispatch import office, vendors
from tests.dispatch.office import OPTIONS, Office
from tests.dispatch.test_sendgrid_pipeline import open_sendgrid
from tests.dispatch.test_ses_pipeline import read_hold
from tests.pacing import clock_hours
from tests.pacing.paced import settle
from tools.fakes.http.server import serving_in_thread
from tools.fakes.sendgrid.server import FakeSendGrid

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(scope="module")
def redis_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with installations.redis(tmp_path_factory.mktemp("redis")) as url:
        yield url


@pytest.fixture
def options(redis_url: str) -> Options:
    """Those of a dispatcher with a Redis that is empty and has long been there."""
    empty(redis_url)
    return replace(OPTIONS, redis_url=redis_url)


def empty(redis_url: str) -> None:
    with Redis.from_url(redis_url) as redis:
        redis.flushall()
        settle(redis)


@pytest.fixture
def acme(tmp_path: Path) -> Office:
    """A workspace in whose zone it is about noon: no test sees its day end."""
    clock_hours.stay_clear_of_the_hours_end()
    acme = office.open_office(tmp_path)
    Workspace.objects.update(time_zone=clock_hours.find_noon_zone())
    return acme


def reasons(stream_id: int) -> dict[Reason, datetime | None]:
    return {hold.reason: hold.until for hold in office.facts(stream_id).holds}


def send_until_held(stream_id: int, options: Options) -> dict[Reason, datetime | None]:
    with office.dispatching(options) as dispatcher:
        office.until(lambda: bool(reasons(stream_id)), dispatcher)
        time.sleep(0.3)  # time to go wrong
        assert not office.is_leased(stream_id)
    return reasons(stream_id)


def limit(acme: Office, **limits: object) -> None:
    Sender.objects.filter(pk=acme.sender_id).update(**limits)


def know_quota(acme: Office, remaining: int, *, next_sync: timedelta) -> datetime:
    """The account has so much left of 200; returns when it will be read again."""
    now = datetime.now(UTC)
    return AccountQuota.objects.create(
        account_id=acme.account_id or 0,
        remaining=remaining,
        size=200,
        sync_id=1,
        synced_at=now,
        next_sync_at=now + next_sync,
    ).next_sync_at


def test_150_recipients_at_100_an_hour_get_100_mails(acme: Office, options: Options) -> None:
    limit(acme, rate_per_hour=100)
    run = office.stream(acme, office.people(150))

    assert send_until_held(run, options) == {Reason.RATE_PER_HOUR: clock_hours.next_hour()}

    assert office.counts(run) == {State.ACCEPTED: 100, State.WAITING: 50}
    assert set(office.attempts(run).values()) == {0, 1}


def test_a_limit_counts_on_after_redis_was_emptied(acme: Office, options: Options) -> None:
    limit(acme, rate_per_hour=100)
    send_until_held(office.stream(acme, office.people(150)), options)
    ledger.release(office.stream(acme))
    empty(options.redis_url)
    second = office.stream(acme, office.people(10))

    assert send_until_held(second, options) == {Reason.RATE_PER_HOUR: clock_hours.next_hour()}

    assert office.counts(second) == {State.WAITING: 10}


def test_a_mail_that_is_not_sent_uses_nothing_of_a_limit(acme: Office, options: Options) -> None:
    limit(acme, rate_per_hour=20)
    run = office.stream(acme, ["not an address", *office.people(19), "neither@@this", "last@x.org"])

    office.send_all(run, options=options)

    assert office.counts(run) == {State.ACCEPTED: 20, State.FAILED: 2}


def test_a_daily_limit_ends_at_nine_on_the_next_day(acme: Office, options: Options) -> None:
    limit(acme, daily_limit=3)
    run = office.stream(acme, office.people(5))

    [(reason, until)] = send_until_held(run, options).items()

    assert reason is Reason.DAILY_LIMIT
    assert until is not None
    assert timedelta(hours=20) < until - datetime.now(UTC) < timedelta(hours=22)
    assert office.counts(run) == {State.ACCEPTED: 3, State.WAITING: 2}


def test_a_members_daily_limit_counts_the_runs_they_launched(
    acme: Office, options: Options
) -> None:
    ann = Member.objects.create(
        workspace_id=acme.workspace_id, email="ann@acme.example", role="manager", daily_limit=4
    ).pk
    runs = [
        ledger.open_stream(
            acme.workspace_id,
            sender_id=acme.sender_id,
            kind=StreamKind.CAMPAIGN,
            title="News",
            member_id=member_id,
            body=office.BODY,
        )
        for member_id in (ann, ann, None)
    ]
    for run in runs:
        office.enqueue(run, office.people(3), body=None)

    with office.dispatching(options) as dispatcher:
        office.until(lambda: office.waiting(*runs) == 2, dispatcher)
        office.until(lambda: any(reasons(run) for run in runs), dispatcher)

    assert office.waiting(runs[2]) == 0
    held = [list(reasons(run)) for run in runs[:2]]
    assert [Reason.DAILY_LIMIT] in held


def test_a_quota_of_nothing_defers_before_the_first_mail(acme: Office, options: Options) -> None:
    next_sync = know_quota(acme, 0, next_sync=timedelta(minutes=5))
    run = office.stream(acme, office.people(5))

    assert send_until_held(run, options) == {Reason.QUOTA_EXHAUSTED: next_sync}

    assert acme.taken() == []


def test_bulk_mail_leaves_a_share_of_the_quota_to_single_mails(
    acme: Office, options: Options
) -> None:
    know_quota(acme, 30, next_sync=timedelta(minutes=5))
    run = office.stream(acme, office.people(50))
    send_until_held(run, options)
    single = office.stream(acme, office.people(5), kind=StreamKind.TRANSACTIONAL)

    office.send_all(single, options=options)

    assert office.counts(run) == {State.ACCEPTED: 20, State.WAITING: 30}


def test_credits_that_sendgrid_charges_beyond_hold_no_mail(
    tmp_path: Path, options: Options
) -> None:
    with serving_in_thread(FakeSendGrid()) as fake:
        credits_ = fake.service.account.credits
        credits_.total, credits_.allows_overage = 3, True
        acme = open_sendgrid(fake, tmp_path)
        for people, remaining in ((5, 3), (2, 0)):
            quota_sync.sync_due(options.redis_url)
            assert AccountQuota.objects.get().remaining == remaining
            office.send_all(office.stream(acme, office.people(people)), options=options)
            AccountQuota.objects.update(next_sync_at=datetime.now(UTC))

    assert (len(fake.service.kept), credits_.overage) == (7, 4)


@pytest.mark.slow
@pytest.mark.sample
def test_a_plan_that_refuses_mail_beyond_its_credits_holds_it_until_there_are_more(
    tmp_path: Path, options: Options
) -> None:
    with serving_in_thread(FakeSendGrid()) as fake:
        fake.service.account.credits.total = 1
        run = office.stream(open_sendgrid(fake, tmp_path), office.people(3))
        quota_sync.sync_due(options.redis_url)
        with office.dispatching(options) as dispatcher:
            office.until(lambda: read_hold(run) is not None, dispatcher)
        assert read_hold(run) is Reason.QUOTA_EXHAUSTED
        assert office.counts(run) == {State.ACCEPTED: 1, State.WAITING: 2}

        fake.service.account.credits.total = 3
        office.end_sender_holds()
        cast.bring_forward(run)
        office.send_all(run, options=options)

    assert office.counts(run) == {State.ACCEPTED: 3}


def test_bulk_mail_waits_for_the_opening_and_single_mails_do_not(
    acme: Office, options: Options
) -> None:
    # The zone's clock shows noon.
    Workspace.objects.update(working_hours={"spans": [["17:00", "18:00"]]})
    run = office.stream(acme, office.people(2))
    single = office.stream(acme, office.people(2), kind=StreamKind.TRANSACTIONAL)

    office.send_all(single, options=options)
    [(reason, until)] = send_until_held(run, options).items()

    assert reason is Reason.OUTSIDE_HOURS
    assert until is not None
    assert timedelta(hours=4) < until - datetime.now(UTC) < timedelta(hours=6)
    assert office.counts(run) == {State.WAITING: 2}


def test_two_causes_at_once_are_two(acme: Office, options: Options) -> None:
    limit(acme, rate_per_hour=3)
    run = office.stream(acme, office.people(5))
    send_until_held(run, options)
    Sender.objects.update(working_hours={"spans": [["17:00", "18:00"]]})
    ledger.end_limit_holds(sender_ids=[acme.sender_id])

    assert list(send_until_held(run, options)) == [Reason.OUTSIDE_HOURS, Reason.RATE_PER_HOUR]


def test_a_limit_is_seen_under_a_pause(acme: Office, options: Options) -> None:
    run = office.stream(acme, office.people(2))
    ledger.hold(run, reason=Reason.PAUSED, actor="alice")
    limit(acme, working_hours={"spans": [["17:00", "18:00"]]})

    quickly = replace(options, review_every=timedelta(seconds=0.05))
    with office.dispatching(quickly) as dispatcher:
        both = [Reason.PAUSED, Reason.OUTSIDE_HOURS]
        office.until(lambda: list(reasons(run)) == both, dispatcher)


def last_lease() -> int:
    [(lease,)] = sql.rows("SELECT last_value FROM deliveries_lease_token", {})
    return int(lease)


@pytest.mark.slow
@pytest.mark.sample
def test_a_limit_whose_end_has_passed_is_not_asked_again_and_again(
    acme: Office, options: Options
) -> None:
    know_quota(acme, 0, next_sync=timedelta(seconds=-1))
    office.stream(acme, office.people(5))

    before = last_lease()

    with office.dispatching(options):
        time.sleep(3)

    assert last_lease() - before < 20


@pytest.mark.slow
@pytest.mark.sample
def test_a_raised_limit_ends_the_hold_of_a_worker_that_had_not_read_it(
    acme: Office, options: Options
) -> None:
    limit(acme, daily_limit=3)
    run = office.stream(acme, office.people(5))
    quickly = replace(options, review_every=timedelta(seconds=0.2))
    with office.dispatching(quickly) as dispatcher:
        office.until(lambda: bool(reasons(run)), dispatcher)
        limit(acme, daily_limit=1000)

        office.until(lambda: not office.waiting(run), dispatcher)


def test_a_limit_that_was_just_added_is_said_to_settle_and_redis_to_answer(
    acme: Office, options: Options
) -> None:
    limit(acme, rate_per_hour=100, counted_since=datetime.now(UTC) + timedelta(minutes=1))
    run = office.stream(acme, office.people(2))

    with office.dispatching(options) as dispatcher:
        office.until(lambda: wait_reasons(run) == [Reason.LIMITS_SETTLING], dispatcher)

    assert office.counts(run) == {State.WAITING: 2}


def wait_reasons(stream_id: int) -> list[Reason]:
    return [wait.reason for wait in queries.summarise_waits(stream_id)]


class Clocked:
    """Accepts at once, and notes when each mail came."""

    def __init__(self) -> None:
        self.times: list[float] = []

    async def play(
        self, window: Sequence[OutgoingMessage], deadline: float
    ) -> AsyncGenerator[tuple[int, Outcome]]:
        for index, message in enumerate(window):
            self.times.append(time.monotonic())
            yield index, Accepted(message.id)

    def fullest(self, seconds: float) -> int:
        times = sorted(self.times)
        return max(sum(start <= at < start + seconds for at in times) for start in times)


@contextmanager
def clocked(clock: Clocked, folder: Path) -> Iterator[Office]:
    """A workspace whose provider notes its mails by this clock."""
    with vendors.registered(clock.play):
        yield office.open_office(folder, kind=vendors.KIND)


@pytest.mark.slow
@pytest.mark.sample
def test_the_rate_of_a_sender_is_kept_and_used(tmp_path: Path, options: Options) -> None:
    clock = Clocked()
    with clocked(clock, tmp_path) as acme:
        limit(acme, rate_per_second=20)
        run = office.stream(acme, office.people(60))

        office.send_all(run, options=options)

    assert office.counts(run) == {State.ACCEPTED: 60}
    # A slow machine sends later, never more: some milliseconds of jitter are one mail of twenty.
    assert clock.fullest(1.0) <= 21
    assert clock.times[-1] - clock.times[0] >= 59 / 20 - 0.1


@pytest.mark.slow
@pytest.mark.sample
def test_a_rate_of_less_than_one_a_second_is_kept(tmp_path: Path, options: Options) -> None:
    clock = Clocked()
    with clocked(clock, tmp_path) as acme:
        limit(acme, rate_per_second=0.5)
        run = office.stream(acme, office.people(3))

        office.send_all(run, options=options)

    assert clock.times[-1] - clock.times[0] >= 3.9


@pytest.mark.slow
@pytest.mark.sample
def test_without_redis_a_rate_is_kept_and_a_count_waits(tmp_path: Path, options: Options) -> None:
    clock = Clocked()
    gone = replace(options, redis_url="redis://127.0.0.1:1/0")
    with clocked(clock, tmp_path) as acme:
        limit(acme, rate_per_second=20)
        run = office.stream(acme, office.people(30))
        office.send_all(run, options=gone)
        limit(acme, rate_per_hour=100)
        counted = office.stream(acme, office.people(2))
        with office.dispatching(gone) as dispatcher:
            office.until(lambda: wait_reasons(counted) == [Reason.LIMITS_UNKNOWN], dispatcher)

        office.send_all(counted, options=options)

    assert clock.fullest(1.0) <= 21


def test_a_rate_of_the_account_binds_all_its_senders(tmp_path: Path, options: Options) -> None:
    clock = Clocked()
    with clocked(clock, tmp_path) as acme:
        ProviderAccount.objects.update(rate_per_second=20)
        run = office.stream(acme, office.people(30))

        office.send_all(run, options=options)

    # One moment of five is reserved for single mails.
    assert clock.times[-1] - clock.times[0] >= 29 / 16 - 0.2
    assert clock.fullest(1.0) <= 21


class Bucket(Clocked):
    """Takes so many mails in each second of its clock, and says of all others that they come too
    fast.
    """

    def __init__(self, most: int) -> None:
        super().__init__()
        self.most = most
        self.throttled = 0

    @override
    async def play(
        self, window: Sequence[OutgoingMessage], deadline: float
    ) -> AsyncGenerator[tuple[int, Outcome]]:
        for index, message in enumerate(window):
            now = time.monotonic()
            if sum(at > now - 1 for at in self.times[-self.most :]) >= self.most:
                self.throttled += 1
                yield index, Throttled("450 too much mail", code="450", may_be_quoted=True)
            else:
                self.times.append(now)
                yield index, Accepted(message.id)


@pytest.mark.slow
@pytest.mark.sample
def test_throttle_answers_lower_the_rate_and_use_no_attempt(
    tmp_path: Path, options: Options
) -> None:
    bucket = Bucket(most=30)
    with clocked(bucket, tmp_path) as acme:
        run = office.stream(acme, office.people(150))

        office.send_all(run, options=options)

    assert office.counts(run) == {State.ACCEPTED: 150}
    assert set(office.attempts(run).values()) == {1}
    assert bucket.throttled
    assert ProviderAccount.objects.get().tuned_rate is not None
    assert queries.find_sender_holds([acme.sender_id]) == {}
