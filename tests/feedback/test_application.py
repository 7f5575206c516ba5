"""Events of a provider reach the mail, the contact and the counters that they are about."""

import json
from datetime import timedelta
from typing import Any

import pytest
from pytest_django import Settings
from structlog.testing import capture_logs

from postledger.accounts.models import Workspace
from postledger.contacts.models import Contact, Suppression
from postledger.contacts.states import ContactState
from postledger.deliveries import entries, ledger, queries
from postledger.deliveries.entries import Mismatch
from postledger.feedback import application, inbox, unmatched
from postledger.feedback.application import Applied, NothingAppliedError
from postledger.feedback.inbox import IncomingMessage
from postledger.feedback.models import InboxMessage, ReceivedMessage, UnmatchedEvent
from postledger.lib.ids import DeliveryId
from tests import cast
from tests.contacts import people
from tests.feedback import reports, topics

pytestmark = pytest.mark.django_db

R0 = "r0@example.com"


@pytest.fixture
def account() -> int:
    _, account_id = topics.new_account()
    return account_id


@pytest.fixture
def acme(account: int) -> int:
    return Workspace.objects.get(name="acme").pk


def sent(position: int) -> entries.Entry:
    return entries.accepted(position, message_id=f"m{position}")


@pytest.fixture
def stream(account: int) -> int:
    """One mail to r0@example.com, accepted."""
    stream_id = cast.stream(mails=1)
    cast.book(stream_id, sent)
    return stream_id


def feedback(stream_id: int) -> list[str]:
    rows = reports.query(
        "SELECT kind FROM deliveries_feedback WHERE stream_id = %s ORDER BY kind", stream_id
    )
    return [kind for (kind,) in rows]


# S0 §7.8: an event type that nobody knows changes no contact, and is logged, in one line.
def test_an_unknown_event_type_changes_no_contact_and_is_logged(
    account: int, acme: int, stream: int
) -> None:
    contact_id = people.contact(acme, R0)
    before = Contact.objects.values().get(pk=contact_id)
    others = [reports.event(f"New {number}", R0, None) for number in range(30)]

    with capture_logs() as lines:
        reports.apply(account, reports.event("Teleport", R0, reports.reference(stream, 0)))
        reports.apply(account, *others, *others)

    assert Contact.objects.values().get(pk=contact_id) == before
    first, second = lines
    assert (first["event"], first["names"]) == ("unknown_event_type", ["Teleport"])
    assert (second["count"], len(second["names"])) == (60, 5)
    assert feedback(stream) == ["unknown"]


# S0 §7.9: a bounce of an unsubscribed contact makes it bounced.
def test_a_permanent_bounce_makes_an_unsubscribed_contact_bounced(
    account: int, acme: int, stream: int
) -> None:
    contact_id = people.contact(acme, R0)
    people.leave(acme, R0)

    reports.apply(account, reports.bounce(R0, reports.reference(stream, 0), subtype="NoEmail"))

    contact = Contact.objects.get(pk=contact_id)
    assert (contact.state, contact.bounce_type, contact.bounce_subtype, contact.bounce_at) == (
        *("bounced", "Permanent", "NoEmail"),
        reports.NOON,
    )


# S0 §7.10: a complaint leaves a bounced contact bounced.
def test_a_complaint_leaves_a_bounced_contact_bounced(account: int, acme: int, stream: int) -> None:
    contact_id = people.contact(acme, R0)
    people.bounce(acme, R0)

    reports.apply(account, reports.complaint(R0, reports.reference(stream, 0)))

    assert people.state(contact_id) is ContactState.BOUNCED
    assert queries.read_report_counts([stream])[stream].complained == 1


