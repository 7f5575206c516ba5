"""Limits of senders and members: what is allowed, what stays, and who may change them."""

from itertools import pairwise
from typing import Any

import pytest
from django.db import IntegrityError, transaction

from postledger.accounts import limits, queries, senders, sending_limits
from postledger.accounts.limits import InvalidLimitError, LimitChanges
from postledger.accounts.models import AuditEntry, Member, Sender
from postledger.accounts.people import members
from postledger.accounts.people.roles import Role
from postledger.accounts.queries import MemberUnknownError, SenderUnknownError


def make_sender(workspace_id: int) -> int:
    return senders.create_sender(workspace_id, address="news@acme.example", actor="alice")


def make_member(workspace_id: int) -> int:
    return members.add_member(
        workspace_id, email="alice@acme.example", role=Role.MANAGER, actor="setup"
    )


def limits_of(sender_id: int) -> tuple[float | None, int | None, int | None]:
    outgoing = queries.outgoing(sender_id)
    assert outgoing
    stored = outgoing.limits
    return stored.rate_per_second, stored.rate_per_hour, stored.daily_limit


def test_the_limits_that_are_named_change_and_the_others_stay(acme: int) -> None:
    sender_id = make_sender(acme)
    assert limits_of(sender_id) == (None, None, None)

    senders.set_limits(
        acme, sender_id=sender_id, rate_per_second=0.5, rate_per_hour=100, actor="alice"
    )
    senders.set_limits(acme, sender_id=sender_id, daily_limit=1_000, actor="alice")
    senders.set_limits(acme, sender_id=sender_id, rate_per_hour=None, actor="bob")

    assert limits_of(sender_id) == (0.5, None, 1_000)
    noted = AuditEntry.objects.filter(action="sender.limits_changed").order_by("pk")
    assert list(noted.values_list("actor", "data")) == [
        ("alice", {"rate_per_second": 0.5, "rate_per_hour": 100}),
        ("alice", {"daily_limit": 1_000}),
        ("bob", {"rate_per_hour": None}),
    ]


def test_a_limit_that_cannot_be_kept_is_refused_with_advice(acme: int) -> None:
    sender_id = make_sender(acme)
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"rate_per_second": 0.0}, "To let mail wait, hold its stream"),
        ({"rate_per_hour": 0}, "To let mail wait, hold its stream"),
        ({"daily_limit": 0}, "To let mail wait, hold its stream"),
        ({"rate_per_second": 1e-320}, "use a number from 0.00001 to 10,000"),
        ({"rate_per_second": -1.0}, "use a number from 0.00001 to 10,000"),
        ({"rate_per_second": 10_001.0}, "use a number from 0.00001 to 10,000"),
        ({"rate_per_second": float("nan")}, "use a number from 0.00001 to 10,000"),
        ({"rate_per_second": float("inf")}, "use a number from 0.00001 to 10,000"),
        ({"rate_per_hour": -1}, "mails an hour: use 1 to 1,000,000,000"),
        ({"daily_limit": 1_000_000_001}, "mails a day: use 1 to 1,000,000,000"),
    ]
    for changes, advice in wrong:
        with pytest.raises(InvalidLimitError, match=advice):
            senders.set_limits(acme, sender_id=sender_id, actor="alice", **changes)

    assert limits_of(sender_id) == (None, None, None)


def test_the_database_itself_refuses_such_a_limit(acme: int) -> None:
    rows = Sender.objects.filter(pk=make_sender(acme))

    for column, value, constraint in (
        ("rate_per_second", 0, "accounts_sender_rate"),
        ("rate_per_second", limits.FASTEST + 1, "accounts_sender_rate"),
        ("rate_per_second", float("nan"), "accounts_sender_rate"),
        ("rate_per_hour", 0, "accounts_sender_hourly_limit"),
        ("daily_limit", 0, "accounts_sender_daily_limit"),
    ):
        with pytest.raises(IntegrityError, match=constraint), transaction.atomic():
            rows.update(**{column: value})

    rows.update(rate_per_second=limits.FASTEST, rate_per_hour=1, daily_limit=1)


def test_the_limits_of_another_workspace_are_out_of_reach(acme: int, globex: int) -> None:
    sender_id, member_id = make_sender(acme), make_member(acme)

    with pytest.raises(SenderUnknownError, match="This workspace has no sender"):
        senders.set_limits(globex, sender_id=sender_id, daily_limit=1, actor="charlie")
    with pytest.raises(MemberUnknownError, match="This workspace has no member"):
        members.set_daily_limit(globex, member_id=member_id, daily_limit=1, actor="charlie")

    assert limits_of(sender_id) == (None, None, None)
    assert sending_limits.find_member_limit(member_id) is None


def test_mail_is_counted_afresh_since_a_limit_of_the_hour_or_day_was_added(acme: int) -> None:
    sender_id, member_id = make_sender(acme), make_member(acme)
    seen = []
    for changes in (
        LimitChanges(rate_per_second=5),
        LimitChanges(rate_per_hour=100),
        LimitChanges(rate_per_hour=200),
        LimitChanges(rate_per_hour=None),
        LimitChanges(daily_limit=100),
        LimitChanges(rate_per_hour=100),
    ):
        senders.set_limits(acme, sender_id=sender_id, actor="alice", **changes)
        seen.append(Sender.objects.get(pk=sender_id).counted_since)
    added = []
    for daily_limit in (5, 6, None, 7):
        members.set_daily_limit(acme, member_id=member_id, daily_limit=daily_limit, actor="alice")
        added.append(Member.objects.get(pk=member_id).counted_since)

    assert seen[0] is None
    changed = [later != earlier for earlier, later in pairwise(seen)]
    assert changed == [True, False, False, True, True]
    assert [later != earlier for earlier, later in pairwise(added)] == [False, False, True]


def test_the_daily_limit_of_a_member_is_set_and_removed(acme: int) -> None:
    member_id = make_member(acme)

    members.set_daily_limit(acme, member_id=member_id, daily_limit=500, actor="alice")
    limit = sending_limits.find_member_limit(member_id)
    members.set_daily_limit(acme, member_id=member_id, daily_limit=None, actor="alice")

    assert limit is not None
    assert (limit.per_day, sending_limits.find_member_limit(member_id)) == (500, None)
    noted = AuditEntry.objects.filter(action="member.limit_changed").order_by("pk")
    assert [data["daily_limit"] for data in noted.values_list("data", flat=True)] == [500, None]
    with pytest.raises(InvalidLimitError, match="No mail would ever go with a limit of 0 mails"):
        members.set_daily_limit(acme, member_id=member_id, daily_limit=0, actor="alice")
    with pytest.raises(IntegrityError, match="accounts_member_limit"), transaction.atomic():
        Member.objects.filter(pk=member_id).update(daily_limit=0)
