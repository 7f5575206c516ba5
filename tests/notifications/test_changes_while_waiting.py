"""Claims about notifications that wait while their person changes a preference or the address."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest
from django.db import connection, transaction
from pytest_django import Settings

from postledger.contacts.actions import contacts
from postledger.contacts.consent import Origin, Preferences
from postledger.contacts.details import Changes
from postledger.deliveries import audit, entries, ledger
from postledger.deliveries.entries import Piece, Recipient, SeenDelivery
from postledger.deliveries.reasons import Reason
from postledger.deliveries.states import State
from postledger.mailing.terms import Terms
from postledger.notifications.fan_out import terms
from postledger.notifications.models import Notification, TopicSubscription
from postledger.notifications.subscriptions import subscriptions
from tests import cast as ledger_cast
from tests.contacts import people
from tests.dispatch import office
from tests.notifications import mail_room
from tests.notifications.mail_room import MailRoom, stream_of
from tests.races import collide

pytestmark = pytest.mark.django_db(transaction=True)

HOUR = timedelta(hours=1)


def end_snooze(subscription: TopicSubscription) -> None:
    subscriptions.set_preferences(
        subscription.topic.workspace_id,
        subscription_id=subscription.pk,
        preferences=Preferences(),
        origin=Origin("api", "alice"),
        now=datetime.now(UTC),
    )


def test_who_ends_a_snooze_early_is_told_at_once_and_others_wait_on(
    settings: Settings, tmp_path: Path
) -> None:
    later = datetime.now(UTC) + HOUR
    room = MailRoom(settings, tmp_path, ["ann", "bob", "cyd"], snooze_until=later)
    event = room.tell()

    def waits() -> dict[str, tuple[str, bool]]:
        return mail_room.waits(event)

    end_snooze(room.subscriptions["bob"])
    with office.dispatching() as dispatcher:
        office.until(lambda: room.taken() == ["bob"], dispatcher)
        office.until(lambda: mail_room.states(event)["bob"] is State.ACCEPTED, dispatcher)
        office.until(lambda: all(later for _, later in waits().values()), dispatcher)

    assert waits() == {
        "ann": (Reason.SCHEDULED, True),
        "cyd": (Reason.SCHEDULED, True),
    }
    assert audit.audit(stream_of(event)).discrepancies == []


def read_terms_and_end_snooze(
    stream_id: int, recipients: Sequence[Recipient], *, leave_out_clear: bool = False
) -> Mapping[int, Terms]:
    """The terms before ann's snooze ends, which it does as soon as they are read."""
    read = terms.read_terms(stream_id, recipients, leave_out_clear=leave_out_clear)
    of_ann = TopicSubscription.objects.filter(contact__address__startswith="ann@")
    for subscription in of_ann.exclude(snooze_until=None):
        end_snooze(subscription)
    return read


def test_a_snooze_that_ends_while_the_batch_is_leased_ends_at_once(
    settings: Settings, tmp_path: Path
) -> None:
    room = MailRoom(settings, tmp_path, ["ann", "bob"], snooze_until=datetime.now(UTC) + HOUR)
    event = room.tell()
    ledger_cast.bring_forward(stream_of(event))
    settings.TOPIC_TERMS = f"{__name__}.{read_terms_and_end_snooze.__name__}"

    with office.dispatching() as dispatcher:
        office.until(lambda: room.taken() == ["ann"], dispatcher)

    assert mail_room.waits(event) == {"bob": (Reason.SCHEDULED, True)}
    assert audit.audit(stream_of(event)).discrepancies == []


def test_a_batch_that_is_given_back_before_the_end_of_a_snooze_is_committed_is_due_after_it(
    settings: Settings, tmp_path: Path
) -> None:
    later = datetime.now(UTC) + HOUR
    room = MailRoom(settings, tmp_path, ["ann"], snooze_until=later)
    event = room.tell()
    ledger_cast.bring_forward(stream_of(event))
    claim = ledger_cast.claim(stream_of(event))
    [batch] = claim.batches
    piece = Piece(batch.lo, batch.hi, later, Reason.SCHEDULED)

    with transaction.atomic():
        end_snooze(room.subscriptions["ann"])
        given_back = collide.start(partial(ledger.wait_apart, claim, batch, [piece])).answer()

    assert given_back == [batch.id]
    assert mail_room.waits(event) == {"ann": (Reason.SCHEDULED, False)}


def test_the_end_of_a_snooze_hurries_no_retry(settings: Settings, tmp_path: Path) -> None:
    room = MailRoom(settings, tmp_path, ["ann"], snooze_until=datetime.now(UTC) + HOUR)
    event = room.tell()
    ledger_cast.bring_forward(stream_of(event))
    claim = ledger_cast.claim(stream_of(event))
    ledger.wait(claim, claim.batches, reason=Reason.RETRY, delay=HOUR)

    end_snooze(room.subscriptions["ann"])

    assert mail_room.waits(event) == {"ann": (Reason.RETRY, True)}


def move(room: MailRoom, name: str, address: str) -> None:
    contact_id = room.subscriptions[name].contact_id
    assert contact_id is not None
    contacts.update_contact(
        room.topic.workspace_id,
        contact_id=contact_id,
        changes=Changes(address=address),
        actor="alice",
        now=datetime.now(UTC),
    )


def test_who_gets_another_address_while_it_waits_is_told_there(
    settings: Settings, tmp_path: Path
) -> None:
    room = MailRoom(settings, tmp_path, ["ann", "bob"])
    event = room.tell()
    move(room, "bob", "Robert@example.net")

    office.send_all(stream_of(event))

    assert sorted(room.taken()) == ["Robert", "ann"]
    assert mail_room.mails(event)["Robert"] == (State.ACCEPTED, "", 1)
    assert Notification.objects.filter(event=event).count() == 2
    with connection.cursor() as cursor:
        cursor.execute("SELECT kind FROM deliveries_deliveryevent")
        assert cursor.fetchall() == [("readdressed",)]
    assert audit.audit(stream_of(event)).discrepancies == []


def test_a_new_address_that_must_not_be_mailed_gets_nothing(room: MailRoom) -> None:
    event = room.tell()
    people.suppress(room.topic.workspace_id, "robert@example.net")
    move(room, "ann", "robert@example.net")

    office.send_all(stream_of(event))

    assert room.taken() == []
    assert set(mail_room.states(event).values()) <= {State.SKIPPED, State.SUPPRESSED}


def test_a_mail_that_was_tried_keeps_its_address(room: MailRoom) -> None:
    event = room.tell()
    stream_id = stream_of(event)
    window = ledger_cast.book(stream_id, lambda position: entries.refused(position, code="550"))
    move(room, "ann", "robert@example.net")
    ledger.requeue(stream_id, [SeenDelivery(window.batch.lo, 1)], actor="alice")

    office.send_all(stream_id)

    assert room.taken() == []
    assert mail_room.mails(event) == {"ann": (State.FAILED, "RECIPIENT_NOT_FOUND", 1)}
