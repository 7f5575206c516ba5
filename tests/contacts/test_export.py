"""What is exported can be imported again, and no spreadsheet executes it."""

import csv
import io
from pathlib import Path

import pytest

from postledger.contacts import export
from postledger.contacts.details import Details
from postledger.contacts.lists import ListUnknownError
from postledger.contacts.models import Contact
from tests.contacts import people
from tests.contacts.people import R1
from tests.imports import files

pytestmark = pytest.mark.django_db

KNOWN = Details(
    name='=HYPERLINK("x")',
    from_name="-Herald",
    locale="pt-BR",
    time_zone="Europe/Lisbon",
    attributes={"city": "@Porto", "name": "alias", "first_name": "Z", "with;sign": "a\nb"},
    ocd_ids=("ocd-division/country:pt", "ocd-division/country:us"),
)


def export_contacts(workspace_id: int, *, list_key: str | None = None, is_raw: bool = False) -> str:
    file = io.StringIO()
    export.write(workspace_id, file, list_key=list_key, is_raw=is_raw)
    return file.getvalue()


def cells(text: str) -> list[str]:
    return [cell for row in csv.reader(io.StringIO(text)) for cell in row]


def test_no_cell_begins_like_a_formula(acme: int) -> None:
    people.contact(acme, "+r1@example.com", KNOWN)
    people.contact(acme, "r2@example.com", Details(attributes={"=key": "x", "+k": "-1"}))

    all_cells = cells(export_contacts(acme))

    assert not [cell for cell in all_cells if cell.startswith(("=", "+", "-", "@", "\t", "\r"))]
    assert "'+r1@example.com" in all_cells


def test_a_raw_export_leaves_everything_as_it_is(acme: int) -> None:
    people.contact(acme, "+r1@example.com", KNOWN)

    all_cells = cells(export_contacts(acme, is_raw=True))

    assert {"+r1@example.com", '=HYPERLINK("x")', "@Porto"} <= set(all_cells)


@pytest.mark.parametrize("is_raw", [False, True])
def test_an_export_can_be_imported_elsewhere(
    acme: int, globex: int, tmp_path: Path, *, is_raw: bool
) -> None:
    people.contact(acme, "+r1@example.com", KNOWN)
    people.contact(acme, "r2@example.com")
    path = files.write_file(tmp_path, export_contacts(acme, is_raw=is_raw))

    files.import_file(globex, path)

    names = ("address", "name", "from_name", "locale", "time_zone", "attributes", "ocd_ids")
    contacts = Contact.objects.order_by("address")
    assert list(contacts.filter(workspace_id=globex).values_list(*names)) == list(
        contacts.filter(workspace_id=acme).values_list(*names)
    )


def test_an_export_of_a_list_has_those_who_get_its_mail(acme: int) -> None:
    people.news(acme)
    people.member(acme)
    people.contact(acme, "not-on-it@example.com")
    people.member(acme, "left@example.com")
    people.leave(acme, "left@example.com", "news")
    people.member(acme, "bounced@example.com")
    people.bounce(acme, "bounced@example.com")

    rows = export_contacts(acme, list_key="news").splitlines()

    assert [row.partition(",")[0] for row in rows] == ["email", R1]


def test_another_workspace_is_not_exported(acme: int, globex: int) -> None:
    people.contact(globex)
    people.news(globex)

    assert export_contacts(acme).splitlines() == [
        "email,name,from_name,locale,time_zone,ocd_ids,external_id"
    ]
    with pytest.raises(ListUnknownError):
        export_contacts(acme, list_key="news")
