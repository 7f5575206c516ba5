"""A contact is added and changed by hand, as the API would do it."""

import html
from typing import Any

import pytest

from postledger.accounts.models import AuditEntry
from postledger.contacts.actions import contacts
from postledger.contacts.details import Changes
from postledger.contacts.models import ConsentEvent, Contact
from postledger.contacts.states import SubscriptionState
from tests import cast
from tests.contacts import people
from tests.web.dashboard import visitors
from tests.web.dashboard.visitors import Person

pytestmark = pytest.mark.django_db

MIRA = "mira@example.com"


@pytest.fixture
def olivia() -> Person:
    return visitors.sign_in(cast.sender().workspace_id, name="Olivia")


@pytest.fixture
def mira(olivia: Person) -> int:
    """On the list, with an attribute of every kind."""
    people.news(olivia.workspace_id)
    contact_id = people.member(olivia.workspace_id, MIRA)
    attributes: Any = {"plan": "plus", "age": 41, "vip": True, "tags": ["a", "b"]}
    contacts.update_contact(
        olivia.workspace_id,
        contact_id=contact_id,
        changes=Changes(name="Mira", attributes=attributes),
        actor="a",
        now=people.NOW,
    )
    return contact_id


def send(who: Person, path: str, **fields: Any) -> Any:
    """Fills the form in; without a page the attributes and lists are as given."""
    return who.client.post(who.url(path), fields, follow=True)


def typed(contact: Contact, **changed: Any) -> dict[str, Any]:
    """The form of Mira as it is shown, with some fields typed over."""
    fields: dict[str, Any] = {
        "address": contact.address,
        "name": contact.name,
        "lists": ["news"],
        "was_on": "news",
        "ocd_ids": "\r\n".join(contact.ocd_ids),
        "seen": contact.updated_at.isoformat(),
        "key": ["age", "plan", "tags", "vip", ""],
        "text": ["41", "plus", "a, b", "true", ""],
    }
    return fields | changed


def test_somebody_is_added_with_details_and_lists(olivia: Person) -> None:
    people.news(olivia.workspace_id)

    answer = send(
        olivia,
        "contacts/new/",
        address="Ann@Example.com",
        name="Ann",
        locale="pt-BR",
        time_zone="Europe/Lisbon",
        lists=["news"],
        source="asked at the fair",
        key=["plan", "", ""],
        text=["pro", "", ""],
    )

    added = Contact.objects.get(workspace_id=olivia.workspace_id)
    event = ConsentEvent.objects.get(contact=added)
    assert "Added." in answer.content.decode()
    assert (added.name, added.locale, added.time_zone) == ("Ann", "pt-BR", "Europe/Lisbon")
    assert added.attributes == {"plan": "pro"}
    assert people.subscription(added.pk) is SubscriptionState.ACTIVE
    assert (event.source, event.actor) == ("asked at the fair", olivia.actor)
    assert AuditEntry.objects.filter(action="contact.created", actor=olivia.actor).exists()


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"address": "nobody"}, "This is not an email address"),
        ({"locale": "english"}, "Write a language like en"),
        ({"lists": ["news"]}, "Say how they agreed"),
        ({"key": [""], "text": ["alone"]}, "Write a name beside the value “alone”"),
        ({"key": ["x", "x"], "text": ["1", "2"]}, "is there twice"),
        ({"key": ["x"], "text": ["y" * 501]}, "cannot be stored"),
    ],
)
def test_wrong_input_keeps_what_was_typed_and_says_what_to_do(
    olivia: Person, wrong: dict[str, Any], words: str
) -> None:
    people.news(olivia.workspace_id)

    fields = {"address": "ann@example.com", "name": "Ann Typed"} | wrong
    answer = send(olivia, "contacts/new/", **fields)

    page = answer.content.decode()
    assert answer.status_code == 422
    assert words in page
    assert 'value="Ann Typed"' in page
    assert not Contact.objects.exists()


def test_an_address_that_exists_leads_to_its_contact(olivia: Person, mira: int) -> None:
    answer = send(olivia, "contacts/new/", address="MIRA@example.com")

    assert answer.status_code == 422
    assert f'href="{olivia.url(f"contacts/{mira}/")}">Open that contact' in answer.content.decode()


def test_a_suppressed_address_says_so_and_is_added_only_if_that_is_meant(olivia: Person) -> None:
    people.bounce(olivia.workspace_id, MIRA)

    refused = send(olivia, "contacts/new/", address=MIRA)
    assert refused.status_code == 422
    assert "Email to them bounced for good" in refused.content.decode()
    assert "suppressions/?q=mira%40example.com" in refused.content.decode()
    assert not Contact.objects.exists()

    send(olivia, "contacts/new/", address=MIRA, accepts_suppression="on")
    assert Contact.objects.get().state == "bounced"


