"""The outlook of a stream is made from what the database says: work, limits, hours and use."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection

from postledger.accounts.models import AccountQuota, Member, ProviderAccount, Sender, Workspace
from postledger.deliveries import entries, ledger, queries
from postledger.deliveries.entries import Entry, StreamKind
from postledger.deliveries.reasons import Reason
from postledger.pacing import outlook, stored
from postledger.pacing.outlook import Change, Outlook, Workforce
from postledger.pacing.prospects import Binding, Owner
from tests import cast

pytestmark = pytest.mark.django_db

# Tomorrow: everything that a test does was done before, and on no other day than today.
NOW = (datetime.now(UTC) + timedelta(days=1)).replace(hour=12, minute=30, second=0, microsecond=0)
NEXT_HOUR = NOW + timedelta(minutes=30)


def taken(position: int) -> Entry:
    return entries.accepted(position, message_id=f"m{position}")


def skipped(position: int) -> Entry:
    return entries.skipped(position, code="snoozed")


def limit_sender(**limits: Any) -> None:
    cast.sender()
    Sender.objects.filter(address="news@acme.example").update(**limits)


def add_account(**quota: Any) -> ProviderAccount:
    account = ProviderAccount.objects.create(
        workspace=cast.sender().workspace, name="main", kind="smtp", sealed_settings=b""
    )
    limit_sender(account=account)
    if quota:
        AccountQuota.objects.create(account=account, **quota)
    return account


def settle_at(moment: datetime) -> None:
    """Dates all results."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE deliveries_delivery SET settled_at = %s WHERE state <> 'waiting'", [moment]
        )


def predict(
    stream_id: int, *, now: datetime = NOW, workers: int = 1, measured: float | None = None
) -> Outlook:
    workspace_id = Workspace.objects.get(name="acme").pk
    workforce = Workforce(workers, measured)
    return outlook.predict_end(workspace_id, stream_id, workforce=workforce, now=now)


def seconds_of(result: Outlook) -> float:
    assert result.ends_at is not None
    return (result.ends_at - result.as_of).total_seconds()


def test_without_limits_every_live_worker_sends_fifty_a_second() -> None:
    result = predict(cast.stream(mails=300), workers=2)

    assert (result.waiting, result.left, result.changes) == (300, 0, [])
    assert (result.binding, result.owner) == (Binding.CAPACITY, None)
    assert seconds_of(result) == pytest.approx(3)


def test_a_stream_that_nothing_limits_goes_on_as_fast_as_it_went() -> None:
    first = cast.stream(mails=300)
    cast.stream(mails=1000)

    result = predict(first, measured=100.0)

    assert result.binding is Binding.CAPACITY
    assert seconds_of(result) == pytest.approx(3)


USED = stored.lower_rate(1) or 0.0  # the share of a rate at which mail leaves


def test_a_measured_pace_says_nothing_about_a_stream_with_limits() -> None:
    limit_sender(rate_per_second=5)

    result = predict(cast.stream(mails=300), measured=1.0)

    assert result.binding is Binding.RATE_PER_SECOND
    assert seconds_of(result) == pytest.approx(60 / USED)


def test_streams_of_a_sender_share_its_rate_and_the_books_say_what_waits() -> None:
    limit_sender(rate_per_second=10)
    asked = cast.stream(mails=120)
    cast.stream(mails=1000)
    cast.book(asked, taken, size=20)

    result = predict(asked)

    assert (result.waiting, result.binding, result.owner) == (
        100,
        Binding.RATE_PER_SECOND,
        Owner.SENDER,
    )
    assert seconds_of(result) == pytest.approx(20 / USED)


def test_bulk_mail_leaves_the_reserved_part_of_an_account_to_single_mails() -> None:
    add_account()
    ProviderAccount.objects.update(rate_per_second=10)

    result = predict(cast.stream(mails=400))

    assert (result.binding, result.owner) == (Binding.RATE_PER_SECOND, Owner.ACCOUNT)
    assert seconds_of(result) == pytest.approx(50 / USED)


