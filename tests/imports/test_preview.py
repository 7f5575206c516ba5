"""A dry run says what an import would do, and changes nothing."""

from pathlib import Path

import pytest

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
PLACE = "ocd-division/country:us/state:"


@pytest.fixture
def known(acme: int) -> int:
    people.news(acme)
    people.member(acme, "r2@example.com")
    Contact.objects.update(name="Bob")
    people.contact(acme, details=Details(name="Anna", attributes={"city": "Ohio"}))
    people.contact(acme, "r4@example.com")
    people.bounce(acme, "r4@example.com")
    return acme


def test_a_dry_run_tells_each_kind_of_row(known: int, tmp_path: Path) -> None:
    found, kept = files.previewed(known, files.made(tmp_path, CONTENT), list_key="news")

    assert (found.created, found.updated, found.unchanged) == (1, 1, 2)
    assert (found.duplicates, found.refused, found.blank, found.done) == (1, 1, 1, 7)
    assert (found.subscribed, found.kept_back) == (2, {"bounced": 1})
    assert found.samples == ["row 2, r***@example.com: name: 'Anna' → 'Ann'"]
    assert found.reasons == {"This is not an email address.": 1}
    assert [problem.row for problem in kept] == [6, 5, 8]


def test_a_dry_run_changes_nothing(known: int, tmp_path: Path) -> None:
    before = [list(table.objects.values()) for table in (Contact, Subscription, ConsentEvent)]

    files.previewed(known, files.made(tmp_path, CONTENT), list_key="news")

    after = [list(table.objects.values()) for table in (Contact, Subscription, ConsentEvent)]
    assert after == before
    assert not Import.objects.exists()


def test_a_dry_run_refuses_who_was_forgotten(known: int, tmp_path: Path) -> None:
    erasing.erase(known, address="r3@example.com", actor="bob", now=people.NOW)

    found, kept = files.previewed(known, files.made(tmp_path, CONTENT), list_key="news")

    assert (found.created, found.updated, found.unchanged, found.refused) == (0, 1, 2, 2)
    assert (found.subscribed, found.kept_back) == (1, {"bounced": 1})
    assert "This person asked to be erased, and is not imported." in found.reasons
    assert [(one.row, one.value) for one in kept if "erased" in one.problem] == [(4, "")]


def test_a_dry_run_tells_which_places_would_change(known: int, tmp_path: Path) -> None:
    Contact.objects.update(ocd_ids=[f"{PLACE}oh"])
    rows = f"{R1},{PLACE}oh\nr2@example.com,{PLACE}tx\nr4@example.com,\n"

    found, _ = files.previewed(known, files.made(tmp_path, f"email,ocd_ids\n{rows}"))

    assert (found.updated, found.unchanged) == (1, 2)
    assert found.samples == [f"row 3, r***@example.com: ocd_ids: ['{PLACE}oh'] → ['{PLACE}tx']"]


@pytest.mark.parametrize("forgotten", ["r3@example.com", "r9@example.com"])
def test_an_import_does_what_its_dry_run_said(known: int, tmp_path: Path, forgotten: str) -> None:
    erasing.erase(known, address=forgotten, actor="bob", now=people.NOW)
    path = files.made(tmp_path, CONTENT)
    found, _ = files.previewed(known, path, list_key="news")

    done = files.imported(known, path, list_key="news")

    for name in ("done", "created", "updated", "unchanged", "duplicates", "refused", "blank"):
        assert getattr(done, name) == getattr(found, name), name
    assert done.subscribed == found.subscribed
    assert done.kept_back == found.kept_back.total()
