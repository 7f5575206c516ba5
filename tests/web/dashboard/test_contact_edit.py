"""A contact is added and changed by hand, as the API would do it."""

import html
from html.parser import HTMLParser
from typing import Any, override

import pytest

from postledger.accounts.models import AuditEntry
from postledger.contacts.actions import contacts
from postledger.contacts.details import Changes
from postledger.contacts.models import ConsentEvent, Contact
from postledger.contacts.states import SubscriptionState
from tests.contacts import people
from tests.web.dashboard.visitors import Person

pytestmark = pytest.mark.django_db

MIRA = "mira@example.com"


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
        locale="Deutsch",
        time_zone="Europe/Lisbon",
        lists=["news"],
        source="asked at the fair",
        key=["plan", "", ""],
        text=["pro", "", ""],
    )

    added = Contact.objects.get(workspace_id=olivia.workspace_id)
    event = ConsentEvent.objects.get(contact=added)
    assert "Added." in answer.content.decode()
    assert (added.name, added.locale, added.time_zone) == ("Ann", "de", "Europe/Lisbon")
    assert added.attributes == {"plan": "pro"}
    assert people.subscription(added.pk) is SubscriptionState.ACTIVE
    assert (event.source, event.actor) == ("asked at the fair", olivia.actor)
    assert AuditEntry.objects.filter(action="contact.created", actor=olivia.actor).exists()


def test_a_corrected_address_is_in_the_story(olivia: Person, mira: int) -> None:
    people.bounce(olivia.workspace_id, MIRA)
    contact = Contact.objects.get(pk=mira)
    moved = send(olivia, f"contacts/{mira}/edit/", **typed(contact, address="m@example.com"))
    contact.refresh_from_db()
    named = send(olivia, f"contacts/{mira}/edit/", **typed(contact, name="Mira N."))

    assert contact.address == "m@example.com"
    assert "They get email again" in moved.content.decode()
    assert "They get email again" not in named.content.decode()
    story = olivia.read(f"contacts/{mira}/", part="consent")
    assert story.count("<p>The address was changed.</p><p>Olivia</p>") == 1
    assert "<p>Was restored for all email.</p><p>The address was corrected · Olivia</p>" in story


def test_wrong_input_keeps_what_was_typed_and_says_what_to_do(olivia: Person) -> None:
    people.news(olivia.workspace_id)
    wrong: tuple[tuple[dict[str, Any], str], ...] = (
        ({"address": "nobody"}, "This is not an email address"),
        ({"locale": "Denglisch"}, "is not the code of a language: write one like en"),
        ({"lists": ["news"]}, "Say how they agreed"),
        ({"key": [""], "text": ["alone"]}, "Write a name beside the value “alone”"),
        ({"key": ["x", "x"], "text": ["1", "2"]}, "is there twice"),
        ({"key": ["x"], "text": ["y" * 501]}, "cannot be stored"),
        ({"key": ["First name"], "text": ["Ann"]}, "You already have first_name. Use it"),
        ({"key": ["city", "CITY"], "text": ["Faro", "Faro"]}, "You already have city. Use it"),
    )
    for changed, words in wrong:
        fields = {"address": "ann@example.com", "name": "Ann Typed"} | changed
        answer = send(olivia, "contacts/new/", **fields)

        page = answer.content.decode()
        assert answer.status_code == 422, words
        assert words in page
        assert 'value="Ann Typed"' in page, words
    assert not Contact.objects.exists()


def test_a_suppressed_address_says_so_and_is_added_only_if_that_is_meant(olivia: Person) -> None:
    people.bounce(olivia.workspace_id, MIRA)

    refused = send(olivia, "contacts/new/", address=MIRA)
    assert refused.status_code == 422
    assert "Email to them bounced for good" in refused.content.decode()
    assert "suppressions/?q=mira%40example.com" in refused.content.decode()
    assert not Contact.objects.exists()

    send(olivia, "contacts/new/", address=MIRA, accepts_address="on")
    assert Contact.objects.get().state == "bounced"


