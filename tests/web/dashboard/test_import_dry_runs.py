"""What the page says of a dry run: who would stay off the list, and which rows to look at."""

import re

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from postledger.contacts.actions import subscriptions
from postledger.contacts.models import Contact, Subscription
from tests.contacts import people
from tests.web import uploads
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
    finished = olivia.read(f"imports/{number}/")
    assert re.search(r"Unsubscribed in the old tool</dt><dd>1<", finished)
    history = olivia.read(f"contacts/{left.pk}/")
    assert "An import or a sync said that they get no mail." in history
    assert f"Import {number} of people.csv" in history


def test_what_people_chose_here_themselves_is_told_with_what_the_import_makes_of_it(
    olivia: Person,
) -> None:
    workspace_id = olivia.workspace_id
    people.news(workspace_id)
    for name in ("ann", "left", "gone"):
        contact_id = people.contact(workspace_id, f"{name}@example.com")
        people.ask(workspace_id, contact_id)
        people.act(subscriptions.confirm, workspace_id, contact_id)
    people.member(workspace_id, "bob@example.com")
    people.leave(workspace_id, "left@example.com", "news")
    rows = "".join(f"{name}@example.com\n" for name in ("ann", "bob", "left", "gone", "new"))

    plain = try_out(olivia, bring(olivia, f"email\n{rows}".encode()), list="news")
    number = bring(olivia, b"email,status\ngone@example.com,unsubscribed\n")
    ending = try_out(olivia, number, list="news")

    chosen = plain.partition('id="own-choices"')[2].partition("</div>")[0]
    assert "2 people of the file confirmed here themselves (double opt-in)." in chosen
    assert "1 person of the file unsubscribed here themselves." in chosen
    assert re.findall(r">(\w+)@example.com</a>", chosen) == ["ann", "gone", "left"]
    assert "The import ends their email here, too." in ending
    olivia.post(f"imports/{number}/start/", list="news")
    uploads.work()
    states = Subscription.objects.values_list("contact__address", "state", "contact__state")
    assert sorted(states) == [
        ("ann@example.com", "active", "active"),
        ("bob@example.com", "active", "active"),
        ("gone@example.com", "active", "unsubscribed"),
        ("left@example.com", "unsubscribed", "active"),
    ]


def test_the_rows_of_a_dry_run_are_a_file_until_they_are_of_another_one(olivia: Person) -> None:
    def read_file() -> list[str]:
        answer = olivia.get(f"imports/{number}/problems.csv")
        return b"".join(answer.streaming_content).decode().splitlines()[1:]

    number = bring(olivia, ("email,Born\n" + "nobody,1\n" * 21 + "ann@example.com,2\n").encode())

    page = try_out(olivia, number)
    first = read_file()
    again = try_out(olivia, number)
    second = read_file()
    olivia.post(f"imports/{number}/try/", **{"target-0": "email"})
    moving = read_file()
    uploads.work()
    olivia.post(f"imports/{number}/start/")
    started = read_file()
    uploads.work()

    assert "The first 20 of 21; the file has the others, too." in page
    assert "21 rows as a file" in again
    assert f'href="{olivia.url(f"imports/{number}/problems.csv")}"' in page
    assert (len(first), len(second), moving, started, len(read_file())) == (21, 21, [], [], 21)