def test_a_list_that_the_address_is_suppressed_for_stores_nothing(olivia: Person) -> None:
    people.news(olivia.workspace_id)
    olivia.post("suppressions/new/", address=MIRA, scope="news")

    answer = send(olivia, "contacts/new/", address=MIRA, lists=["news"], source="fair")

    assert answer.status_code == 422
    assert "suppressed for News" in answer.content.decode()
    assert not Contact.objects.exists()


def test_saving_an_untouched_form_changes_nothing(olivia: Person, mira: int) -> None:
    before = Contact.objects.get(pk=mira)
    page = olivia.read(f"contacts/{mira}/edit/")
    send(olivia, f"contacts/{mira}/edit/", **typed(before))

    after = Contact.objects.get(pk=mira)
    assert 'value="a, b"' in page
    assert (after.attributes, after.updated_at) == (before.attributes, before.updated_at)


def test_attributes_keep_their_kind_and_an_empty_one_goes(olivia: Person, mira: int) -> None:
    fields = typed(Contact.objects.get(pk=mira), text=["42", "", "a, c", "false", ""])
    send(olivia, f"contacts/{mira}/edit/", **fields)

    changed = Contact.objects.get(pk=mira)
    entry = AuditEntry.objects.filter(action="contact.changed", actor=olivia.actor).get()
    assert changed.attributes == {"age": 42, "tags": ["a", "c"], "vip": False}
    assert entry.data["fields"] == ["attributes"]


def test_places_are_shown_changed_and_checked_one_on_each_line(olivia: Person, mira: int) -> None:
    ohio, porto = "ocd-division/country:us/state:oh", "ocd-division/country:pt/district:porto"
    mira_found = Contact.objects.get(pk=mira)
    send(olivia, f"contacts/{mira}/edit/", **typed(mira_found, ocd_ids=f" {ohio}\r\n\r\n{porto} "))
    mira_found.refresh_from_db()
    assert mira_found.ocd_ids == [ohio, porto]
    assert f"{ohio} {porto}</textarea>" in olivia.read(f"contacts/{mira}/edit/")
    assert f"{ohio}, {porto}" in olivia.read(f"contacts/{mira}/")

    refused = send(olivia, f"contacts/{mira}/edit/", **typed(mira_found, ocd_ids="Ohio"))
    assert "&#x27;Ohio&#x27; is not an OCD id" in refused.content.decode()
    send(olivia, f"contacts/{mira}/edit/", **typed(mira_found, ocd_ids=""))
    mira_found.refresh_from_db()
    assert mira_found.ocd_ids == []

    send(olivia, "contacts/new/", address="ann@example.com", ocd_ids=porto)
    assert Contact.objects.get(address="ann@example.com").ocd_ids == [porto]


def test_a_tick_taken_away_unsubscribes_and_coming_back_needs_a_confirmation(
    olivia: Person, mira: int
) -> None:
    contact = Contact.objects.get(pk=mira)
    send(olivia, f"contacts/{mira}/edit/", **typed(contact, lists=[]))
    assert people.subscription(mira) is SubscriptionState.UNSUBSCRIBED

    back = typed(contact, was_on="", source="wrote to us")
    answer = send(olivia, f"contacts/{mira}/edit/", **back)
    assert people.subscription(mira) is SubscriptionState.PENDING
    assert "confirm first: News" in answer.content.decode()


def test_a_new_address_of_somebody_else_or_a_suppressed_one_is_refused(
    olivia: Person, mira: int
) -> None:
    other = people.contact(olivia.workspace_id, "tom@example.com")
    people.bounce(olivia.workspace_id, "dead@example.com")
    contact = Contact.objects.get(pk=mira)

    taken = send(olivia, f"contacts/{mira}/edit/", **typed(contact, address="tom@example.com"))
    dead = send(olivia, f"contacts/{mira}/edit/", **typed(contact, address="dead@example.com"))

    assert (taken.status_code, dead.status_code) == (422, 422)
    assert olivia.url(f"contacts/{other}/") in taken.content.decode()
    assert "This address is suppressed" in dead.content.decode()
    assert Contact.objects.get(pk=mira).address == MIRA


def test_who_saves_over_another_is_told_first(olivia: Person, mira: int) -> None:
    old = Contact.objects.get(pk=mira)
    contacts.update_contact(
        olivia.workspace_id,
        contact_id=mira,
        changes=Changes(name="Mira N."),
        actor="bob",
        now=people.NOW,
    )
    told = send(olivia, f"contacts/{mira}/edit/", **typed(old, name="Mine"))

    assert told.status_code == 422
    assert "changed meanwhile" in told.content.decode()
    assert Contact.objects.get(pk=mira).name == "Mira N."

    now = Contact.objects.get(pk=mira)
    assert f'value="{now.updated_at.isoformat()}"' in html.unescape(told.content.decode())
    send(olivia, f"contacts/{mira}/edit/", **typed(now, name="Mine"))
    assert Contact.objects.get(pk=mira).name == "Mine"