def test_who_had_an_address_and_was_erased_is_not_added_again(olivia: Person, mira: int) -> None:
    moved = Changes(address="mira@new.example")
    contacts.update_contact(
        olivia.workspace_id, contact_id=mira, changes=moved, actor="a", now=people.NOW
    )
    olivia.post(f"contacts/{mira}/erase/", typed="mira@new.example")

    for address in (MIRA, "mira@new.example"):
        refused = send(olivia, "contacts/new/", address=address)
        assert "gets no campaign: Erased on request." in refused.content.decode()


def test_an_address_whose_ending_is_missing_is_asked_about(olivia: Person, mira: int) -> None:
    asked = send(olivia, "contacts/new/", address="xl0@exmaple")
    moved = typed(Contact.objects.get(pk=mira), address="mira@exmaple")
    asked_again = send(olivia, f"contacts/{mira}/edit/", **moved)

    for answer in (asked, asked_again):
        assert answer.status_code == 422
        assert "has no ending such as .com" in answer.content.decode()
    assert not Contact.objects.filter(address__endswith="@exmaple").exists()

    send(olivia, "contacts/new/", address="xl0@exmaple", accepts_address="on")
    assert Contact.objects.filter(address="xl0@exmaple").exists()


def test_a_list_that_the_address_is_suppressed_for_stores_nothing(olivia: Person) -> None:
    people.news(olivia.workspace_id)
    olivia.post("suppressions/new/", address=MIRA, scope="news")

    answer = send(olivia, "contacts/new/", address=MIRA, lists=["news"], source="fair")

    assert answer.status_code == 422
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


def test_a_name_beside_one_that_other_contacts_have_is_refused_until_it_is_another(
    olivia: Person, mira: int
) -> None:
    def add(key: str) -> Any:
        return send(olivia, "contacts/new/", address="ann@example.com", key=[key], text=["pro"])

    Contact.objects.filter(pk=mira).update(attributes={"sign-up plan": "plus"})
    refused = add("Sign_Up_Plan")
    assert refused.status_code == 422
    assert 'value="Sign_Up_Plan" aria-describedby="attribute-error"' in refused.content.decode()

    add("sign-up plan")
    assert Contact.objects.get(address="ann@example.com").attributes == {"sign-up plan": "pro"}
    own = typed(Contact.objects.get(pk=mira), key=["sign-up plan", "Plan"], text=["plus", "b"])
    send(olivia, f"contacts/{mira}/edit/", **own)
    assert Contact.objects.get(pk=mira).attributes == {"sign-up plan": "plus", "Plan": "b"}


def test_places_are_shown_changed_and_checked_one_on_each_line(olivia: Person, mira: int) -> None:
    ohio, porto = "ocd-division/country:us/state:oh", "ocd-division/country:pt/district:porto"
    found, url = Contact.objects.get(pk=mira), f"contacts/{mira}/edit/"

    send(olivia, url, **typed(found, ocd_ids=f" {ohio}\r\n\r\n{porto} "))
    shown = olivia.read(url)
    found.refresh_from_db()
    wrong = send(olivia, url, **typed(found, ocd_ids="Ohio"))

    assert f"{ohio} {porto}</textarea>" in shown
    assert wrong.status_code == 422
    assert found.ocd_ids == [ohio, porto]
    send(olivia, url, **typed(found, ocd_ids=""))
    assert Contact.objects.get(pk=mira).ocd_ids == []


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


class FieldReader(HTMLParser):
    """The names and values that a browser sends for the attributes of an untouched form."""

    def __init__(self) -> None:
        super().__init__()
        self.sent: dict[str, list[str]] = {"key": [], "text": []}
        self._area: list[str] | None = None

    @override
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        name = given.get("name")
        if tag == "input" and name in self.sent:
            value = given.get("value") or ""
            self.sent[name].append(value.replace("\r", "").replace("\n", ""))
        self._area = [] if tag == "textarea" and name in self.sent else None

    @override
    def handle_data(self, data: str) -> None:
        if self._area is not None:
            self._area.append(data)

    @override
    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea" and self._area is not None:
            text = "".join(self._area).replace("\r\n", "\n").replace("\r", "\n")
            self.sent["text"].append(text.removeprefix("\n").replace("\n", "\r\n"))
            self._area = None


def read_attributes(who: Person, contact_id: int) -> dict[str, list[str]]:
    reader = FieldReader()
    reader.feed(who.get(f"contacts/{contact_id}/edit/").content.decode())
    return reader.sent


