"""Contacts that nobody confirmed are erased after 30 days, and may ask again."""

from datetime import UTC, datetime, timedelta

import pytest

from postledger.accounts.models import AuditEntry
from postledger.contacts import suppressions
from postledger.contacts.actions import contacts, erasing, subscriptions
from postledger.contacts.models import ConsentEvent, Contact, Subscription
from postledger.workers import tasks
from tests.contacts import people
from tests.contacts.people import R1

NOW = datetime.now(UTC)


def age(contact_id: int, days: float) -> None:
    created_at = datetime.now(UTC) - timedelta(days=days)
    Contact.objects.filter(pk=contact_id).update(created_at=created_at)


def test_who_did_not_confirm_for_thirty_days_is_erased_and_not_suppressed(acme: int) -> None:
    people.news(acme)
    contact_id = people.unconfirmed(acme)
    people.ask(acme, contact_id)
    age(contact_id, days=30.1)

    assert erasing.remove_unconfirmed(NOW) == 1

    removed = Contact.objects.get(pk=contact_id)
    assert removed.address == f"erased-{contact_id}"
    assert removed.deleted_at is not None
    assert not Subscription.objects.exists()
    assert not ConsentEvent.objects.exists()
    assert suppressions.find_status(acme, address=R1).reason is None
    assert AuditEntry.objects.filter(action="contact.unconfirmed").count() == 1
    assert people.unconfirmed(acme) != contact_id
    assert erasing.remove_unconfirmed(NOW) == 0


def test_others_stay(acme: int) -> None:
    people.news(acme)
    young = people.unconfirmed(acme, "young@example.com")
    age(young, days=29.9)
    confirmed = people.unconfirmed(acme, "confirmed@example.com")
    people.ask(acme, confirmed)
    people.act(subscriptions.confirm, acme, confirmed)
    callers_own = contacts.create_contact(
        acme,
        address="own@example.com",
        external_id="crm-7",
        is_unconfirmed=True,
        actor="alice",
    )
    imported = people.contact(acme, "imported@example.com")
    for contact_id in (confirmed, callers_own, imported):
        age(contact_id, days=400)

    assert erasing.remove_unconfirmed(NOW) == 0
    assert Contact.objects.filter(deleted_at=None).count() == 4


@pytest.mark.django_db(transaction=True)
def test_housekeeping_removes_them() -> None:
    contact_id = people.unconfirmed(people.workspace("acme"))
    age(contact_id, days=31)

    tasks.tidy()

    assert Contact.objects.get(pk=contact_id).deleted_at is not None
