"""The rules of the notification contract: ack, nack, dead letter, requeue, lock and attempts."""

from dataclasses import replace
from pathlib import Path

import pytest
from pytest_django import Settings

from postledger.deliveries import audit, ledger, queries
from postledger.deliveries.entries import SeenDelivery, StreamKind
from postledger.deliveries.ledger import sql
from postledger.deliveries.reasons import Reason
from postledger.deliveries.states import State
from postledger.dispatch import retry
from postledger.notifications.models import Event, Notification
from tests import cast as ledger_cast
from tests.dispatch import office
from tests.notifications import mail_room
from tests.notifications.mail_room import MailRoom, stream_of

pytestmark = pytest.mark.django_db(transaction=True)


def send(event: Event, policy: str = "3: 0 0") -> None:
    policies = dict.fromkeys(StreamKind, retry.read(policy))
    office.send_all(stream_of(event), options=replace(office.OPTIONS, policies=policies))
    assert audit.audit(stream_of(event)).discrepancies == []


def seen(event: Event, position: int = 0) -> SeenDelivery:
    facts = queries.find_delivery(stream_of(event), position)
    assert facts is not None
    return SeenDelivery(position, facts.last_try)


def test_ack_what_the_provider_takes_is_sent_after_one_attempt_though_it_was_the_last(
    room: MailRoom,
) -> None:
    event = room.tell()
    Notification.objects.filter(event=event).update(max_attempts=1)

    send(event)

    row = mail_room.queue(event)["ann"]
    assert (row.status, row.attempts, row.locked_by) == ("sent", 1, None)
    assert row.error is not None
    assert (row.error["provider"], row.error["status"]) == ("sandbox", "sent")
    assert row.error["providerMessageId"].startswith("sandbox-")
    assert room.taken() == ["ann"]


def test_retryable_nack_keeps_it_pending_with_its_last_attempt_and_its_next_time(
    settings: Settings, tmp_path: Path
) -> None:
    room = MailRoom(settings, tmp_path, ["later", "ann"])
    event = room.tell()
    patient = dict.fromkeys(StreamKind, retry.read("3: 600 600"))

    with office.dispatching(replace(office.OPTIONS, policies=patient)) as dispatcher:
        office.until(lambda: mail_room.queue(event)["later"].attempts == 1, dispatcher)
        office.until(lambda: mail_room.queue(event)["ann"].status == "sent", dispatcher)

    row = mail_room.queue(event)["later"]
    assert (row.status, row.attempts, row.locked_by) == ("pending", 1, None)
    assert row.error is not None
    assert (row.error["status"], row.error["retryAfterSeconds"]) == ("retryable", 600)
    assert mail_room.waits(event) == {"later": (Reason.RETRY, True)}


@pytest.mark.parametrize(
    ("schedule", "lock_ttl", "attempts", "seconds"),
    [([5_000, 90_000], None, 1, 5), ([0, 90_000], None, 2, 90), ([0, 90_000], 30, 2, 30)],
)
def test_retryable_nack_waits_as_its_job_says_and_no_longer_than_the_lock(
    schedule: list[int],
    lock_ttl: int | None,
    attempts: int,
    seconds: int,
    settings: Settings,
    tmp_path: Path,
) -> None:
    room = MailRoom(settings, tmp_path, ["later"])
    event = room.tell()
    Notification.objects.filter(event=event).update(
        max_attempts=5, retry_schedule_ms=schedule, lock_ttl_seconds=lock_ttl
    )

    with office.dispatching() as dispatcher:
        office.until(lambda: mail_room.queue(event)["later"].attempts == attempts, dispatcher)

    delays = sql.rows(
        "SELECT delay_ms FROM deliveries_attempt WHERE stream_id = %(stream)s ORDER BY try_number",
        {"stream": stream_of(event)},
    )
    assert delays[attempts - 1] == (seconds * 1000,)


