"""Imports on the dashboard: from the file to the problems of its rows, by screens alone."""

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils.translation import gettext, override

from postledger.accounts.people.roles import Role
from postledger.contacts import lists
from postledger.contacts.models import Contact, List
from postledger.contacts.states import SubscriptionState
from postledger.imports import preview, running
from postledger.imports.columns import IGNORED
from postledger.imports.models import Import, ImportState
from postledger.privacy import erasure
from postledger.web.dashboard.audience import import_columns, import_figures, import_words
from tests.contacts import people
from tests.imports import files, workbooks
from tests.web import uploads
from tests.web.dashboard import visitors
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


def bring_import(who: Person) -> int:
    """The number of the import."""
    return int(bring(who).headers["Location"].split("/")[-2])


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
    people.news(olivia.workspace_id)
    number = bring_import(olivia)

    refused = try_out(olivia, number, list="", new_list="Readers", **{"target-0": "-"})
    assert 'value="Readers"' in refused.content.decode()
    for _again in range(2):
        try_out(olivia, number, list="", new_list="Readers")
        uploads.work()

    page = olivia.read(f"imports/{number}/")
    assert "<b>2</b> would join Readers." in page
    assert 'value="Readers"' in page
    assert [one.key for one in List.objects.all()] == ["news"]

    olivia.post(f"imports/{number}/start/", list="", new_list="Readers")
    again = olivia.client.post(olivia.url(f"imports/{number}/start/"), follow=True)
    uploads.work()

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


def test_a_list_that_took_the_name_meanwhile_stops_the_start(olivia: Person) -> None:
    number = bring_import(olivia)
    try_out(olivia, number, list="", new_list="Readers")
    uploads.work()
    lists.create_list(olivia.workspace_id, key="others", name="readers", actor="test")

    answer = olivia.client.post(olivia.url(f"imports/{number}/start/"), follow=True)

    assert "There is a list &#x27;readers&#x27; already." in answer.content.decode()
    assert Import.objects.get().state == ImportState.UPLOADED
    assert List.objects.count() == 1


def test_lists_of_one_name_are_offered_with_their_keys(olivia: Person) -> None:
    for key, name in (("leser", "Leser"), ("leser-2", "leser"), ("news", "News")):
        lists.create_list(olivia.workspace_id, key=key, name=name, actor="test")
    lists.create_list(olivia.workspace_id, key="old", name="News", actor="test")
    lists.archive_list(olivia.workspace_id, key="old", actor="test")
    number = bring_import(olivia)

    for path in (f"imports/{number}/", "contacts/", "suppressions/"):
        page = olivia.read(path)
        assert ">Leser (leser)</option>" in page
        assert ">leser (leser-2)</option>" in page
        assert ">News</option>" in page
        assert 'value="old"' not in page
    assert ">News (old)</option>" in olivia.read("contacts/?list=old")


def test_a_column_proposes_a_key_that_letters_can_name() -> None:
    for name, known, key in (
        ("City", [], "city"),
        ("Postal code (new)", [], "postal_code_new"),
        ("CITY", ["City"], "City"),
        ("Home-Town", ["home_town"], "home_town"),
        ("HomeTown", ["home_town"], "home_town"),
        ("home town", ["Home-Town"], "Home-Town"),
        ("City", ["CITY", "City", "city"], "City"),
        ("attributes.City", ["city"], "City"),
        ("Sócio desde", [], "socio_desde"),
        ("Sócio desde", ["sócio_desde"], "sócio_desde"),
        ("Город", [], "город"),
        ("Район", [], "район"),
        ("%", [], "%"),
    ):
        upload = {"header": ["Mail", name], "rows": []}

        [_mail, choice] = import_columns.list_choices(upload, {}, known_keys=known)

        proposed = (choice.target, choice.key)
        assert proposed == (import_columns.AN_ATTRIBUTE, key), (name, known)


