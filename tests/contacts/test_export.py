"""What is exported can be imported again, and no spreadsheet executes it."""

import csv
import io
from itertools import product
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postledger.contacts import csv_columns, export
from postledger.contacts.actions import suppression
from postledger.contacts.details import Details
from postledger.contacts.lists import ListUnknownError
from postledger.contacts.models import ConsentEvent, Contact
from postledger.contacts.states import SuppressionReason
from tests.contacts import people
from tests.contacts.people import R1
from tests.imports import files

pytestmark = pytest.mark.django_db

KNOWN = Details(
    name='=HYPERLINK("x")',
    from_name="-Herald",
    locale="pt-BR",
    time_zone="Europe/Lisbon",
    attributes={
        "city": "@Porto",
        "name": "alias",
        "first_name": "Z",
        "with;sign": "a\nb",
        "state": "Ohio",
        "opt_in": "by phone",
        "postledger_state": "mine",
    },
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

    exported = export_contacts(acme)

    all_cells = cells(exported)
    assert exported.startswith('"email","name",')
    assert not [cell for cell in all_cells if cell.startswith(("=", "+", "-", "@", "\t", "\r"))]
    assert "'+r1@example.com" in all_cells
    raw = set(cells(export_contacts(acme, is_raw=True)))
    assert {"+r1@example.com", '=HYPERLINK("x")', "@Porto"} <= raw


def test_an_export_has_at_most_a_thousand_attributes(acme: int) -> None:
    for number in range(10):
        attributes = {f"a{number}-{key}": "x" for key in range(100)}
        people.contact(acme, f"r{number}@example.com", Details(attributes=attributes))
    assert len(cells(export_contacts(acme))) == 11 * (1_000 + len(export.COLUMNS) + 3)

    people.contact(acme, "r10@example.com", Details(attributes={"one": "more"}))
    with pytest.raises(export.ExportTooWideError, match="Export fewer contacts"):
        export_contacts(acme)


PLANTED = [
    'x;=HYPERLINK("http://evil.example";"click")',
    "x\t=1+1",
    "x|@SUM(1)",
    "x; =1",
    'x;"=1+1',
    'x;""-1',
    "x\n=1+1",
    "\uff1dHYPERLINK(1)",
    "x;\uff0b1",
    "'=1",
    "x;'=1",
    "\t=1",
    "  -1",
]
SIGNS = ("=", "+", "-", "@", "\t", "\r", "\uff1d", "\uff0b", "\uff0d", "\uff20")


def test_no_reader_sees_a_formula_begin_inside_a_cell() -> None:
    quotings: tuple[Literal[0, 3], ...] = (csv.QUOTE_MINIMAL, csv.QUOTE_NONE)
    for cell, delimiter, quoting in product(PLANTED, ",;\t|", quotings):
        line = csv_columns.csv_line(["r1@example.com", cell, "1"])
        reader = csv.reader(io.StringIO(line), delimiter=delimiter, quoting=quoting)
        seen = [part.lstrip(' "') for row in reader for part in row]
        assert not [part for part in seen if part.startswith(SIGNS)], (cell, delimiter, quoting)


@given(st.text(st.sampled_from([*";|\t\r\n '\"=+-@x", "\uff1d"])))
def test_a_cell_is_read_as_it_was_written(cell: str) -> None:
    escaped = csv_columns.escape_formula(cell)

    assert csv_columns.read_cell(escaped) in {cell, cell.strip()}
    assert csv_columns.read_cell(escaped).strip() == cell.strip()


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


def test_an_export_says_who_may_be_mailed_and_by_which_lists(acme: int) -> None:
    people.news(acme)
    people.news(acme, "other")
    people.subscribe(acme, people.member(acme, "active@example.com"), "other")
    people.member(acme, "left@example.com")
    people.leave(acme, "left@example.com")
    people.leave(acme, "left@example.com", "news")
    people.member(acme, "stopped@example.com")
    by_hand = SuppressionReason.BY_HAND
    suppression.suppress(acme, address="stopped@example.com", reason=by_hand, actor="alice")
    people.member(acme, "bounced@example.com")
    people.bounce(acme, "bounced@example.com")
    people.unconfirmed(acme, "new@example.com")

    rows = csv.reader(io.StringIO(export_contacts(acme)))

    assert [(row[0], *row[-3:-1]) for row in rows] == [
        ("email", "postledger_state", "postledger_lists"),
        ("active@example.com", "active", "news other"),
        ("left@example.com", "unsubscribed", ""),
        ("stopped@example.com", "suppressed", "news"),
        ("bounced@example.com", "bounced", "news"),
        ("new@example.com", "unconfirmed", ""),
    ]


def test_an_export_says_since_when_people_agree_to_each_list_and_how(acme: int) -> None:
    people.news(acme)
    people.news(acme, "other")
    member = people.member(acme)
    people.subscribe(acme, member, "other")
    agreed = ConsentEvent.objects.filter(after="active").order_by("list__key", "-id")
    [(news, how), (other, _)] = agreed.distinct("list__key").values_list("at", "source")

    [_header, row] = csv.reader(io.StringIO(export_contacts(acme)))

    consents = [
        f"{key} since {at:%Y-%m-%dT%H:%M:%SZ} ({how})"
        for key, at in (("news", news), ("other", other))
    ]
    assert row[-1] == "; ".join(consents)


def test_an_export_of_a_list_has_those_who_get_its_mail(acme: int) -> None:
    people.news(acme)
    people.member(acme)
    people.contact(acme, "not-on-it@example.com")
    people.member(acme, "left@example.com")
    people.leave(acme, "left@example.com", "news")
    people.member(acme, "bounced@example.com")
    people.bounce(acme, "bounced@example.com")

    rows = export_contacts(acme, list_key="news").splitlines()

    assert [row.partition(",")[0] for row in rows] == ['"email"', f'"{R1}"']


def test_another_workspace_is_not_exported(acme: int, globex: int) -> None:
    people.contact(globex)
    people.news(globex)

    assert len(export_contacts(acme).splitlines()) == 1
    with pytest.raises(ListUnknownError):
        export_contacts(acme, list_key="news")
