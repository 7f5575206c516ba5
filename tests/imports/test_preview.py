"""A dry run says what an import would do, and changes nothing."""

from pathlib import Path
from typing import Any

import pytest
from django.db.models import Model

from postledger.contacts.actions import erasing
from postledger.contacts.details import Changes, Details
from postledger.contacts.models import ConsentEvent, Contact, Subscription
from postledger.imports import preview
from postledger.imports.models import Import
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


def test_somebody_who_is_deleted_after_the_trial_is_no_sample() -> None:
    contact = {"pk": 1, "address": R1, "name": "Ann", "from_name": None, "locale": None}
    contact |= {"time_zone": None, "attributes": {}, "ocd_ids": []}
    before = {1: contact}
    after = {1: contact | {"name": "Anna"}, 2: contact | {"pk": 2, "name": "Bob"}}

    samples, changes = preview.describe_samples({1: 2, 2: 3}, before, after)

    assert samples == ["row 2, r***@example.com: name: 'Ann' → 'Anna'"]
    assert [change.contact_id for change in changes] == [1]


def test_a_dry_run_refuses_who_was_erased(peopled_acme: int, tmp_path: Path) -> None:
    erasing.erase(peopled_acme, address="r3@example.com", actor="bob", now=people.NOW)

    summary, kept = files.preview_file(
        peopled_acme, files.write_file(tmp_path, CONTENT), list_key="news"
    )

    assert (summary.created, summary.updated, summary.unchanged, summary.refused) == (0, 1, 2, 2)
    assert (summary.subscribed, summary.kept_back) == (1, {"bounced": 1})
    assert "This person asked to be erased, and is not imported." in summary.reasons
    assert [(problem.row, problem.value) for problem in kept if "erased" in problem.problem] == [
        (4, "")
    ]


def test_a_dry_run_names_the_rows_that_make_a_second_contact_of_somebody(
    acme: int, globex: int, tmp_path: Path
) -> None:
    for address in ("old@example.com", "gone@example.com", "late@example.com"):
        contact_id = people.contact(acme, address)
        changes = Changes(address=f"new-{address}")
        people.change(acme, contact_id, changes)
        if address == "gone@example.com":
            people.delete(acme, contact_id)
    people.contact(acme, "late@example.com")  # a second contact already
    rows = "r@example.com\nOLD@example.com\ngone@example.com\nlate@example.com\n"
    path = files.write_file(tmp_path, f"email\n{rows}")

    [problem] = files.preview_file(acme, path)[1]

    assert (problem.row, problem.column) == (3, "email")
    assert "The row makes a second contact" in problem.remedy
    assert files.preview_file(globex, path)[1] == []


@pytest.mark.parametrize("erased", ["r3@example.com", "r9@example.com"])
def test_an_import_does_what_its_dry_run_said(
    peopled_acme: int, tmp_path: Path, erased: str
) -> None:
    erasing.erase(peopled_acme, address=erased, actor="bob", now=people.NOW)
    path = files.write_file(tmp_path, CONTENT)
    summary, _ = files.preview_file(peopled_acme, path, list_key="news")

    done = files.import_file(peopled_acme, path, list_key="news")

    for name in ("done", "created", "updated", "unchanged", "duplicates", "refused", "blank"):
        assert getattr(done, name) == getattr(summary, name), name
    assert done.subscribed == summary.subscribed
    assert done.kept_back == summary.kept_back.total()
