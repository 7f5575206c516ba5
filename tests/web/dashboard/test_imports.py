"""Imports on the dashboard: from the file to the problems of its rows, by screens alone."""

import re
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils.translation import gettext, override

from postledger.contacts import lists
from postledger.contacts.models import Contact, List, Subscription
from postledger.contacts.states import SubscriptionState
from postledger.imports.models import Import, ImportState
from postledger.web.dashboard.audience import import_figures, import_words
from tests.contacts import people
from tests.imports import workbooks
from tests.web import uploads
from tests.web.dashboard.visitors import Person

pytestmark = pytest.mark.django_db

CONTENT = (
    b"Mail;First name;Land\n"
    b"ann@example.com;Ann;PT\n"
    b"left@example.com;Lea;PT\n"
    b"ANN@example.com;Ann;PT\n"
    b"nobody;Bob;\n"
)


def bring(who: Person, content: bytes = CONTENT, name: str = "people.csv", **fields: str) -> Any:
    file = SimpleUploadedFile(name, content)
    return who.client.post(who.url("imports/upload/"), {"file": file, **fields})


def bring_import(who: Person, content: bytes = CONTENT) -> int:
    """The number of the import."""
    return int(bring(who, content).headers["Location"].split("/")[-2])


CHOICES = {
    "target-0": "email",
    "target-1": "name",
    "target-2": "attribute",
    "key-2": "country",
}


def try_out(who: Person, number: int, **fields: str) -> Any:
    return who.post(f"imports/{number}/try/", **{**CHOICES, "list": "news", **fields})


def test_a_file_is_uploaded_mapped_tried_and_imported(olivia: Person) -> None:
    people.news(olivia.workspace_id)
    left = people.member(olivia.workspace_id, "left@example.com")
    people.leave(olivia.workspace_id, "left@example.com", "news")

    number = bring_import(olivia)
    page = olivia.read(f"imports/{number}/")
    assert "ann@example.com, left@example.com" in page
    hint = "These look like states of people in your old tool."
    assert hint not in page
    states = bring_import(olivia, b"email,Club\nann@example.com,unsubscribed\n")
    assert hint in olivia.read(f"imports/{states}/")
    assert re.search(r'name="target-0"[^>]*>.*?value="email" selected', page)
    assert 'name="key-2" value="land"' in page

    try_out(olivia, number)
    uploads.work()
    page = olivia.read(f"imports/{number}/live/")
    for told in (
        "1 person stays off the list",
        "Unsubscribed before",
        ">left@example.com</a>",
        "<b>1</b> would join News.",
        "ANN@example.com",
        "This is not an email address.",
        "Import 2 contacts",
    ):
        assert told in page
    assert not Contact.objects.filter(name="Ann").exists()

    olivia.post(f"imports/{number}/start/", list="news")
    assert "hx-get" in olivia.read(f"imports/{number}/")
    uploads.work()
    page = olivia.read(f"imports/{number}/")
    assert "Every row is accounted for" in page
    assert "1 subscribed to News, 1 kept off it." in page
    assert f'href="{olivia.url("contacts/")}?list=news"' in page
    assert "hx-trigger" not in page.partition('id="live"')[2]
    ann = Contact.objects.get(address="ann@example.com")
    assert (ann.name, ann.attributes) == ("Ann", {"country": "PT"})
    assert people.subscription(left) is SubscriptionState.UNSUBSCRIBED

    problems = b"".join(olivia.get(f"imports/{number}/problems.csv").streaming_content).decode()
    assert "This is not an email address." in problems
    assert "ann@example.com" not in problems.lower()
    assert "people.csv" in olivia.read("imports/")


def test_choices_that_were_not_tried_are_not_imported_and_the_page_says_so(
    olivia: Person,
) -> None:
    people.news(olivia.workspace_id)
    number = bring_import(olivia)
    try_out(olivia, number, list="")
    uploads.work()

    for name, value in (
        ("list", "news"),
        ("target-1", "-"),
        ("key-2", "land"),
        ("new_list", "Readers"),
    ):
        changed = {**CHOICES, "list": "", name: value}
        answer = olivia.post(f"imports/{number}/start/", **changed)
        page = answer.content.decode()

        assert answer.status_code == 422, name
        assert "are not those of the dry run" in page, name
        assert "Import 2 contacts" not in page, name
        assert f'value="{value}"' in page, name
    assert Import.objects.get().state == ImportState.UPLOADED


