"""Two who write at once: neither misses the other, and a no is never lost."""

from datetime import datetime
from functools import partial
from itertools import cycle, islice

import pytest

from postledger.contacts import consent
from postledger.contacts.actions import contacts
from postledger.contacts.details import Changes
from postledger.contacts.models import ConsentEvent, Contact, Suppression
from postledger.contacts.states import (
    ContactState,
    SubscriptionState,
    SuppressionReason,
    SuppressionStatus,
)
from tests.contacts import people
from tests.contacts.people import NOW, R1
from tests.races import collide

pytestmark = [pytest.mark.race, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def acme() -> int:
    return people.workspace("acme")


def test_a_leaving_that_waits_for_a_bounce_does_not_lower_it(acme: int) -> None:
    contact_id = people.contact(acme)

    with collide.uncommitted(partial(people.bounce, acme)):
        leaving = collide.start(partial(people.leave, acme))
        leaving.must_wait()

    assert leaving.answer()
    assert people.state(contact_id) is ContactState.BOUNCED
    assert people.find_suppression(acme) == SuppressionStatus(
        SuppressionReason.BOUNCED, has_left=True
    )


def test_an_import_that_waits_for_a_leaving_revives_nobody(acme: int) -> None:
    contact_id = people.contact(acme)

    with collide.uncommitted(partial(people.leave, acme)):
        report = consent.import_report(R1, state=ContactState.ACTIVE, at=NOW)
        importing = collide.start(partial(people.apply, acme, report))
        importing.must_wait()

    assert importing.answer() == []
    assert people.state(contact_id) is ContactState.UNSUBSCRIBED


def test_a_leaving_that_waits_for_its_undoing_counts_again(acme: int) -> None:
    """What it read before it waited says that nothing is left to do."""
    contact_id = people.contact(acme)
    people.leave(acme)

    with collide.uncommitted(partial(people.undo, acme)):
        leaving = collide.start(partial(people.leave, acme))
        leaving.must_wait()

    assert leaving.answer()
    assert people.state(contact_id) is ContactState.UNSUBSCRIBED
    assert people.find_suppression(acme).has_left


def test_a_contact_that_is_made_while_its_address_leaves_has_left(acme: int) -> None:
    with collide.uncommitted(partial(people.leave, acme)):
        making = collide.start(partial(people.contact, acme))
        making.must_wait()

    assert people.state(making.answer()) is ContactState.UNSUBSCRIBED


def test_an_address_that_leaves_while_its_contact_is_made_takes_it_along(acme: int) -> None:
    with collide.uncommitted(partial(people.contact, acme)) as making:
        leaving = collide.start(partial(people.leave, acme))
        leaving.must_wait()
        contact_id = making.answer()

    assert leaving.answer()
    assert people.state(contact_id) is ContactState.UNSUBSCRIBED


def test_who_leaves_a_list_while_being_subscribed_is_not_on_it(acme: int) -> None:
    people.news(acme)
    contact_id = people.contact(acme)

    with collide.uncommitted(partial(people.subscribe, acme, contact_id)):
        leaving = collide.start(partial(people.leave, acme, key="news"))
        leaving.must_wait()

    assert leaving.answer()
    assert people.subscription(contact_id) is SubscriptionState.UNSUBSCRIBED


def test_who_is_subscribed_while_moving_to_an_address_that_left_the_list_is_not_on_it(
    acme: int,
) -> None:
    people.news(acme)
    contact_id = people.contact(acme)
    people.leave(acme, "left@example.com", key="news")
    move = partial(
        contacts.update_contact,
        acme,
        contact_id=contact_id,
        changes=Changes(address="left@example.com"),
        actor="alice",
        now=NOW,
    )

    with collide.uncommitted(partial(people.subscribe, acme, contact_id)):
        moving = collide.start(move)
        moving.must_wait()
    moving.answer()

    assert people.subscription(contact_id) is SubscriptionState.UNSUBSCRIBED


def test_who_is_subscribed_while_leaving_a_list_is_not_on_it(acme: int) -> None:
    people.news(acme)
    contact_id = people.contact(acme)

    with collide.uncommitted(partial(people.leave, acme, key="news")):
        subscribing = collide.start(partial(people.subscribe, acme, contact_id))
        subscribing.must_wait()

    assert subscribing.answer() is SubscriptionState.PENDING


def test_those_who_join_do_not_wait_for_one_another(acme: int) -> None:
    people.news(acme)
    contact_id = people.contact(acme)

    with collide.uncommitted(partial(people.contact, acme, "r2@example.com")):
        assert (
            collide.start(partial(people.subscribe, acme, contact_id)).answer()
            is SubscriptionState.ACTIVE
        )


def test_another_workspace_is_not_made_to_wait(acme: int) -> None:
    globex = people.workspace("globex")

    with collide.uncommitted(partial(people.leave, acme)):
        assert collide.start(partial(people.leave, globex)).answer()


def test_eight_leave_at_once_and_it_is_recorded_once(acme: int) -> None:
    contact_id = people.contact(acme)

    answers = collide.together([partial(people.leave, acme)] * 8)

    assert sorted(answers) == [False] * 7 + [True]
    assert people.state(contact_id) is ContactState.UNSUBSCRIBED
    assert ConsentEvent.objects.count() == 1


def test_bulk_words_in_any_order_neither_hang_nor_lose_one(acme: int) -> None:
    addresses = [f"r{n}@example.com" for n in range(200)]
    for address in addresses[::2]:
        people.contact(acme, address)

    def words(turn: int) -> int:
        addressees = list(islice(cycle(addresses), turn * 50, turn * 50 + 200))
        report = consent.complaint_report if turn % 2 else _report_bounce
        return len(people.apply(acme, *(report(address, at=NOW) for address in addressees)))

    collide.together([partial(words, turn) for turn in range(6)])

    assert set(Contact.objects.values_list("state", flat=True)) == {"bounced"}
    assert Suppression.objects.filter(reason="bounced").count() == 200


def _report_bounce(address: str, *, at: datetime) -> consent.StateReport:
    return consent.bounce_report(address, bounce_type="Permanent", bounce_subtype="General", at=at)


def test_two_who_change_different_attributes_both_succeed(acme: int) -> None:
    contact_id = people.contact(acme)

    def set_one(number: int) -> None:
        people.change(acme, contact_id, Changes(attributes={f"k{number}": number}))

    collide.together([partial(set_one, number) for number in range(6)])

    assert Contact.objects.get().attributes == {f"k{n}": n for n in range(6)}
