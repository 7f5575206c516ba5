"""Many contacts at once: ticked or found by a search, asked about with their number, then done."""

import re
from typing import Any
from urllib.parse import urlencode

import pytest
from django.db import transaction

from postledger.accounts.models import AuditEntry
from postledger.contacts import lists, sql
from postledger.contacts.actions import bulk
from postledger.contacts.models import ConsentEvent, Contact, Subscription, Suppression
from postledger.contacts.states import SubscriptionState, SuppressionReason
from tests import cast
from tests.campaigns import press
from tests.contacts import people
from tests.races import collide
from tests.web.dashboard import visitors
from tests.web.dashboard.visitors import Person

pytestmark = pytest.mark.django_db


@pytest.fixture
def olivia() -> Person:
    person = visitors.sign_in(cast.sender().workspace_id, name="Olivia")
    people.news(person.workspace_id)
    return person


def read_people(page: str) -> str:
    """What the question says of the people whom it is about."""
    [people_shown] = re.findall(r'name="people" value="(\w+)"', page)
    return str(people_shown)


def decide(who: Person, query: dict[str, Any], **fields: str) -> str:
    """Opens the question as the form of the list does, and answers it about whom it names."""
    url = f"{who.url('contacts/bulk/')}?{urlencode(query, doseq=True)}"
    asked = who.client.get(url).content.decode()
    answer = who.client.post(url, {"people": read_people(asked)} | fields, follow=True)
    return asked + " ".join(answer.content.decode().split())


def test_ticked_people_join_a_list_and_those_who_must_not_are_named(olivia: Person) -> None:
    workspace_id = olivia.workspace_id
    new = people.contact(workspace_id, "new@example.com")
    form = people.unconfirmed(workspace_id, "form@example.com")
    member = people.member(workspace_id, "member@example.com")
    left = people.member(workspace_id, "left@example.com")
    people.leave(workspace_id, "left@example.com", "news")
    dead = people.contact(workspace_id, "dead@example.com")
    people.bounce(workspace_id, "dead@example.com")
    people.contact(workspace_id, "other@example.com")

    chosen = {"do": "add", "id": [new, form, member, left, dead]}
    page = decide(olivia, chosen, list="news", source="asked at the fair")

    assert "Add 5 people to a list?" in page
    assert "Done for 2 people." in page
    for reason in ("On the list already: 1", "Unsubscribed before: 1", "Bounced: 1"):
        assert reason in page
    assert people.subscription(new) is SubscriptionState.ACTIVE
    assert people.subscription(form) is SubscriptionState.ACTIVE
    assert not people.is_unconfirmed(form)
    assert people.subscription(left) is SubscriptionState.UNSUBSCRIBED
    assert not Subscription.objects.filter(contact=dead).exists()
    event = ConsentEvent.objects.get(contact=new)
    assert (event.source, event.actor) == ("asked at the fair", olivia.actor)
    entry = AuditEntry.objects.get(action="contacts.subscribed")
    assert (entry.subject, entry.data) == ("list news", {"contacts": 2})


def test_who_left_every_list_is_counted_before_they_are_put_on_another(olivia: Person) -> None:
    people.news(olivia.workspace_id, "offers")
    left = people.member(olivia.workspace_id, "left@example.com")
    people.leave(olivia.workspace_id, "left@example.com", "news")
    people.contact(olivia.workspace_id, "new@example.com")

    adding = olivia.read("contacts/bulk/", do="add", all="1")
    suppressing = olivia.read("contacts/bulk/", do="suppress", id=str(left))

    warning = "1 of them left every list they were on, and would be on one again"
    assert "Add 2 people to a list?" in adding
    assert warning in adding
    assert warning not in suppressing


def test_all_that_a_search_finds_leave_a_list(olivia: Person) -> None:
    press.people(olivia.workspace_id, 3)
    ids = [people.member(olivia.workspace_id, f"m{n}@corp.example") for n in range(2)]

    found = {"do": "remove", "all": "1", "q": "@corp"}
    page = decide(olivia, found, list="news")

    assert "Remove 2 people from a list?" in page
    assert "Done for 2 people." in page
    assert {people.subscription(one) for one in ids} == {SubscriptionState.UNSUBSCRIBED}
    list_id = Subscription.objects.filter(contact=ids[0]).get().list_id
    kept = people.find_suppression(olivia.workspace_id, "m0@corp.example", list_id)
    assert kept.reason is SuppressionReason.UNSUBSCRIBED
    assert "Not on the list: 2" in decide(olivia, found, list="news")