def test_mail_to_one_person_goes_first_and_may_use_the_reserve() -> None:
    add_account()
    ProviderAccount.objects.update(rate_per_second=10)
    campaign = cast.stream(mails=80)
    single = cast.stream(StreamKind.TRANSACTIONAL, mails=100)

    assert seconds_of(predict(single)) == pytest.approx(10 / USED)
    assert seconds_of(predict(campaign)) == pytest.approx(20 / USED)


def test_what_was_sent_this_hour_is_part_of_the_hours_limit() -> None:
    limit_sender(rate_per_hour=100)
    cast.book(cast.stream(mails=40), taken, size=40)
    settle_at(NOW - timedelta(minutes=30))

    result = predict(cast.stream(mails=70))

    # 60 go now and 10 in the next hour.
    assert (result.binding, result.owner) == (Binding.RATE_PER_HOUR, Owner.SENDER)
    assert result.ends_at == NEXT_HOUR + timedelta(seconds=10 / 50)
    assert result.changes == [
        Change(Binding.RATE_PER_HOUR, Owner.SENDER, NOW + timedelta(seconds=70 / 50))
    ]


def test_of_an_old_stream_only_what_was_sent_since_counts() -> None:
    limit_sender(rate_per_hour=1000)
    asked = cast.stream()
    cast.plan(asked, range(1_200))
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE deliveries_delivery SET state = 'accepted',"
            " settled_at = %s - (1000 - position) * interval '6 seconds' WHERE position < 1000",
            [NOW],
        )
        cursor.execute("DELETE FROM deliveries_batch WHERE hi <= 1000")
        cursor.execute("UPDATE deliveries_stream SET created_at = %s", [NOW - timedelta(days=9)])

    sender_id = cast.sender().pk
    since = NOW - timedelta(minutes=30)
    assert queries.count_sent_by_sender(sender_id, since=since) == 300


def test_results_of_an_earlier_hour_are_no_part_of_this_one() -> None:
    limit_sender(rate_per_hour=100)
    cast.book(cast.stream(mails=40), taken, size=40)
    settle_at(NOW - timedelta(minutes=31))

    assert predict(cast.stream(mails=70)).binding is Binding.CAPACITY


def test_mails_that_never_reached_a_provider_are_no_part_of_a_limit() -> None:
    limit_sender(rate_per_hour=100)
    cast.judge(cast.stream(mails=40), skipped, size=40)
    settle_at(NOW)

    assert predict(cast.stream(mails=70)).binding is Binding.CAPACITY


def test_a_members_day_holds_the_runs_that_they_launched() -> None:
    sender = cast.sender()
    member = Member.objects.create(
        workspace=sender.workspace, email="bob@acme.example", role="manager", daily_limit=50
    )
    done, asked = (
        ledger.open_stream(
            sender.workspace_id,
            sender_id=sender.pk,
            kind=StreamKind.CAMPAIGN,
            title="News",
            member_id=member.pk,
        )
        for _ in range(2)
    )
    cast.enqueue(done, range(30))
    cast.book(done, taken, size=30)
    settle_at(NOW - timedelta(hours=12))
    cast.enqueue(asked, range(40))

    result = predict(asked)

    # 20 go today, 20 tomorrow from 09:00 on.
    tomorrow = (NOW + timedelta(days=1)).replace(hour=9, minute=0)
    assert (result.binding, result.owner) == (Binding.DAILY_LIMIT, Owner.MEMBER)
    assert result.ends_at == tomorrow + timedelta(seconds=20 / 50)
    assert predict(cast.stream(mails=20)).binding is Binding.CAPACITY


def test_a_quota_counts_from_its_last_sync_and_comes_back_a_day_later() -> None:
    add_account(remaining=90, size=100, synced_at=NOW - timedelta(hours=1), next_sync_at=NOW)
    first = cast.stream(mails=60)
    cast.book(first, taken, size=30)
    settle_at(NOW)

    # 60 are left of 90; five of the whole are reserved.
    enough = predict(first)
    cast.enqueue(first, range(60, 120))
    too_little = predict(first)

    assert (enough.waiting, enough.binding) == (30, Binding.CAPACITY)
    assert (too_little.binding, too_little.owner) == (Binding.QUOTA_EXHAUSTED, Owner.ACCOUNT)
    assert too_little.ends_at is not None
    assert timedelta(0) < too_little.ends_at - NOW < timedelta(hours=25)