def test_nothing_is_imported_without_a_dry_run_of_its_columns(olivia: Person) -> None:
    people.news(olivia.workspace_id)
    number = bring_import(olivia)
    fields = {**CHOICES, "list": "news"}

    never = olivia.post(f"imports/{number}/start/", **fields)
    try_out(olivia, number)
    moving = olivia.client.post(olivia.url(f"imports/{number}/start/"), fields, follow=True)
    lists.archive_list(olivia.workspace_id, key="news", actor="a")
    uploads.work()
    lists.restore_list(olivia.workspace_id, key="news", actor="a")
    failed = olivia.post(f"imports/{number}/start/", **fields)

    for answer in (never, failed):
        assert answer.status_code == 422
        assert "There is no dry run of these columns" in answer.content.decode()
    assert "Wait for the dry run" in moving.content.decode()
    assert Import.objects.get().state == ImportState.UPLOADED
    assert 'value="country"' in failed.content.decode()


def test_a_new_list_is_made_when_the_import_starts_and_by_no_dry_run(olivia: Person) -> None:
    number = bring_import(olivia)
    refused = try_out(olivia, number, list="", new_list="Readers", **{"target-0": "-"})
    assert 'value="Readers"' in refused.content.decode()
    try_out(olivia, number, list="", new_list="Readers")
    uploads.work()
    assert "<b>2</b> would join Readers." in olivia.read(f"imports/{number}/")
    assert not List.objects.exists()

    lists.create_list(olivia.workspace_id, key="others", name="readers", actor="test")
    taken = olivia.client.post(olivia.url(f"imports/{number}/start/"), follow=True)
    List.objects.update(name="Others")
    olivia.post(f"imports/{number}/start/", list="", new_list="Readers")
    again = olivia.client.post(olivia.url(f"imports/{number}/start/"), follow=True)
    uploads.work()

    assert "There is a list &#x27;readers&#x27; already." in taken.content.decode()
    assert "running: wait for it" in again.content.decode()
    assert Import.objects.get().list == List.objects.get(key="readers", name="Readers")
    assert "2 subscribed to Readers" in olivia.read(f"imports/{number}/")


def test_a_new_list_that_cannot_be_is_refused_beside_its_field(olivia: Person) -> None:
    people.news(olivia.workspace_id)
    lists.create_list(olivia.workspace_id, key="old", name="Old", actor="test")
    lists.archive_list(olivia.workspace_id, key="old", actor="test")
    number = bring_import(olivia)

    for list_key, new_list, words in (
        ("news", "Readers", "not both"),
        ("", "NEWS", "There is a list &#x27;News&#x27; already."),
        ("", "old", "There is an archived list &#x27;Old&#x27;."),
        ("", "x" * 101, "cannot be the name of a list"),
    ):
        answer = try_out(olivia, number, list=list_key, new_list=new_list)
        _before, _field, after = answer.content.decode().partition('aria-describedby="list-error"')

        assert answer.status_code == 422, new_list
        assert words in after.partition("</span>")[0]
    assert Import.objects.get().state == ImportState.UPLOADED


def test_a_column_can_be_left_out_and_the_dry_run_repeated(olivia: Person) -> None:
    number = bring_import(olivia)
    for fields in ({}, {"target-1": "-", "target-2": "-"}):
        try_out(olivia, number, list="", **fields)
        uploads.work()
    olivia.post(f"imports/{number}/start/")
    uploads.work()

    ann = Contact.objects.get(address="ann@example.com")
    assert (ann.name, ann.attributes) == ("", {})


def test_a_refused_mapping_is_told_in_the_words_of_the_page_and_keeps_the_choices(
    olivia: Person,
) -> None:
    number = bring_import(olivia)

    for fields, words in (
        ({"target-0": "-"}, "Choose “Address” beside the one that does."),
        ({"target-1": "email"}, "&#x27;First name&#x27; become the same: Address. Choose"),
        ({"target-1": "attribute", "key-1": "land"}, "the same: Attribute “land”."),
        ({"key-2": " "}, "&#x27;&#x27; cannot be the name of an attribute"),
    ):
        answer = try_out(olivia, number, list="", **{"key-2": "land", **fields})
        page = answer.content.decode()

        assert answer.status_code == 422, fields
        assert words in page
        if "key-2" not in fields:
            assert 'value="land"' in page, fields
        for word in ("mapped", "mapping", "attributes.", "--map"):
            assert word not in page, fields
    assert Import.objects.get().state == ImportState.UPLOADED


