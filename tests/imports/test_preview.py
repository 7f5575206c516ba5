"""A dry run says what an import would do, and changes nothing."""

from pathlib import Path
from typing import Any

import pytest
from django.db.models import Model

from postledger.contacts.actions import erasing, subscriptions
from postledger.contacts.details import Changes, Details
from postledger.contacts.models import ConsentEvent, Contact, Subscription
from postledger.imports.models import Import
from postledger.imports.remarks import OwnChoice
from tests.contacts import people
from tests.contacts.people import R1
from tests.imports import files

pytestmark = pytest.mark.django_db

CONTENT = (
    "email,name,city\n"
    f"{R1},Ann,Ohio\n"
    "r2@example.com,Bob,\n"
    "r3@example.com,New,\n"
    "R3@example.com,Twice,\n"
    "nobody,,\n"
    "\n"
    "r4@example.com,,\n"
)


@pytest.fixture
def peopled_acme(acme: int) -> int:
    people.news(acme)
    people.member(acme, "r2@example.com")
    Contact.objects.update(name="Bob")
    people.contact(acme, details=Details(name="Anna", attributes={"city": "Ohio"}))
    people.contact(acme, "r4@example.com")
    people.bounce(acme, "r4@example.com")
    return acme


def test_a_dry_run_tells_each_kind_of_row_and_changes_nothing(
    peopled_acme: int, tmp_path: Path
) -> None:
    def rows() -> list[list[Any]]:
        tables: tuple[type[Model], ...] = (Contact, Subscription, ConsentEvent)
        return [list(table._default_manager.values()) for table in tables]

    before = rows()
    summary, kept = files.preview_file(
        peopled_acme, files.write_file(tmp_path, CONTENT), list_key="news"
    )

    assert (summary.created, summary.updated, summary.unchanged) == (1, 1, 2)
    assert (summary.duplicates, summary.refused, summary.blank, summary.done) == (1, 1, 1, 7)
    assert (summary.subscribed, summary.kept_back) == (2, {"bounced": 1})
    assert summary.samples == ["row 2, r***@example.com: name: 'Anna' → 'Ann'"]
    assert summary.reasons == {"This is not an email address.": 1}
    assert [problem.row for problem in kept] == [5, 6, 8]
    assert rows() == before
    assert not Import.objects.exists()


def test_an_import_does_what_its_dry_run_said_also_of_who_was_erased(
    peopled_acme: int, tmp_path: Path
) -> None:
    erasing.erase(peopled_acme, address="r3@example.com", actor="bob", now=people.NOW)
    path = files.write_file(tmp_path, CONTENT)
    summary, _ = files.preview_file(peopled_acme, path, list_key="news")

    done = files.import_file(peopled_acme, path, list_key="news")

    assert (summary.created, summary.refused, summary.subscribed) == (0, 2, 1)
    for name in ("done", "created", "updated", "unchanged", "duplicates", "refused", "blank"):
        assert getattr(done, name) == getattr(summary, name), name
    assert done.subscribed == summary.subscribed
    assert done.kept_back == summary.kept_back.total()


def test_what_people_chose_here_themselves_is_told(acme: int, tmp_path: Path) -> None:
    people.news(acme)
    for name in ("ann", "left", "gone"):
        contact_id = people.contact(acme, f"{name}@example.com")
        people.ask(acme, contact_id)
        people.act(subscriptions.confirm, acme, contact_id)
    people.member(acme, "bob@example.com")
    people.leave(acme, "left@example.com", "news")
    rows = "".join(f"{name}@example.com\n" for name in ("ann", "bob", "left", "gone", "new"))
    plain = files.write_file(tmp_path, f"email\n{rows}")
    ending = files.write_file(tmp_path, "email,status\ngone@example.com,unsubscribed\n", "e.csv")

    for path, choices in (
        (plain, {OwnChoice.CONFIRMED: 2, OwnChoice.LEFT: 1}),
        (ending, {OwnChoice.ENDED: 1}),
    ):
        assert files.preview_file(acme, path, list_key="news")[0].own_choices == choices


def test_who_left_every_list_and_would_be_on_one_again_is_told(acme: int, tmp_path: Path) -> None:
    for key in ("news", "spring", "summer"):
        people.news(acme, key)
    for name in ("back", "gone", "stays", "here"):
        contact_id = people.member(acme, f"{name}@example.com")
        if name == "stays":
            people.subscribe(acme, contact_id, "spring")
        if name != "here":
            people.leave(acme, f"{name}@example.com", "news")
        if name == "gone":
            people.delete(acme, contact_id)
    rows = "".join(f"{name}@example.com\n" for name in ("gone", "back", "stays", "here", "new"))
    path = files.write_file(tmp_path, f"email\n{rows}")

    again, _ = files.preview_file(acme, path, list_key="summer")
    same, _ = files.preview_file(acme, path, list_key="news")

    assert again.own_choices[OwnChoice.RETURNING] == 2
    assert OwnChoice.RETURNING not in same.own_choices


def test_a_dry_run_names_the_rows_that_make_a_second_contact_of_somebody(
    acme: int, globex: int, tmp_path: Path
) -> None:
    for name in ("old", "gone", "late"):
        contact_id = people.contact(acme, f"{name}@example.com")
        people.change(acme, contact_id, Changes(address=f"new-{name}@example.com"))
        if name == "gone":
            people.delete(acme, contact_id)
    people.contact(acme, "late@example.com")  # a second contact already
    rows = "r@example.com\nOLD@example.com\ngone@example.com\nlate@example.com\n"
    path = files.write_file(tmp_path, f"email\n{rows}")

    [problem] = files.preview_file(acme, path)[1]

    assert (problem.row, problem.column) == (3, "email")
    assert "The row makes a second contact" in problem.remedy
    assert files.preview_file(globex, path)[1] == []
