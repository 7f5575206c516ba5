"""What the page says of a dry run: who would stay off the list, and which rows to look at."""

import re

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from postledger.contacts.models import ConsentEvent, Contact, Subscription
from postledger.imports.models import Import
from postledger.web.dashboard.audience import words
from tests import cast
from tests.contacts import people
from tests.imports import files
from tests.web import uploads
from tests.web.dashboard import visitors
from tests.web.dashboard.visitors import Person

pytestmark = pytest.mark.django_db

STATES = (
    b"Mail,Status,City\n"
    b"ann@example.com,subscribed,Porto\n"
    b"left@example.com,unsubscribed,Porto\n"
    b"gone@example.com,cleaned,Porto\n"
)
UNKNOWING = "It does not know who left in your old tool"
HINT = "These look like states of people in your old tool."


@pytest.fixture
def olivia() -> Person:
    return visitors.sign_in(cast.sender().workspace_id, name="Olivia")


def bring(who: Person, content: bytes) -> int:
    file = SimpleUploadedFile("people.csv", content)
    answer = who.client.post(who.url("imports/upload/"), {"file": file})
    return int(answer.headers["Location"].split("/")[-2])


def try_out(who: Person, number: int, **fields: str) -> str:
    who.post(f"imports/{number}/try/", **fields)
    uploads.work()
    return who.read(f"imports/{number}/")


def test_a_status_is_proposed_as_the_state_in_the_old_tool_and_ends_mail(olivia: Person) -> None:
    people.news(olivia.workspace_id)
    number = bring(olivia, STATES)
    assert 'value="old_state" selected' in olivia.read(f"imports/{number}/")

    page = try_out(olivia, number, list="news")

    assert "2 people stay off the list." in page
    assert re.search(r"Unsubscribed in the old tool</dt><dd>1<", page)
    assert re.search(r"Bounced in the old tool</dt><dd>1<", page)
    assert UNKNOWING not in page
    assert "<b>1</b> would join News." in page
    olivia.post(f"imports/{number}/start/", list="news")
    uploads.work()
    assert Subscription.objects.get().contact.address == "ann@example.com"
    left = Contact.objects.get(address="left@example.com")
    history = olivia.read(f"contacts/{left.pk}/")
    assert "An import or a sync said that they get no mail." in history
    assert f"Import {number} of people.csv" in history


def test_who_left_the_old_tool_is_told_without_a_list_too(olivia: Person) -> None:
    page = try_out(olivia, bring(olivia, STATES))

    assert "2 people would be kept off a list." in page
    assert re.search(r"Unsubscribed in the old tool</dt><dd>1<", page)
    assert "Nobody would join a list." in page


def test_a_status_that_becomes_an_attribute_is_asked_about(olivia: Person) -> None:
    number = bring(olivia, STATES.replace(b"Status", b"Newsletter"))
    assert olivia.read(f"imports/{number}/").count(HINT) == 1

    page = try_out(olivia, number, **{"target-1": "old_state"})

    assert HINT not in page


def test_who_stays_off_the_list_is_told_beside_what_an_import_cannot_know(olivia: Person) -> None:
    people.news(olivia.workspace_id)
    people.member(olivia.workspace_id, "left@example.com")
    people.leave(olivia.workspace_id, "left@example.com", "news")
    number = bring(olivia, STATES)

    page = try_out(olivia, number, **{"target-1": "-", "list": "news"})

    assert "1 person stays off the list." in page
    assert UNKNOWING in page
    assert UNKNOWING in olivia.read("imports/")


def test_rows_to_look_at_are_in_their_order_with_remarks_and_their_total(olivia: Person) -> None:
    rows = "ann@example.com,Klingonisch\n" + "nobody,\n" * 30 + "bob@example.com,Elvish\n"
    number = bring(olivia, f"email,language\n{rows}".encode())

    page = try_out(olivia, number)

    assert "The first 20 of 32; the import lists all of them." in page
    problems = page.partition('id="problems"')[2]
    shown = [int(row) for row in re.findall(r'<tr><td class="n">(\d+)</td>', problems)]
    assert shown == list(range(2, 22))
    assert "Klingonisch" in problems


def test_all_rows_to_look_at_are_shown_without_a_total(olivia: Person) -> None:
    page = try_out(olivia, bring(olivia, b"email\nnobody\nann@example.com\n"))

    assert "Row 1 has the names of the columns." in page
    assert "The first" not in page.partition('id="problems"')[2]


def test_contacts_that_the_file_does_not_change_are_counted_beside_the_button(
    olivia: Person,
) -> None:
    people.contact(olivia.workspace_id, "ann@example.com")

    page = try_out(olivia, bring(olivia, b"email\nann@example.com\nnew@example.com\n"))

    assert "<b>1</b> contact would be created or changed. <b>1</b> is as the file has it." in page
    assert "Import 2 contacts" in page


def test_fields_of_the_newest_import_are_offered_however_few_contacts_have_them(
    olivia: Person, tmp_path_factory: pytest.TempPathFactory
) -> None:
    workspace_id = olivia.workspace_id
    folder = tmp_path_factory.mktemp("files")
    old = "email\n" + "".join(f"r{number}@example.com\n" for number in range(510))
    files.import_file(workspace_id, files.write_file(folder, old))
    new = "email,shoe_size,Vorname,Nachname\nnew@example.com,40,,\n"
    files.import_file(workspace_id, files.write_file(folder, new))
    assert Import.objects.count() == 2

    page = olivia.read("contacts/")

    for key in ("shoe_size", "first_name", "last_name"):
        assert f'value="attributes.{key}"' in page


@pytest.mark.parametrize(
    ("after", "said"),
    [
        ("active", "Was imported for all email."),
        ("unsubscribed", "An import or a sync said that they get no mail."),
        (None, "An import or a sync said that they get no mail."),
    ],
)
def test_the_history_says_what_an_import_meant_for_all_mail(after: str | None, said: str) -> None:
    event = ConsentEvent(action="imported", after=after)

    assert words.describe_change(event)[0] == said
