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


def add_consent(**wrong: int) -> None:
    contact = Contact.objects.get()
    right = {"workspace_id": contact.workspace_id, "contact_id": contact.pk}
    ConsentEvent.objects.create(**{**right, **wrong}, action="imported", source="x", actor="x")


def test_nothing_refers_to_what_is_not_there(member: int) -> None:
    news = List.objects.get()
    people.news(Contact.objects.get().workspace_id, "other")
    one_of_many = (
        "INSERT INTO contacts_subscription (contact_id, list_id, state)"
        " SELECT one, (SELECT max(id) FROM contacts_list), 'active'"
        " FROM (SELECT id FROM contacts_contact UNION SELECT %s) AS all_of_them (one)"
    )
    subscribe = partial(Subscription.objects.create, state="active")
    cases: list[Callable[[], object]] = [
        partial(Contact.objects.create, workspace_id=NOBODY, address="r9@example.com"),
        partial(subscribe, contact_id=NOBODY, list=news),
        partial(subscribe, contact_id=member, list_id=NOBODY),
        partial(execute, one_of_many, NOBODY),
        partial(add_consent, workspace_id=NOBODY),
        partial(add_consent, contact_id=NOBODY),
        partial(add_consent, list_id=NOBODY),
    ]
    for add in cases:
        with pytest.raises(IntegrityError, match="that exists"), transaction.atomic():
            add()


def test_what_is_referred_to_also_by_a_history_alone_cannot_be_deleted(member: int) -> None:
    def refuse(table: str) -> None:
        with pytest.raises(IntegrityError, match="referred to"), transaction.atomic():
            execute(f"DELETE FROM {table}")

    for table in ("contacts_contact", "contacts_list", "accounts_workspace"):
        refuse(table)
    execute("DELETE FROM contacts_subscription")
    refuse("contacts_contact")
    people.contact(Contact.objects.get().workspace_id, "new@example.com")
    assert execute("DELETE FROM contacts_contact WHERE address = 'new@example.com'") == 1


def test_a_reference_does_not_change(member: int) -> None:
    cases: list[tuple[str, str]] = [
        ("contacts_contact", "id"),
        ("contacts_contact", "workspace_id"),
        ("contacts_subscription", "contact_id"),
        ("contacts_subscription", "list_id"),
        ("contacts_list", "id"),
        ("accounts_workspace", "id"),
    ]
    for table, column in cases:
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
