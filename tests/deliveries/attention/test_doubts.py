"""Doubts: what is known of them, and how a person ends them."""

from datetime import UTC, datetime, timedelta

import pytest

from postledger.accounts.models import AuditEntry
from postledger.deliveries import entries, ledger
from postledger.deliveries.attention import deciding, doubts
from postledger.deliveries.attention.deciding import (
    MailUnknownError,
    NotDecidedError,
    StreamUnknownError,
)
from postledger.deliveries.entries import AttemptOutcome, Decision, Evidence, SeenDelivery
from postledger.deliveries.states import State
from postledger.lib.ids import DeliveryId
from tests import cast

pytestmark = pytest.mark.django_db


def owner(workspace: str = "acme") -> int:
    return cast.sender(workspace).workspace_id


def test_a_doubt_has_its_stream_its_tries_and_when_it_may_be_sent_again() -> None:
    stream_id = cast.doubtful()
    cast.doubtful(workspace="globex")

    [doubt] = doubts.list_doubts(owner(), limit=9)

    assert (doubt.stream_id, doubt.title, doubt.address) == (stream_id, "News", "r0@example.com")
    assert (doubt.doubts, doubt.outcome, doubt.sender_id) == ([1], "lease_lost", cast.sender().pk)
    now = datetime.now(UTC)
    assert not doubt.may_be_sent_again(now)
    assert doubt.may_be_sent_again(now + timedelta(hours=1))
    assert DeliveryId.parse(doubt.try_id) == DeliveryId(stream_id, 0, 1)


def test_doubts_are_grouped_by_stream() -> None:
    first, second = cast.doubtful(5), cast.doubtful()
    ledger.cancel(second, actor="bob")

    groups = doubts.group_doubts(owner())

    assert [(group.stream_id, group.count) for group in groups] == [(first, 5), (second, 1)]
    assert groups[0].addresses == [f"r{n}@example.com" for n in range(3)]
    assert [group.is_stream_cancelled for group in groups] == [False, True]
    assert doubts.group_doubts(owner("globex")) == []


def test_a_page_goes_on_where_the_last_one_ended() -> None:
    first, second = cast.doubtful(3), cast.doubtful(2)

    page = doubts.list_doubts(owner(), limit=4)
    rest = doubts.list_doubts(owner(), after=page[-1].key, limit=4)
    of_one = doubts.list_doubts(owner(), stream_id=second, limit=4)

    keys = [(doubt.stream_id, doubt.position) for doubt in [*page, *rest]]
    assert keys == [(first, 0), (first, 1), (first, 2), (second, 0), (second, 1)]
    assert [doubt.stream_id for doubt in of_one] == [second] * 2


def test_some_doubts_are_ended_together_once_and_noted_for_each_stream() -> None:
    for decision, state in (
        (Decision.COUNT_AS_SENT, State.ACCEPTED),
        (Decision.COUNT_AS_NOT_SENT, State.FAILED),
        (Decision.SEND_AGAIN, State.WAITING),
    ):
        first, second = cast.doubtful(2), cast.doubtful()
        cast.pass_grace(first)
        cast.pass_grace(second)
        ids = [DeliveryId(first, 0), DeliveryId(second, 0)]

        decided = doubts.resolve_doubts(owner(), ids, decision=decision, actor="alice")

        assert (decided.count, decided.unchanged) == (2, {}), decision
        assert (cast.states(first)[0], cast.states(second)[0]) == (state, state)
        assert cast.states(first)[1] is State.IN_DOUBT
        noted = AuditEntry.objects.order_by("pk").values_list("action", "subject", "data")
        assert list(noted)[-2:] == [
            (f"doubt.{decision.value}", f"stream {first}", {"count": 1}),
            (f"doubt.{decision.value}", f"stream {second}", {"count": 1}),
        ]
        with pytest.raises(NotDecidedError, match="meanwhile it "):
            doubts.resolve_doubt(owner(), ids[0], decision=decision, actor="bob")
    assert AuditEntry.objects.count() == 6


def test_a_stream_is_decided_in_bounded_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deciding, "MOST", 2)
    stream_id = cast.doubtful(5)
    # What may still leave is not sent again, and the call goes on all the same.
    part = doubts.resolve_stream(owner(), stream_id, decision=Decision.SEND_AGAIN, actor="alice")
    assert (part.count, sum(part.unchanged.values()), part.left) == (0, 2, 3)
    assert part.after

    counts, after = [], -1
    while True:
        part = doubts.resolve_stream(
            owner(), stream_id, decision=Decision.COUNT_AS_SENT, after=after, actor="alice"
        )
        counts.append((part.count, part.left))
        if part.after is None:
            break
        after = part.after.position

    assert counts == [(2, 3), (2, 1), (1, 0)]
    assert set(cast.states(stream_id).values()) == {State.ACCEPTED}


def test_another_workspaces_doubt_is_not_found() -> None:
    other = cast.doubtful(workspace="globex")
    sent = Decision.COUNT_AS_SENT

    with pytest.raises(MailUnknownError):
        doubts.resolve_doubt(owner(), DeliveryId(other, 0), decision=sent, actor="alice")
    with pytest.raises(StreamUnknownError):
        doubts.resolve_stream(owner(), other, decision=sent, actor="alice")

    assert cast.states(other) == {0: State.IN_DOUBT}


def test_a_group_is_decided_by_the_cause_that_it_is_shown_with() -> None:
    stream_id = cast.doubtful()
    cast.pass_grace(stream_id)
    seen = SeenDelivery(0, 1)
    ledger.resolve(stream_id, [seen], decision=Decision.SEND_AGAIN, actor="bob")
    cast.book(stream_id, entries.in_doubt)
    refusal = entries.refused(0, code="550 5.1.1")
    ledger.record(stream_id, [Evidence(2, refusal, "late answer")])

    [group] = doubts.group_doubts(owner())
    decided = doubts.resolve_group(
        owner(),
        stream_id,
        outcome=group.outcome,
        until=datetime.now(UTC),
        decision=Decision.COUNT_AS_SENT,
        actor="bob",
    )

    assert group.outcome is AttemptOutcome.LEASE_LOST
    assert decided.count == 1
