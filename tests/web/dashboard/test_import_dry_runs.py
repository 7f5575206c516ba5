"""What the page says of a dry run: who would stay off the list, and which rows to look at."""

import re

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from postledger.contacts.actions import contacts, subscriptions
from postledger.contacts.models import ConsentEvent, Contact, Subscription
from postledger.imports.models import Import
from postledger.web.dashboard.audience import words
from tests.contacts import people
from tests.imports import files
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


def test_whom_mail_to_all_reaches_and_whom_not_is_said_of_those_that_stay_off_the_list(
    olivia: Person,
) -> None:
    people.news(olivia.workspace_id)
    content = b"email,DOUBLE_OPT-IN\nno@example.com,No\nriddle@example.com,?\nyes@example.com,Yes\n"

    number = bring(olivia, content)
    page = try_out(olivia, number, list="news")
    left = try_out(olivia, bring(olivia, STATES), list="news")

    unreached, reached = "no campaign reaches them, also none", "A campaign to all contacts still"
    assert f"{reached} reaches 1 of them, whose state" in page
    assert "1 of them was not subscribed in your old tool, or had not confirmed there." in page
    assert unreached in page
    assert unreached not in left
    assert reached not in left
    olivia.post(f"imports/{number}/start/", list="news")
    uploads.work()
    no = Contact.objects.get(address="no@example.com")
    assert "An import brought them as not confirmed." in olivia.read(f"contacts/{no.pk}/")


def test_a_status_that_becomes_an_attribute_is_asked_about(olivia: Person) -> None:
    number = bring(olivia, STATES.replace(b"Status", b"Newsletter"))
    assert olivia.read(f"imports/{number}/").count(HINT) == 1

    page = try_out(olivia, number, **{"target-1": "old_state"})

    assert HINT not in page


def test_a_column_that_says_who_left_is_proposed_by_its_name_with_its_meaning(
    olivia: Person,
) -> None:
    content = b"email,optout_time,Opt-in,OPTIN_TIME,Newsletter\nann@x.com,,1,,abgemeldet\n"
    page = olivia.read(f"imports/{bring(olivia, content)}/")

    assert page.count('value="old_state" selected') == 3
    opt_out, consent = "Yes or a date: unsubscribed", "No: unsubscribed in your old tool"
    moment = "Yes, a date or empty: may be mailed"
    assert 0 < page.index(opt_out) < page.index(consent) < page.index(moment) < page.index(HINT)
    assert page.count(HINT) == 1


def test_dates_and_numbers_are_proposed_as_they_can_be_read_and_asked_about_if_unclear(
    olivia: Person,
) -> None:
    content = b'email,Added time,born,gave\nann@example.com,26-12-2024,03/04/1990,"35,50"\n'
    number = bring(olivia, content)
    proposed = olivia.read(f"imports/{number}/")
    settings = {"target-1": "day_first", "key-1": "added_time"}

    unclear = try_out(olivia, number, **settings, **{"target-2": "attribute"})
    try_out(olivia, number, **settings, **{"target-2": "month_first"})
    olivia.post(f"imports/{number}/start/")
    uploads.work()

    for name, form in (("target-1", "day_first"), ("target-3", "decimal_comma")):
        assert re.search(rf'name="{name}"[^>]*>.*?value="{form}" selected', proposed)
    assert "Cells of born that look like dates, and are stored as texts: 1." in unclear
    stored = {"added_time": "2024-12-26", "born": "1990-03-04", "gave": "35.50"}
    assert Contact.objects.get().attributes == stored


def test_who_stays_off_the_list_is_told_beside_what_an_import_cannot_know(olivia: Person) -> None:
    people.news(olivia.workspace_id)
    people.member(olivia.workspace_id, "left@example.com")
    people.leave(olivia.workspace_id, "left@example.com", "news")
    number = bring(olivia, STATES)

    page = try_out(olivia, number, **{"target-1": "-", "list": "news"})

    assert "1 person stays off the list." in page
    assert UNKNOWING in page
    assert UNKNOWING in olivia.read("imports/")


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


def test_who_left_every_list_and_would_be_on_one_again_is_told(olivia: Person) -> None:
    workspace_id = olivia.workspace_id
    people.news(workspace_id)
    people.news(workspace_id, "spring")
    for name in ("back", "gone", "stays", "here"):
        contact_id = people.member(workspace_id, f"{name}@example.com")
        if name == "stays":
            people.subscribe(workspace_id, contact_id, "spring")
        if name != "here":
            people.leave(workspace_id, f"{name}@example.com", "news")
        if name == "gone":
            contacts.delete_contact(workspace_id, contact_id=contact_id, actor="a", now=people.NOW)
    rows = "".join(f"{name}@example.com\n" for name in ("back", "gone", "stays", "here", "new"))
    content = f"email\n{rows}".encode()

    again = try_out(olivia, bring(olivia, content), new_list="Summer", list="")
    same = try_out(olivia, bring(olivia, content), list="news")

    said = again.partition('id="own-choices"')[2].partition("</div>")[0]
    assert "2 people of the file had left every list they were on here." in said
    assert re.findall(r">(\w+)@example.com</a>", said) == ["back"]
    assert "had left every list" not in same


def test_rows_to_look_at_are_refused_ones_first_with_their_total(
    olivia: Person,
) -> None:
    people.bounce(olivia.workspace_id, "gone@example.com")
    rows = "gone@example.com,en\nann@example.com,Klingonisch\n" + "nobody,\n" * 16
    rows += "bob@example.com,Elvish\n" * 2
    number = bring(olivia, f"email,language\n{rows}".encode())

    page = try_out(olivia, number, new_list="Readers")

    problems = page.partition('id="problems"')[2]
    shown = [int(row) for row in re.findall(r'<tr><td class="n">(\d+)</td>', problems)]
    assert shown == [*range(4, 20), 3, 20, 21, 2]
    assert "then those that need no action" in problems
    assert "If several rows have the same address, the first row counts;" in page
    assert "Klingonisch" in problems


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


def test_an_import_that_would_change_nothing_is_not_what_the_page_proposes(olivia: Person) -> None:
    people.news(olivia.workspace_id)
    people.contact(olivia.workspace_id, "ann@example.com")

    number = bring(olivia, b"email\nann@example.com\n")
    as_it_is = try_out(olivia, number, list="")
    with_list = try_out(olivia, number, list="news")
    with_new = try_out(olivia, bring(olivia, b"email\nann@example.com\nnew@example.com\n"))

    proposes = re.compile(r'btn-primary" type="submit" form="settings" formaction="[^"]*/start/')
    assert not proposes.search(as_it_is)
    assert "/start/" in as_it_is
    assert proposes.search(with_list)
    assert "<b>2</b> contacts in the file: 1 new, 0 changed, 1 unchanged." in with_new


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


def test_the_history_says_what_an_import_meant_for_all_mail() -> None:
    stopped = "An import or a sync said that they get no mail."
    meant = {"active": "Was imported for all email.", "unsubscribed": stopped, None: stopped}

    for after, said in meant.items():
        assert words.describe_change(ConsentEvent(action="imported", after=after))[0] == said
