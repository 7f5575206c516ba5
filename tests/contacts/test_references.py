"""What contacts, subscriptions and consents refer to is there, and stays there."""

from collections.abc import Callable
from functools import partial

import pytest
from django.db import IntegrityError, connection, transaction

from postledger.accounts.models import Workspace
from postledger.contacts.models import ConsentEvent, Contact, List, Subscription
from tests.contacts import people
from tests.races import collide

pytestmark = pytest.mark.django_db

NOBODY = 2**40


def execute(statement: str, *params: int) -> int:
    with connection.cursor() as cursor:
        cursor.execute(statement, params)
        return int(cursor.rowcount)


@pytest.fixture
def member(acme: int) -> int:
    people.news(acme)
    return people.member(acme)


def contact_without_workspace(_: int) -> None:
    Contact.objects.create(workspace_id=NOBODY, address="r9@example.com")


def subscription_without_contact(_: int) -> None:
    Subscription.objects.create(contact_id=NOBODY, list=List.objects.get(), state="active")


def subscription_without_list(member: int) -> None:
    Subscription.objects.create(contact_id=member, list_id=NOBODY, state="active")


def one_of_many_without_contact(_: int) -> None:
    people.news(Contact.objects.get().workspace_id, "other")
    execute(
        "INSERT INTO contacts_subscription (contact_id, list_id, state)"
        " SELECT one, (SELECT max(id) FROM contacts_list), 'active'"
        " FROM (SELECT id FROM contacts_contact UNION SELECT %s) AS all_of_them (one)",
        NOBODY,
    )


def _consent(**wrong: int) -> None:
    contact = Contact.objects.get()
    right = {"workspace_id": contact.workspace_id, "contact_id": contact.pk}
    ConsentEvent.objects.create(**{**right, **wrong}, action="imported", source="x", actor="x")


def consent_without_workspace(_: int) -> None:
    _consent(workspace_id=NOBODY)


def consent_without_contact(_: int) -> None:
    _consent(contact_id=NOBODY)


def consent_without_list(_: int) -> None:
    _consent(list_id=NOBODY)


@pytest.mark.parametrize(
    "add",
    [
        contact_without_workspace,
        subscription_without_contact,
        subscription_without_list,
        one_of_many_without_contact,
        consent_without_workspace,
        consent_without_contact,
        consent_without_list,
    ],
)
def test_nothing_refers_to_what_is_not_there(member: int, add: Callable[[int], None]) -> None:
    with pytest.raises(IntegrityError, match="that exists"), transaction.atomic():
        add(member)


@pytest.mark.parametrize("table", ["contacts_contact", "contacts_list", "accounts_workspace"])
def test_what_is_referred_to_cannot_be_deleted(member: int, table: str) -> None:
    with pytest.raises(IntegrityError, match="referred to"), transaction.atomic():
        execute(f"DELETE FROM {table}")


def test_a_history_alone_keeps_its_contact(member: int) -> None:
    execute("DELETE FROM contacts_subscription")

    with pytest.raises(IntegrityError, match="referred to"), transaction.atomic():
        execute("DELETE FROM contacts_contact")


def test_what_nothing_refers_to_can_be_deleted(acme: int) -> None:
    people.news(acme)
    people.contact(acme)

    assert execute("DELETE FROM contacts_contact") == 1
    assert execute("DELETE FROM contacts_list") == 1


@pytest.mark.parametrize(
    ("table", "column"),
    [
        ("contacts_contact", "id"),
        ("contacts_contact", "workspace_id"),
        ("contacts_subscription", "contact_id"),
        ("contacts_subscription", "list_id"),
        ("contacts_list", "id"),
        ("accounts_workspace", "id"),
    ],
)
def test_a_reference_does_not_change(member: int, table: str, column: str) -> None:
    with pytest.raises(IntegrityError, match="keeps its id"), transaction.atomic():
        execute(f"UPDATE {table} SET {column} = {column} + 1")


@pytest.mark.race
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("table", ["contacts_contact", "contacts_list"])
def test_what_is_about_to_be_referred_to_cannot_be_deleted(table: str) -> None:
    acme = people.workspace("acme")
    people.news(acme)
    contact_id = people.contact(acme)

    with collide.uncommitted(partial(people.subscribe, acme, contact_id)):
        deleting = collide.start(partial(execute, f"DELETE FROM {table}"))
        deleting.must_wait()

    with pytest.raises(IntegrityError, match="referred to"):
        deleting.answer()
    assert Subscription.objects.filter(contact_id=contact_id).exists()


@pytest.mark.race
@pytest.mark.django_db(transaction=True)
def test_what_is_about_to_be_deleted_cannot_be_referred_to() -> None:
    acme = people.workspace("acme")
    people.news(acme)
    contact_id, list_id = people.contact(acme), List.objects.get().pk
    subscribe = partial(
        Subscription.objects.create, contact_id=contact_id, list_id=list_id, state="active"
    )

    with collide.uncommitted(partial(execute, "DELETE FROM contacts_contact")):
        subscribing = collide.start(subscribe)
        subscribing.must_wait()

    with pytest.raises(IntegrityError, match="that exists"):
        subscribing.answer()
    assert Workspace.objects.exists()
    assert not Subscription.objects.exists()