def test_every_form_that_the_page_rewords_is_one_that_a_service_says() -> None:
    with override("ru"):
        assert [form for form in import_words.FORMS if gettext(form) == form] == []


def test_a_workbook_is_read_too(olivia: Person) -> None:
    answer = bring(olivia, workbooks.make_workbook(), name="people.xlsx", sheet="Others")

    assert "r2@example.com" in olivia.client.get(answer.headers["Location"]).content.decode()
    assert Import.objects.get().byte_count == len(workbooks.make_workbook())


def test_a_file_that_cannot_be_read_says_why(olivia: Person) -> None:
    for content, words in (
        (b"", "The file is empty"),
        (b"%PDF-1.7\n", "This is no CSV file and no workbook, but a PDF file."),
        (b'email\n"a', "quote"),
        (b"ann@example.com;Ann\nbob@example.com;Bob\n", "The first row looks like a contact:"),
        (b"email;name\n", "no row below them"),
    ):
        answer = bring(olivia, content)

        assert answer.status_code == 422, content
        assert words in answer.content.decode()
    assert not Import.objects.exists()


def test_abandoning_asks_first_and_deletes_the_file(olivia: Person) -> None:
    number = bring_import(olivia)

    assert "The file is deleted here." in olivia.read(f"imports/{number}/abandon/")
    olivia.post(f"imports/{number}/abandon/")

    assert Import.objects.get().state == ImportState.ABANDONED
    assert "Cancelled" in olivia.read(f"imports/{number}/")
    again = olivia.client.post(olivia.url(f"imports/{number}/start/"), follow=True)
    assert "upload the file again" in again.content.decode()


def test_the_kinds_of_rows_add_up_to_the_bar() -> None:
    counts = {"created": 62, "updated": 1, "unchanged": 0, "duplicates": 1, "refused": 1}

    rows = import_figures.sum_rows(66, counts | {"blank": 1})

    assert rows.balances
    assert sum(float(kind.width) for kind in rows.kinds) == pytest.approx(100, abs=0.1)
    assert not import_figures.sum_rows(67, counts | {"blank": 1}).balances


def test_a_status_is_proposed_as_the_state_in_the_old_tool_and_ends_mail(olivia: Person) -> None:
    people.news(olivia.workspace_id)
    states = b"Mail,Status\nann@example.com,subscribed\nleft@example.com,unsubscribed\n"
    number = bring_import(olivia, states + b"gone@example.com,cleaned\n")
    assert 'value="old_state" selected' in olivia.read(f"imports/{number}/")

    olivia.post(f"imports/{number}/try/", list="news")
    uploads.work()
    page = olivia.read(f"imports/{number}/")

    assert "2 people stay off the list." in page
    assert re.search(r"Unsubscribed in the old tool</dt><dd>1<", page)
    assert re.search(r"Bounced in the old tool</dt><dd>1<", page)
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


def test_the_rows_of_a_dry_run_are_a_file_until_they_are_of_another_one(olivia: Person) -> None:
    def read_file() -> list[str]:
        answer = olivia.get(f"imports/{number}/problems.csv")
        return b"".join(answer.streaming_content).decode().splitlines()[1:]

    number = bring_import(olivia, b"email,Born\n" + b"nobody,1\n" * 21 + b"ann@example.com,2\n")

    olivia.post(f"imports/{number}/try/")
    uploads.work()
    page, first = olivia.read(f"imports/{number}/"), read_file()
    olivia.post(f"imports/{number}/try/", **{"target-0": "email"})
    moving = read_file()
    uploads.work()
    olivia.post(f"imports/{number}/start/")
    started = read_file()
    uploads.work()

    assert "The first 20 of 21; the file has the others, too." in page
    assert f'href="{olivia.url(f"imports/{number}/problems.csv")}"' in page
    assert (len(first), moving, started, len(read_file())) == (21, [], [], 21)