# S0 §8.4: the three outcomes of a mail that was sent, and all that changes no contact.
EVENTS: list[tuple[str, dict[str, Any], ContactState, str]] = [
    ("Delivery", {}, ContactState.ACTIVE, "delivered"),
    ("Bounce", {"bounceType": "Permanent"}, ContactState.BOUNCED, "bounced"),
    ("Complaint", {}, ContactState.UNSUBSCRIBED, "complained"),
    ("Complaint", {"complaintFeedbackType": "not-spam"}, ContactState.ACTIVE, "complained"),
    ("Bounce", {"bounceType": "Transient"}, ContactState.ACTIVE, "soft_bounced"),
    ("Bounce", {"bounceType": "Undetermined"}, ContactState.ACTIVE, "soft_bounced"),
    ("Send", {}, ContactState.ACTIVE, "accepted"),
    ("DeliveryDelay", {}, ContactState.ACTIVE, "deferred"),
    ("Reject", {}, ContactState.ACTIVE, "dropped"),
    ("Open", {}, ContactState.ACTIVE, "opened"),
    ("Click", {}, ContactState.ACTIVE, "clicked"),
    ("Rendering Failure", {}, ContactState.ACTIVE, "refused"),
    ("Subscription", {}, ContactState.ACTIVE, "preferences_changed"),
]


def test_each_event_is_kept_and_only_bounce_and_complaint_change_the_contact(
    account: int, acme: int
) -> None:
    stream_id = cast.stream(mails=len(EVENTS))
    cast.book(stream_id, sent, size=len(EVENTS))
    for position, (name, fields, state, kind) in enumerate(EVENTS):
        address = f"r{position}@example.com"
        contact_id = people.contact(acme, address)
        before = queries.read_report_counts([stream_id])[stream_id]

        reports.apply(
            account, reports.event(name, address, reports.reference(stream_id, position), **fields)
        )

        assert people.state(contact_id) is state, (name, fields)
        rows = reports.query(
            "SELECT kind FROM deliveries_feedback WHERE stream_id = %s AND position = %s",
            *(stream_id, position),
        )
        assert rows == [(kind,)], (name, fields)
        counts = queries.read_report_counts([stream_id])[stream_id]
        is_spam = kind == "complained" and not fields
        assert counts.reported == before.reported + 1, (name, fields)
        assert counts.complained == before.complained + is_spam, (name, fields)


def test_transient_bounces_are_applied_if_the_setting_says_so(
    account: int, acme: int, stream: int, settings: Settings
) -> None:
    settings.SES_TRANSIENT_BOUNCE = "apply"
    contact_id = people.contact(acme, R0)

    reports.apply(account, reports.bounce(R0, reports.reference(stream, 0), "Transient"))

    assert people.state(contact_id) is ContactState.BOUNCED
    assert Suppression.objects.get().reason == "bounced"


def test_a_bounce_of_the_accounts_own_list_is_counted_apart_and_bounces_the_contact(
    account: int, acme: int, stream: int
) -> None:
    contact_id = people.contact(acme, R0)
    event = reports.bounce(R0, reports.reference(stream, 0), subtype="OnAccountSuppressionList")

    reports.apply(account, event)

    counts = queries.read_report_counts([stream])[stream]
    assert (counts.bounced, counts.on_suppression_list) == (0, 1)
    assert people.state(contact_id) is ContactState.BOUNCED


def test_events_of_test_mail_change_no_contact(account: int, acme: int) -> None:
    contact_id = people.contact(acme, R0)
    stream_id = cast.stream(mails=1, is_test=True)
    cast.book(stream_id, sent)

    reports.apply(account, reports.bounce(R0, reports.reference(stream_id, 0)))

    assert people.state(contact_id) is ContactState.ACTIVE
    assert not Suppression.objects.exists()
    assert queries.read_report_counts([stream_id])[stream_id].bounced == 1


def test_an_event_of_the_very_try_ends_its_doubt_and_others_prove_nothing(account: int) -> None:
    proofs = (
        *("Send", "Delivery", "DeliveryDelay", "Bounce", "Complaint", "Reject", "Open", "Click"),
    )
    for name in (*proofs, "Rendering Failure", "Subscription", "Teleport"):
        stream_id = cast.stream(mails=2)
        cast.lose(stream_id, size=2)

        reports.apply(account, reports.event(name, R0, reports.reference(stream_id, 0)))

        ended = "accepted" if name in proofs else "in_doubt"
        assert cast.states(stream_id) == {0: ended, 1: "in_doubt"}, name


