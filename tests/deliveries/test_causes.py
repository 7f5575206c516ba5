"""Several causes hold a stream at once, and none hides another."""

from datetime import UTC, datetime, timedelta
from typing import LiteralString

import pytest

from postledger.accounts.people import members
from postledger.accounts.people.roles import Role
from postledger.deliveries import backlog, causes, ledger, queries
from postledger.deliveries.entries import Hold, HoldScope, StreamKind
from postledger.deliveries.ledger import LimitCause, sql
from postledger.deliveries.reasons import Reason
from tests import cast

NOON = datetime(2026, 11, 15, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


def held(reason: Reason, until: datetime | None, scope: HoldScope = HoldScope.STREAM) -> Hold:
    return Hold(reason, NOON, until, "bob", "", scope)


def test_the_cause_that_ends_last_comes_first_and_before_it_one_without_an_end() -> None:
    over, soon = held(Reason.DAILY_LIMIT, NOON), held(Reason.OUTSIDE_HOURS, NOON + HOUR)
    later = held(Reason.RATE_PER_HOUR, NOON + 2 * HOUR)
    never = held(Reason.SENDER_BLOCKED, None, HoldScope.ACCOUNT)

    assert causes.sort_in_force([over, soon, never, later], now=NOON) == (never, later, soon)


def test_of_causes_with_the_same_end_a_limit_comes_first() -> None:
    ordered = [
        *(Reason.DAILY_LIMIT, Reason.QUOTA_EXHAUSTED, Reason.OUTSIDE_HOURS),
        *(Reason.RATE_PER_HOUR, Reason.PROVIDER_DOWN, Reason.THROTTLED),
    ]
    for given in (ordered, ordered[::-1]):
        holds = causes.sort_in_force([held(name, NOON + HOUR) for name in given], now=NOON)
        assert [hold.reason for hold in holds] == ordered


def test_a_limit_has_the_reason_of_a_limit() -> None:
    with pytest.raises(ValueError, match="paused is not the cause of a limit"):
        LimitCause(Reason.PAUSED, NOON)


# In the database ---------------------------------------------------------------------------------

in_database = pytest.mark.django_db(transaction=True)


def reasons(stream_id: int) -> list[Reason]:
    facts = queries.find_stream(stream_id)
    assert facts is not None
    return [hold.reason for hold in facts.holds]


def limit(reason: Reason, hours: float, detail: str = "") -> LimitCause:
    return LimitCause(reason, datetime.now(UTC) + hours * HOUR, detail)


def may_send(stream_id: int) -> bool:
    """Whether a worker may take work of the stream now; what it takes, it gives back."""
    claim = ledger.claim(stream_id, holder="w", limit=1, lease_time=cast.LEASE)
    if claim is not None:
        ledger.wait(claim, claim.batches, reason=Reason.READY)
    assert (claim is not None) == (stream_id in ledger.next_streams(limit=10))
    return claim is not None


def move_clock(by: timedelta) -> None:
    """As if every hold had been made so long ago."""
    moved: LiteralString = "since = since - %(by)s::interval, until = until - %(by)s::interval"
    sql.rows(f"UPDATE deliveries_streamhold SET {moved}", {"by": by})
    sql.rows(f"UPDATE deliveries_senderhold SET {moved}", {"by": by})


@in_database
def test_two_causes_are_shown_as_two_and_work_goes_on_when_both_have_ended() -> None:
    stream = cast.stream(mails=1)
    ledger.hold_for_limits(
        stream, [limit(Reason.RATE_PER_HOUR, 1), limit(Reason.OUTSIDE_HOURS, 14)]
    )

    assert reasons(stream) == [Reason.OUTSIDE_HOURS, Reason.RATE_PER_HOUR]
    move_clock(2 * HOUR)
    assert reasons(stream) == [Reason.OUTSIDE_HOURS]
    assert not may_send(stream)
    move_clock(12 * HOUR)
    assert reasons(stream) == []
    assert may_send(stream)


@in_database
def test_causes_of_stream_sender_and_account_stand_beside_one_another() -> None:
    stream, owner = cast.stream(mails=1), cast.sender().pk
    ledger.hold(stream, reason=Reason.PAUSED, actor="bob", length=HOUR, detail="wrong link")
    ledger.hold_sender(owner, reason=Reason.THROTTLED, actor="dispatcher", length=2 * HOUR)
    ledger.hold_sender(owner, reason=Reason.SENDER_BLOCKED, actor="dispatcher", is_account=True)

    facts = queries.find_stream(stream)
    assert facts is not None
    assert [(hold.scope, hold.reason, hold.actor, hold.detail) for hold in facts.holds] == [
        (HoldScope.ACCOUNT, Reason.SENDER_BLOCKED, "dispatcher", ""),
        (HoldScope.SENDER, Reason.THROTTLED, "dispatcher", ""),
        (HoldScope.STREAM, Reason.PAUSED, "bob", "wrong link"),
    ]
    assert [hold.reason for hold in queries.find_sender_holds([owner])[owner]] == [
        Reason.SENDER_BLOCKED,
        Reason.THROTTLED,
    ]
    assert queries.list_streams() == [facts]
    assert backlog.count_holds() == backlog.HoldCounts(stream_count=1, sender_count=1)


@in_database
def test_a_release_ends_all_causes_but_a_limit() -> None:
    stream, limited = cast.stream(mails=1), cast.stream(mails=1, workspace="globex")
    owner = cast.sender().pk
    ledger.hold_for_limits(limited, [limit(Reason.DAILY_LIMIT, 1)])
    ledger.hold(limited, reason=Reason.PAUSED, actor="bob")
    assert ledger.release(limited)
    assert reasons(limited) == [Reason.DAILY_LIMIT]
    assert not ledger.release(limited)
    assert not may_send(limited)

    # What a provider made a test stream wait for is no limit.
    ledger.hold(stream, reason=Reason.QUOTA_EXHAUSTED, actor="dispatcher", length=HOUR)
    ledger.hold_for_limits(stream, [])
    assert reasons(stream) == [Reason.QUOTA_EXHAUSTED]
    assert ledger.release(stream)
    assert may_send(stream)

    ledger.hold_sender(owner, reason=Reason.THROTTLED, actor="dispatcher", length=HOUR)
    cast.block()
    assert ledger.release_sender(owner)
    assert reasons(stream) == []
    assert not ledger.release_sender(owner)


@in_database
def test_a_limit_may_end_earlier_than_it_said_and_what_is_not_named_has_ended() -> None:
    stream = cast.stream(mails=1)
    until = datetime.now(UTC) + HOUR
    ledger.hold_for_limits(
        stream, [limit(Reason.DAILY_LIMIT, 20), limit(Reason.QUOTA_EXHAUSTED, 3)]
    )

    assert ledger.hold_for_limits(stream, [LimitCause(Reason.DAILY_LIMIT, until, "100 of 100")])

    facts = queries.find_stream(stream)
    assert facts is not None
    [hold] = facts.holds
    assert (hold.reason, hold.until) == (Reason.DAILY_LIMIT, until)
    assert (hold.actor, hold.detail) == ("limits", "100 of 100")
    assert not ledger.hold_for_limits(stream, [LimitCause(Reason.DAILY_LIMIT, until, "100 of 100")])
    ledger.hold_for_limits(stream, [])
    assert may_send(stream)
    ledger.cancel(stream, actor="bob")
    assert not ledger.hold_for_limits(stream, [limit(Reason.DAILY_LIMIT, 1)])


@in_database
@pytest.mark.parametrize(("gap", "is_kept"), [(30, True), (90, False)])
def test_a_cause_that_comes_back_within_a_minute_keeps_its_beginning(
    gap: int, *, is_kept: bool
) -> None:
    stream, owner = cast.stream(mails=1), cast.sender().pk

    def hold() -> set[datetime]:
        ledger.hold(stream, reason=Reason.CONTENT_BROKEN, actor="w", length=HOUR)
        ledger.hold_sender(owner, reason=Reason.THROTTLED, actor="w", length=HOUR)
        ledger.hold_for_limits(stream, [limit(Reason.RATE_PER_HOUR, 1)])
        facts = queries.find_stream(stream)
        assert facts is not None
        assert len(facts.holds) == 3
        return {hold.since for hold in facts.holds}

    before = hold()
    passed = HOUR + timedelta(seconds=gap)
    move_clock(passed)
    after = hold()

    assert (after == {since - passed for since in before}) == is_kept
    assert is_kept or min(after) > max(before)


@in_database
def test_a_changed_limit_ends_the_causes_of_its_senders_and_members_only() -> None:
    acme, globex = cast.sender(), cast.sender("globex")
    member = members.add_member(
        acme.workspace_id, email="alice@acme.example", role=Role.MANAGER, actor="cli"
    )
    by_member = ledger.open_stream(
        acme.workspace_id,
        sender_id=acme.pk,
        kind=StreamKind.CAMPAIGN,
        title="Hers",
        member_id=member,
    )
    streams = [by_member, cast.stream(), cast.stream(workspace="globex")]
    for stream in streams:
        ledger.hold_for_limits(stream, [limit(Reason.DAILY_LIMIT, 1)])
        ledger.hold(stream, reason=Reason.PAUSED, actor="bob")

    assert ledger.end_limit_holds(member_id=member) == [by_member]
    assert ledger.end_limit_holds(sender_ids=[globex.pk]) == [streams[2]]

    assert list(map(reasons, streams)) == [
        [Reason.PAUSED],
        [Reason.PAUSED, Reason.DAILY_LIMIT],
        [Reason.PAUSED],
    ]


@in_database
def test_what_ended_more_than_a_day_ago_is_forgotten_but_not_how_often_a_provider_broke() -> None:
    stream, owner = cast.stream(mails=1), cast.sender().pk
    ledger.hold(stream, reason=Reason.PAUSED, actor="bob")
    ledger.hold_for_limits(stream, [limit(Reason.RATE_PER_HOUR, 1)])
    ledger.hold_sender(owner, reason=Reason.THROTTLED, actor="dispatcher", length=HOUR)
    ledger.hold_broken_provider(owner, actor="dispatcher", detail="It raised.")
    move_clock(23 * HOUR)
    assert ledger.forget_ended_holds() == 0
    move_clock(3 * HOUR)

    assert ledger.forget_ended_holds() == 2

    assert reasons(stream) == [Reason.PAUSED]
    assert sql.rows("SELECT reason FROM deliveries_senderhold", {}) == [("provider_broken",)]