def test_a_column_that_was_left_out_has_the_key_that_contacts_have_beside_it() -> None:
    upload, mapping = {"header": ["Mail", "Home town"], "rows": []}, {"Mail": "email"}

    [_mail, choice] = import_columns.list_choices(upload, mapping, known_keys=["hometown"])

    assert (choice.target, choice.key) == (IGNORED, "hometown")


def test_two_columns_that_differ_in_case_keep_their_names_apart() -> None:
    upload = {"header": ["Mail", "City", "CITY"], "rows": []}

    choices = import_columns.list_choices(upload, {})

    assert [choice.key for choice in choices[1:]] == ["city", "CITY"]


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


def test_an_import_that_named_an_erased_person_says_so(olivia: Person) -> None:
    number = bring_import(olivia)
    erasure.erase(
        olivia.workspace_id, address="ann@example.com", actor="olivia", now=datetime.now(UTC)
    )

    page = olivia.read(f"imports/{number}/")

    assert "The file named a person who was erased, so it was deleted." in page
    assert "dry run failed" not in page


def test_a_file_without_a_usable_row_has_nothing_to_import(olivia: Person) -> None:
    answer = bring(olivia, b"Mail\nnobody\n")
    number = int(answer.headers["Location"].split("/")[-2])
    assert "1 row, UTF-8" in olivia.read(f"imports/{number}/")
    olivia.post(f"imports/{number}/try/", **{"target-0": "email"})
    uploads.work()

    page = olivia.read(f"imports/{number}/")

    assert "<b>0</b> contacts in the file" in page
    assert "/start/" not in page


def test_who_may_only_read_sees_what_each_column_becomes_and_no_buttons(olivia: Person) -> None:
    number = bring_import(olivia)
    try_out(olivia, number, **{"target-1": IGNORED, "list": ""})
    uploads.work()
    vera = visitors.sign_in(olivia.workspace_id, Role.VIEWER, name="Vera")

    for path in (f"imports/{number}/", "imports/"):
        content = vera.read(path).partition("<main")[2]
        assert "people.csv" in content
        assert "<button" not in content
    page = vera.read(f"imports/{number}/").partition('id="columns"')[2].partition("</table>")[0]
    told = re.findall(r'<td role="cell" class="full">(.*?)</td>', page)
    assert told == ["Address", "Leave out", "Attribute “country”"]


def test_an_import_of_the_command_line_is_left_to_the_operator_without_a_command(
    olivia: Person, tmp_path: Path
) -> None:
    path = files.write_file(tmp_path, CONTENT)
    started = running.start_import(
        olivia.workspace_id, path, mapping=files.NOTHING, list_key=None, actor="alice"
    )

    page = olivia.read(f"imports/{started.id}/")

    assert "It was started on the server, and nobody works on it." in page
    assert "postledger contacts resume" not in page


def test_a_changed_contact_is_shown_field_by_field() -> None:
    before = {"pk": 1, "address": "ann@example.com", "name": "ann", "from_name": None}
    before |= {"locale": "en", "time_zone": None, "attributes": {"plan": "basic"}, "ocd_ids": []}
    after = before | {"name": "Ann", "attributes": {"plan": "plus", "age": 7}}

    changes = preview.list_changes(2, before, after)

    assert [(change.field, change.before, change.after) for change in changes] == [
        ("age", "", "7"),
        ("name", "ann", "Ann"),
        ("plan", "basic", "plus"),
    ]
    assert changes[0].address == "a***@example.com"


def test_the_kinds_of_rows_add_up_to_the_bar() -> None:
    counts = {"created": 62, "updated": 1, "unchanged": 0, "duplicates": 1, "refused": 1}

    rows = import_figures.sum_rows(66, counts | {"blank": 1})

    assert rows.balances
    assert sum(float(kind.width) for kind in rows.kinds) == pytest.approx(100, abs=0.1)
    assert not import_figures.sum_rows(67, counts | {"blank": 1}).balances