def test_an_event_that_overtakes_the_answer_proves_an_armed_mail(account: int) -> None:
    stream_id = cast.stream(mails=1)
    taken, window = cast.armed(stream_id)

    reports.apply(account, reports.event("Send", R0, reports.reference(stream_id, 0)))

    assert cast.states(stream_id) == {0: "accepted"}
    ledger.settle(taken, [window], results=[sent(0)])
    assert cast.states(stream_id) == {0: "accepted"}
    assert queries.read_books([stream_id])[stream_id].balances


def _strange_references(stream_id: int) -> dict[Mismatch, str | None]:
    name = DeliveryId(stream_id, 0, 1).text()
    own = reports.reference(stream_id, 0)
    return {
        Mismatch.WRONG_MAC: f"{name}_1_{'a' * 16}",
        Mismatch.OTHER_EPOCH: reports.reference(stream_id, 0, epoch=2),
        Mismatch.NEVER_ARMED: reports.reference(stream_id, 0, try_number=2),
        Mismatch.UNKNOWN_DELIVERY: reports.reference(stream_id, 7),
        Mismatch.OTHER_ADDRESS: own,
        Mismatch.OTHER_WORKSPACE: own,
    }


@pytest.mark.parametrize("why", [each for each in Mismatch if each is not Mismatch.NO_REFERENCE])
def test_an_event_that_names_no_mail_it_may_act_on_is_kept_and_changes_nothing(
    account: int, acme: int, why: Mismatch
) -> None:
    contact_id = people.contact(acme, R0)
    stream_id = cast.stream(mails=1)
    cast.lose(stream_id)
    address = "other@example.com" if why is Mismatch.OTHER_ADDRESS else R0
    if why is Mismatch.OTHER_WORKSPACE:
        _, account = topics.new_account("globex")
    event = reports.bounce(address, _strange_references(stream_id)[why])

    applied = reports.apply(account, event, event)

    assert applied == Applied(message_count=2, unmatched_count=1)
    assert UnmatchedEvent.objects.get().why == why
    assert cast.states(stream_id) == {0: "in_doubt"}
    assert people.state(contact_id) is ContactState.ACTIVE
    assert not Suppression.objects.exists()
    assert feedback(stream_id) == []


def test_a_mail_that_only_waits_was_never_armed(account: int) -> None:
    stream_id = cast.stream(mails=1)

    reports.apply(account, reports.event("Send", R0, reports.reference(stream_id, 0)))

    assert UnmatchedEvent.objects.get().why == "never_armed"
    assert cast.states(stream_id) == {0: "waiting"}


def test_feedback_without_tags_is_applied_by_its_address_in_the_accounts_workspace(
    account: int, acme: int
) -> None:
    mine, other = people.contact(acme, R0), people.contact(people.workspace("globex"), R0)

    reports.apply(account, reports.bounce(R0, None))

    assert (people.state(mine), people.state(other)) == (ContactState.BOUNCED, ContactState.ACTIVE)
    assert UnmatchedEvent.objects.get().why == "no_reference"


def test_an_old_message_replayed_after_a_restore_of_the_contact_changes_nothing(
    account: int, acme: int, stream: int
) -> None:
    contact_id = people.contact(acme, R0)
    event = reports.bounce(R0, reports.reference(stream, 0))
    reports.apply(account, event)
    people.restore(acme, R0)

    assert reports.apply(account, event) == Applied(message_count=1)

    assert people.state(contact_id) is ContactState.ACTIVE


def test_a_faulty_message_is_marked_and_stops_no_other(account: int, stream: int) -> None:
    good = reports.event("Delivery", R0, reports.reference(stream, 0))
    # An epoch that fits no column: the database refuses the statement.
    poison = reports.event("Open", R0, reports.reference(stream, 0, epoch=10**17))

    applied = reports.apply(account, "no event", poison, good, "[]")

    assert (applied.new_count, applied.faulty_count, applied.message_count) == (1, 3, 4)
    assert feedback(stream) == ["delivered"]
    faults = InboxMessage.objects.exclude(fault="").order_by("pk")
    assert [bool(message.body) for message in faults] == [True] * 3
    assert reports.apply_all() == Applied()