def test_terminal_nack_skips_who_left_and_fails_who_is_refused_after_one_attempt(
    settings: Settings, tmp_path: Path
) -> None:
    room = MailRoom(settings, tmp_path, ["ann", "bob", "refuse"])
    event = room.tell()
    for name, state in (("ann", "unsubscribed"), ("bob", "paused")):
        subscription = room.subscriptions[name]
        subscription.state = state
        subscription.save()

    send(event)

    rows = mail_room.queue(event)
    assert {name: (row.status, row.attempts) for name, row in rows.items()} == {
        "ann": ("skipped", 1),
        "bob": ("skipped", 1),
        "refuse": ("failed", 1),
    }
    codes = {name: row.error["code"] for name, row in rows.items() if row.error}
    assert codes == {
        "ann": "subscription_unsubscribed",
        "bob": "subscription_paused",
        "refuse": "550 5.1.1",
    }
    assert room.taken() == []


def test_dead_letter_after_the_last_attempt_it_fails_and_keeps_the_last_error(
    settings: Settings, tmp_path: Path
) -> None:
    room = MailRoom(settings, tmp_path, ["later"])
    event = room.tell()
    Notification.objects.filter(event=event).update(max_attempts=2, retry_schedule_ms=[0])

    send(event, policy="5: 0")

    row = mail_room.queue(event)["later"]
    assert (row.status, row.attempts) == ("failed", 2)
    assert row.error is not None
    assert row.error["code"] == "451 4.3.0"


def test_requeue_makes_a_failure_pending_without_attempts_and_error(
    settings: Settings, tmp_path: Path
) -> None:
    room = MailRoom(settings, tmp_path, ["refuse"])
    event = room.tell()
    send(event)

    assert ledger.requeue(stream_of(event), [seen(event)], actor="alice") == [0]

    row = mail_room.queue(event)["refuse"]
    assert (row.status, row.attempts, row.error) == ("pending", 0, None)
    send(event)
    assert mail_room.queue(event)["refuse"].attempts == 1


def test_lock_expiry_another_worker_takes_over_and_nothing_is_sent_twice(
    settings: Settings, tmp_path: Path
) -> None:
    room = MailRoom(settings, tmp_path, ["ann", "bob"])
    event = room.tell()
    crashed = ledger_cast.claim(stream_of(event))
    assert mail_room.queue(event)["ann"].locked_by is not None
    ledger_cast.run_out(crashed.lease)
    ledger.sweep()

    with office.dispatching(name="other") as dispatcher:
        office.until(lambda: set(mail_room.states(event).values()) == {State.ACCEPTED}, dispatcher)

    assert sorted(room.taken()) == ["ann", "bob"]
    assert {row.attempts for row in mail_room.queue(event).values()} == {1}


def test_lock_expiry_after_the_hand_over_began_leaves_a_doubt_that_nobody_sends_again(
    room: MailRoom,
) -> None:
    event = room.tell()
    ledger_cast.lose(stream_of(event))

    send(event)

    row = mail_room.queue(event)["ann"]
    assert (row.status, row.attempts) == ("failed", 1)
    assert row.error is not None
    assert row.error["code"] == "in_doubt"
    assert room.taken() == []


def test_attempts_are_counted_once_for_each_that_was_completed(
    settings: Settings, tmp_path: Path
) -> None:
    """A claim, a window that is not sent, and an answer that is stored twice count nothing."""
    room = MailRoom(settings, tmp_path, ["later", "ann"])
    event = room.tell()
    taken = ledger_cast.claim(stream_of(event))
    ledger.wait(taken, taken.batches, reason=Reason.READY)
    assert {row.attempts for row in mail_room.queue(event).values()} == {0}
    Notification.objects.filter(event=event).update(max_attempts=3, retry_schedule_ms=[0, 0])

    send(event)

    attempts = {name: row.attempts for name, row in mail_room.queue(event).items()}
    assert attempts == {"later": 3, "ann": 1}
