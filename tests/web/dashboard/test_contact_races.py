"""Two people, or a person and a program, who act on one contact at the same moment."""

from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pytest
from django.db import transaction

from postledger.contacts.actions import contacts, desired_state
from postledger.contacts.actions.desired_state import DesiredState
from postledger.contacts.details import Changes
from postledger.contacts.models import Contact, Suppression
from postledger.contacts.states import ContactState, SubscriptionState
from tests.contacts import people
from tests.races import collide
from tests.web.dashboard.visitors import Person

pytestmark = [pytest.mark.race, pytest.mark.django_db(transaction=True)]

MIRA = "mira@example.com"


@pytest.fixture
def mira(olivia: Person) -> int:
    people.news(olivia.workspace_id)
    contact_id = people.member(olivia.workspace_id, MIRA)
    change(olivia.workspace_id, contact_id, name="Mira", attributes={"plan": "plus"})
    return contact_id


def change(workspace_id: int, contact_id: int, **changed: Any) -> None:
    contacts.update_contact(
        workspace_id,
        contact_id=contact_id,
        changes=Changes(**changed),
        actor="api",
        now=datetime.now(UTC),
    )


def send(who: Person, path: str, **fields: Any) -> Callable[[], Any]:
    return lambda: who.client.post(who.url(path), fields, follow=True)


def edit(who: Person, contact: Contact, **typed: Any) -> Callable[[], Any]:
    fields = {
        "address": contact.address,
        "name": contact.name,
        "lists": ["news"],
        "was_on": "news",
        "seen": contact.updated_at.isoformat(),
        "key": ["plan"],
        "text": ["plus"],
    }
    return send(who, f"contacts/{contact.pk}/edit/", **fields | typed)


def test_an_erasure_that_meets_a_change_of_address_erases_nobody_and_says_so(
    olivia: Person, mira: int
) -> None:
    moving = partial(change, olivia.workspace_id, mira, address="new@example.com")

    with collide.uncommitted(moving):
        erasing = collide.start(send(olivia, f"contacts/{mira}/erase/", typed=MIRA))
        erasing.must_wait()

    answer = erasing.answer()
    page = answer.content.decode()
    assert answer.status_code == 422
    assert "Erased" not in page
    assert "Meanwhile the contact has another address, so nothing was done." in page
    assert "Erase new@example.com for good?" in page
    assert Contact.objects.get(pk=mira).name == "Mira"


def test_a_suppression_that_meets_a_change_of_address_suppresses_nobody_and_says_so(
    olivia: Person, mira: int
) -> None:
    moving = partial(change, olivia.workspace_id, mira, address="new@example.com")

    with collide.uncommitted(moving):
        suppressing = collide.start(send(olivia, f"contacts/{mira}/suppress/", scope=""))
        suppressing.must_wait()

    page = suppressing.answer().content.decode()
    assert "Meanwhile the contact has another address, so nothing was done." in page
    assert "Suppress new@example.com?" in page
    assert not Suppression.objects.exists()


def test_a_program_that_unsubscribes_somebody_meets_a_change_of_address_and_ends_the_mail(
    olivia: Person, mira: int
) -> None:
    moving = partial(change, olivia.workspace_id, mira, address="new@example.com")
    unsubscribe = partial(
        desired_state.update_subscription,
        olivia.workspace_id,
        contact_id=mira,
        list_key="news",
        state=DesiredState.UNSUBSCRIBED,
        origin=people.IMPORT,
        now=datetime.now(UTC),
    )

    with collide.uncommitted(moving):
        unsubscribing = collide.start(unsubscribe)
        unsubscribing.must_wait()
    unsubscribing.answer()

    assert people.subscription(mira) is SubscriptionState.UNSUBSCRIBED


def test_who_took_the_address_over_is_not_erased_for_the_one_before(
    olivia: Person, mira: int
) -> None:
    def hand_over() -> int:
        change(olivia.workspace_id, mira, address="new@example.com")
        return people.contact(olivia.workspace_id, MIRA)

    with collide.uncommitted(hand_over) as moving:
        erasing = collide.start(send(olivia, f"contacts/{mira}/erase/", typed=MIRA))
        erasing.must_wait()
        other = moving.answer()

    assert erasing.answer().status_code == 422
    assert Contact.objects.get(pk=other).address == MIRA


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"text": ["pro"]}, {"text": ["gold"]}),
        ({"address": "new@example.com"}, {"lists": []}),
        ({"lists": []}, {"address": "new@example.com", "lists": []}),
    ],
)
def test_of_two_who_save_at_once_the_second_is_told_and_keeps_what_was_typed(
    olivia: Person, mira: int, first: dict[str, Any], second: dict[str, Any]
) -> None:
    seen = Contact.objects.get(pk=mira)
    with transaction.atomic():
        Contact.objects.select_for_update().get(pk=mira)
        one = collide.start(edit(olivia, seen, name="Mira L.", **first))
        one.must_wait()
        other = collide.start(edit(olivia, seen, name="Mirabelle", **second))
        other.must_wait()

    answers = {"Mira L.": one.answer(), "Mirabelle": other.answer()}
    [(lost, told)] = [item for item in answers.items() if item[1].status_code == 422]
    page = told.content.decode()
    assert "changed meanwhile" in page
    assert f'value="{lost}"' in page
    assert {Contact.objects.get(pk=mira).name, lost} == {"Mira L.", "Mirabelle"}


def test_who_leaves_a_list_by_an_edit_that_meets_a_new_address_is_told(
    olivia: Person, mira: int
) -> None:
    seen = Contact.objects.get(pk=mira)
    moving = partial(change, olivia.workspace_id, mira, address="new@example.com")

    with collide.uncommitted(moving):
        saving = collide.start(edit(olivia, seen, lists=[]))
        saving.must_wait()

    assert saving.answer().status_code == 422
    assert people.subscription(mira) is SubscriptionState.ACTIVE


def test_a_restoring_that_meets_another_lifts_no_unsubscribe(olivia: Person, mira: int) -> None:
    people.leave(olivia.workspace_id, MIRA)
    people.bounce(olivia.workspace_id, MIRA)

    with collide.uncommitted(partial(people.restore, olivia.workspace_id, MIRA)):
        fields = {"scope": "bounced general", "reason": "mended"}
        restoring = collide.start(send(olivia, f"contacts/{mira}/restore/", **fields))
        restoring.must_wait()

    page = restoring.answer().content.decode()
    assert "so nothing was lifted" in page
    assert "They unsubscribed" in page, "what remains is asked about"
    assert people.state(mira) is ContactState.UNSUBSCRIBED