def test_large_messages_that_fail_stop_nobody(account: int, stream: int) -> None:
    poison = reports.event(
        "Open", R0, reports.reference(stream, 0, epoch=10**17), a="x" * 1_100_000
    )
    good = reports.event("Delivery", R0, reports.reference(stream, 0))
    reports.store(account, [poison] * 3)
    _, other = topics.new_account()
    reports.store(other, [good])

    applied = reports.apply_all()

    assert (applied.new_count, applied.broken_count) == (1, 3)
    assert feedback(stream) == ["delivered"]


def test_messages_that_fail_without_one_that_does_not_wait_unmarked(
    account: int, stream: int
) -> None:
    poison = reports.event("Open", R0, reports.reference(stream, 0, epoch=10**17))
    reports.store(account, [poison] * 3)

    for _ in range(2):
        with pytest.raises(NothingAppliedError):
            application.apply_waiting()

    assert set(InboxMessage.objects.values_list("fault", flat=True)) == {""}


def test_a_retry_applies_what_it_can_and_what_fails_again_stands_before_nobody(
    account: int, stream: int
) -> None:
    good = reports.event("Delivery", R0, reports.reference(stream, 0))
    poison = reports.event("Open", R0, reports.reference(stream, 0, epoch=10**17))
    opened = reports.event("Open", R0, reports.reference(stream, 0))
    reports.apply(account, "no event")
    InboxMessage.objects.update(body=json.dumps(opened))
    mended = application.retry_failed()
    assert (mended.new_count, mended.faulty_count) == (1, 0)
    assert not InboxMessage.objects.exists()

    refused = IncomingMessage("m-refused", json.dumps(good), None, "of another topic")
    inbox.store(account, [refused])
    reports.apply(account, poison, good)
    InboxMessage.objects.exclude(message_id="m-refused").update(body=json.dumps(poison))
    reports.store(account, [good])
    retried = application.retry_failed()

    assert (retried.message_count, retried.faulty_count) == (1, 1)
    assert application.apply_waiting(limit=1).message_count == 1
    assert sorted(InboxMessage.objects.values_list("fault", flat=True)) == [
        "DataError",
        "of another topic",
    ]


def test_an_applied_message_is_not_kept_and_its_id_and_unmatched_events_go_after_30_days(
    account: int, stream: int
) -> None:
    reports.apply(
        account,
        reports.event("Delivery", R0, reports.reference(stream, 0)),
        reports.event("Open", R0, None),
        "no event",
    )
    assert InboxMessage.objects.get().fault
    received_at = max(ReceivedMessage.objects.values_list("received_at", flat=True))
    unmatched_at = UnmatchedEvent.objects.get().received_at

    inbox.drop_old_messages(received_at + timedelta(days=30) - timedelta(minutes=5))
    unmatched.drop_old_events(unmatched_at + timedelta(days=30))
    assert (InboxMessage.objects.count(), ReceivedMessage.objects.count()) == (1, 3)
    assert UnmatchedEvent.objects.exists()
    inbox.drop_old_messages(received_at + timedelta(days=30, seconds=1))
    unmatched.drop_old_events(unmatched_at + timedelta(days=30, seconds=1))
    assert not InboxMessage.objects.exists()
    assert not ReceivedMessage.objects.exists()
    assert not UnmatchedEvent.objects.exists()


def test_an_erased_person_loses_the_texts_of_events_also_of_those_that_come_later(
    account: int, acme: int, stream: int
) -> None:
    tag = reports.reference(stream, 0)
    reports.apply(account, reports.bounce(R0, tag, "Transient"))
    ledger.erase(acme, address=R0)

    reports.apply(account, reports.bounce(R0, tag, minutes=1))

    rows = reports.query("SELECT kind, detail FROM deliveries_feedback ORDER BY kind")
    assert rows == [("bounced", None), ("soft_bounced", None)]
    assert R0 not in json.dumps(list(Suppression.objects.values_list("address")))