def test_people_are_suppressed_with_a_reason_that_their_history_keeps(olivia: Person) -> None:
    tom, mia = (people.contact(olivia.workspace_id, f"{n}@example.com") for n in ("tom", "mia"))
    chosen = {"do": "suppress", "id": [tom]}

    page = decide(olivia, chosen, reason="Their lawyer wrote")
    again = decide(olivia, chosen, reason="Their lawyer wrote")
    decide(olivia, {"do": "suppress", "id": [mia]}, reason=" ")

    assert "Done for 1 person." in page
    for name in ("tom", "mia"):
        kept = people.find_suppression(olivia.workspace_id, f"{name}@example.com")
        assert kept.reason is SuppressionReason.BY_HAND
    assert "Their lawyer wrote" in olivia.read(f"contacts/{tom}/", part="consent")
    assert "Suppressed already: 1" in again


@pytest.mark.race
@pytest.mark.django_db(transaction=True)
def test_a_list_that_is_archived_meanwhile_is_said_beside_its_field() -> None:
    olivia = visitors.sign_in(cast.sender().workspace_id, name="Olivia")
    people.news(olivia.workspace_id)
    mira = people.contact(olivia.workspace_id, "mira@example.com")
    url = f"{olivia.url('contacts/bulk/')}?do=add&id={mira}"
    people_shown = read_people(olivia.client.get(url).content.decode())
    fields = {"people": people_shown, "list": "news", "source": "fair"}

    with transaction.atomic():
        sql.take_consent_lock(olivia.workspace_id)
        adding = collide.start(lambda: olivia.client.post(url, fields))
        adding.must_wait()
        lists.archive_list(olivia.workspace_id, key="news", actor="a")

    assert adding.answer().status_code == 422
    assert "This list was archived meanwhile" in adding.answer().content.decode()


@pytest.mark.parametrize("ann", ["Ann", "Zed"])
def test_others_than_those_who_were_shown_are_asked_about_again(olivia: Person, ann: str) -> None:
    """Also if they are as many as before."""
    first, second = (people.contact(olivia.workspace_id, f"{n}@example.com") for n in ("a", "b"))
    Contact.objects.filter(pk=first).update(name="Zed")
    url = f"{olivia.url('contacts/bulk/')}?do=suppress&all=1&q=Zed"
    shown = read_people(olivia.client.get(url).content.decode())
    Contact.objects.filter(pk=first).update(name=ann)
    Contact.objects.filter(pk=second).update(name="Zed")

    answer = olivia.client.post(url, {"people": shown, "reason": "typed"})

    page = answer.content.decode()
    assert answer.status_code == 422
    assert "no longer the same people" in page
    assert "b@example.com" in page
    assert 'value="typed"' in page
    assert not Suppression.objects.exists()
    again = olivia.client.post(url, {"people": read_people(page), "reason": "typed"})
    assert again.status_code == 302
    assert people.find_suppression(olivia.workspace_id, "b@example.com").reason is not None


def test_a_choice_of_nobody_or_of_too_many_leads_back_and_says_so(olivia: Person) -> None:
    press.people(olivia.workspace_id, bulk.MOST + 1)

    for query, words in (
        ({"do": "add"}, "Tick people first"),
        ({"do": "add", "all": "1", "list": "nope"}, "There is no list"),
        ({"do": "suppress", "all": "1"}, "at most 10,000 people at once"),
    ):
        answer = olivia.client.get(olivia.url("contacts/bulk/"), query, follow=True)
        assert words in answer.content.decode()


def test_people_of_another_workspace_are_never_among_them(olivia: Person) -> None:
    stranger = people.contact(people.workspace("globex"), "stranger@example.com")

    url = f"{olivia.url('contacts/bulk/')}?do=suppress&id={stranger}"
    answer = olivia.client.post(url, {"people": "x", "reason": "mine"}, follow=True)

    assert "Tick people first" in answer.content.decode()
    assert not ConsentEvent.objects.exists()