def test_hours_of_workspace_and_sender_apply_together_and_to_bulk_mail_only() -> None:
    limit_sender(working_hours={"zone": "UTC", "spans": [["10:00", "18:00"]]})
    Workspace.objects.update(working_hours={"zone": "UTC", "spans": [["08:00", "12:00"]]})
    now = NOW.replace(hour=9)

    bulk = predict(cast.stream(mails=50), now=now)
    single = predict(cast.stream(StreamKind.TRANSACTIONAL, mails=50), now=now)

    assert (bulk.binding, bulk.ends_at) == (
        Binding.OUTSIDE_HOURS,
        now + timedelta(minutes=30, seconds=1),
    )
    assert bulk.changes == [Change(Binding.OUTSIDE_HOURS, None, now + timedelta(seconds=1))]
    assert single.ends_at == now + timedelta(seconds=1)


def test_a_delivery_window_counts_as_hours_of_the_workspaces_zone() -> None:
    sender = cast.sender()
    stream_id = ledger.open_stream(
        sender.workspace_id,
        sender_id=sender.pk,
        kind=StreamKind.CAMPAIGN,
        title="News",
        delivery_window={"spans": [["14:30", "20:00"]]},
    )
    cast.enqueue(stream_id, range(50))
    Workspace.objects.update(time_zone="Etc/GMT-1")

    result = predict(stream_id)

    assert result.binding is Binding.OUTSIDE_HOURS
    assert result.ends_at == NOW + timedelta(hours=1, seconds=1)


def test_mail_of_a_test_key_has_no_limits() -> None:
    limit_sender(rate_per_second=1, rate_per_hour=1)

    assert seconds_of(predict(cast.stream(mails=50, is_test=True))) == pytest.approx(1)


def test_scheduled_mail_starts_at_its_time() -> None:
    stream_id = cast.stream(mails=50)
    cast.plan(stream_id, range(100, 150), due_at=NOW + timedelta(days=2))

    result = predict(stream_id)

    assert (result.waiting, result.binding) == (100, Binding.SCHEDULED)
    assert result.ends_at == NOW + timedelta(days=2, seconds=1)


def test_a_hold_with_an_end_delays_and_one_that_may_go_on_leaves_the_end_open() -> None:
    asked, paused, down = (cast.stream(mails=mails) for mails in (50, 5000, 50))
    until = NOW + timedelta(minutes=5)
    ledger.hold(paused, reason=Reason.PAUSED, actor="bob")
    ledger.hold(asked, reason=Reason.THROTTLED, actor="dispatcher", until=until)
    ledger.hold(down, reason=Reason.PROVIDER_DOWN, actor="dispatcher", until=until)

    delayed, stopped, unsure = predict(asked), predict(paused), predict(down)

    assert (unsure.ends_at, unsure.left, unsure.binding) == (None, 50, Binding.HELD)

    assert (delayed.binding, delayed.ends_at) == (Binding.HELD, until + timedelta(seconds=1))
    assert (stopped.ends_at, stopped.left, stopped.binding) == (None, 5000, Binding.HELD)


def test_a_hold_of_a_limit_is_what_the_limit_says() -> None:
    limit_sender(rate_per_hour=100)
    asked = cast.stream(mails=150)
    cast.book(asked, taken, size=100)
    settle_at(NOW)
    ledger.hold(asked, reason=Reason.RATE_PER_HOUR, actor="dispatcher", until=NEXT_HOUR)

    result = predict(asked)

    assert (result.binding, result.ends_at) == (
        Binding.RATE_PER_HOUR,
        NEXT_HOUR + timedelta(seconds=1),
    )
    assert result.changes


def test_another_workspace_is_no_part_of_it() -> None:
    theirs = cast.stream(mails=50, workspace="globex")
    cast.sender()

    assert predict(theirs).waiting == 0


def test_a_plan_is_read_with_few_queries(django_assert_max_num_queries: Any) -> None:
    limit_sender(rate_per_second=14, rate_per_hour=100, daily_limit=500)
    streams = [cast.stream(mails=10) for _ in range(5)]

    with django_assert_max_num_queries(4):  # those of Django; the ledger's own are one each
        predict(streams[0])
