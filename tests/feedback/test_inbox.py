"""A message is stored once, and one with a fault is kept without ever being applied."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from functools import partial

import pytest
from django.db import connection, transaction

from postledger.feedback import inbox
from postledger.feedback.inbox import IncomingMessage
from postledger.feedback.models import InboxMessage
from tests.feedback.topics import new_account
from tests.races import collide

SENT_AT = datetime(2026, 5, 4, 9, 15, tzinfo=UTC)


def message(number: int, body: str = "{}", fault: str = "") -> IncomingMessage:
    return IncomingMessage(f"message-{number}", body, SENT_AT, fault)


@pytest.mark.django_db
def test_a_message_is_stored_once_for_each_account() -> None:
    (_, mine), (_, other) = new_account(), new_account("globex")

    assert inbox.store(mine, [message(1), message(2), message(1)]) == 2
    assert inbox.store(mine, [message(2, "another body"), message(3)]) == 1
    assert inbox.store(other, [message(1)]) == 1
    assert inbox.store(mine, []) == 0

    rows = InboxMessage.objects.filter(account_id=mine).order_by("message_id")
    assert [(row.message_id, row.body, row.sent_at, row.fault) for row in rows] == [
        (f"message-{number}", "{}", SENT_AT, "") for number in (1, 2, 3)
    ]


@pytest.mark.django_db
def test_a_message_with_a_fault_waits_for_nobody() -> None:
    _, account_id = new_account()

    inbox.store(account_id, [message(1, fault="not JSON")])

    row = InboxMessage.objects.get(account_id=account_id)
    assert row.fault == "not JSON"
    assert inbox.claim(10) == []


@pytest.mark.django_db
def test_a_letter_that_cannot_be_stored_is_replaced_and_a_time_may_be_missing() -> None:
    _, account_id = new_account()
    untimed = IncomingMessage("message-2", "a\ud800b", None)

    assert inbox.store(account_id, [message(1, "a\0b"), untimed, message(3)]) == 3

    first, second, _ = InboxMessage.objects.order_by("message_id")
    for row in (first, second):
        assert row.fault == ""
        assert row.body in {"a\N{REPLACEMENT CHARACTER}b", "a?b"}
    assert second.sent_at is None


@pytest.mark.race
@pytest.mark.django_db(transaction=True)
def test_two_who_store_the_same_messages_in_opposite_orders_store_them_once() -> None:
    _, account_id = new_account()
    messages = [message(number) for number in range(300)]

    counts = collide.together(
        partial(inbox.store, account_id, order) for order in (messages, messages[::-1])
    )

    assert sum(counts) == 300
    assert InboxMessage.objects.count() == 300


@pytest.mark.django_db(transaction=True)
def test_who_takes_large_messages_leaves_the_others_to_others() -> None:
    _, account_id = new_account()
    inbox.store(account_id, [message(number, "x" * 900_000) for number in range(8)])

    with transaction.atomic():
        mine = inbox.claim(1_000)
        with ThreadPoolExecutor(1) as pool:
            others = pool.submit(claim_elsewhere).result()

    assert [len(mine), len(others)] == [2, 2]
    assert {each.id for each in mine}.isdisjoint(others)


def claim_elsewhere() -> list[int]:
    """The ids that another process gets at the same time."""
    try:
        with transaction.atomic():
            return [each.id for each in inbox.claim(1_000)]
    finally:
        connection.close()


@pytest.mark.django_db
def test_as_many_small_messages_are_taken_as_are_asked_for() -> None:
    _, account_id = new_account()
    inbox.store(account_id, [message(number) for number in range(30)])

    for limit in (1, 4, 5, 12, 100):
        ids = [each.id for each in inbox.claim(limit)]

        assert ids == sorted(set(ids)), limit
        assert len(ids) == min(limit, 30), limit
