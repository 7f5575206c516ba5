"""A dry run says what an import would do, and changes nothing."""

from pathlib import Path
from typing import Any

import pytest
from django.db.models import Model

from postledger.contacts.actions import erasing
from postledger.contacts.details import Details
from postledger.contacts.models import ConsentEvent, Contact, Subscription
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