ODD_ATTRIBUTES: dict[str, Any] = {
    "bio": "one\ntwo",
    "dos": "\r\none\r\ntwo\r",
    "empty": "",
    "lines": "\n\n",
    "mac": "one\rtwo",
    "none": [],
    "number": 41.0,
    "pad": " x ",
    "quoted": '[ "a" ], <b>&amp;</b>',
    "towns": ["New York, NY", "Boston"],
    "odd": ["", " a ", "b\nc", "d\r", '"', "[x"],
    "brackets": ["[x", "y"],
}


def test_a_new_name_leaves_every_attribute_as_it_was(olivia: Person, mira: int) -> None:
    Contact.objects.filter(pk=mira).update(attributes=ODD_ATTRIBUTES)
    fields = typed(Contact.objects.get(pk=mira), name="Mira B", **read_attributes(olivia, mira))

    send(olivia, f"contacts/{mira}/edit/", **fields)

    changed = Contact.objects.get(pk=mira)
    assert (changed.name, changed.attributes) == ("Mira B", ODD_ATTRIBUTES)


def test_what_is_typed_over_a_value_keeps_its_kind(olivia: Person, mira: int) -> None:
    typed_over: tuple[tuple[Any, str, Any], ...] = (
        (["New York, NY", "b"], '["New York, NY", "b", "c"]', ["New York, NY", "b", "c"]),
        (["New York, NY", "b"], "b, c", ["b", "c"]),
        (["a"], "a,, c ,", ["a", "c"]),
        ("one\ntwo", "one\r\ntwo\r\nthree", "one\ntwo\nthree"),
        (" x ", " y ", " y "),
        ("x", " y ", "y"),
        (41, " 4.5 ", 4.5),
        (41, "42,5", 42.5),
        (41, "1 042", 1042),
        (41, "true", "true"),
        (41, "[1]", "[1]"),
        (True, " false", False),
    )
    for stored, text, value in typed_over:
        Contact.objects.filter(pk=mira).update(attributes={"a": stored})

        fields = typed(Contact.objects.get(pk=mira), key=["a"], text=[text])
        send(olivia, f"contacts/{mira}/edit/", **fields)

        assert Contact.objects.get(pk=mira).attributes == {"a": value}, (stored, text)


def test_a_value_that_cannot_be_read_is_refused_and_stays_typed(olivia: Person, mira: int) -> None:
    unreadable: tuple[tuple[Any, str, str], ...] = (
        (41, "[" * 100_000, "cannot be stored"),
        (41, "1.000", "may mean 1000 or 1"),
        (["New York, NY"], '["New York, NY", b]', "with each text in quotation marks"),
        (["New York, NY"], "[" * 100_000, "with each text in quotation marks"),
        (["New York, NY"], "[1, 2]", "with each text in quotation marks"),
    )
    for stored, text, words in unreadable:
        Contact.objects.filter(pk=mira).update(attributes={"a": stored})

        fields = typed(Contact.objects.get(pk=mira), key=["a"], text=[text])
        answer = send(olivia, f"contacts/{mira}/edit/", **fields)

        page, case = html.unescape(answer.content.decode()), (stored, text[:20])
        assert answer.status_code == 422, case
        assert words in page, case
        assert f'value="{text}"' in page, case
        assert Contact.objects.get(pk=mira).attributes == {"a": stored}, case


def test_details_that_the_form_would_not_take_stay_unless_they_are_changed(
    olivia: Person, mira: int
) -> None:
    zone, text = "US/Pacific-New", ["42", "plus", "a, b", "true", ""]
    Contact.objects.filter(pk=mira).update(name=" Mira ", time_zone=zone)
    before, url = Contact.objects.get(pk=mira), f"contacts/{mira}/edit/"

    send(olivia, url, **typed(before, time_zone=zone, text=text))
    after = Contact.objects.get(pk=mira)
    kept = (after.name, after.time_zone, after.attributes["age"])
    assert kept == (" Mira ", zone, 42)

    send(olivia, url, **typed(after, text=text, time_zone=""))
    assert Contact.objects.get(pk=mira).time_zone is None
