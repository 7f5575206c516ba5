"""Dates that are not ISO are stored as ISO where they can be read, and told where they cannot."""

from pathlib import Path

import pytest

from postledger.contacts import audience
from postledger.contacts.filters import parsing
from postledger.contacts.models import Contact
from postledger.imports import dates
from postledger.imports.dates import DateColumn, DateOrder
from postledger.imports.files import reading
from tests.contacts import people
from tests.imports import files

DAY, MONTH = DateOrder.DAY_FIRST, DateOrder.MONTH_FIRST


def test_a_date_is_read_by_its_order() -> None:
    cases: list[tuple[str, str | None, str | None]] = [
        ("26-12-2024 19:15:00", "2024-12-26T19:15:00", None),
        ("12/26/2024", None, "2024-12-26"),
        ("3/4/2024", "2024-04-03", "2024-03-04"),
        ("03.04.2024, 9:05", "2024-04-03T09:05:00", "2024-03-04T09:05:00"),
        ("3/4/2024 12:05 AM", "2024-04-03T00:05:00", "2024-03-04T00:05:00"),
        ("3/4/2024 1:05:09pm UTC", "2024-04-03T13:05:09Z", "2024-03-04T13:05:09Z"),
        ("2024/4/3 10:00 +02:00", "2024-04-03T10:00:00+02:00", "2024-04-03T10:00:00+02:00"),
        ("2024-04-03 10:00:00.5", "2024-04-03 10:00:00.5", "2024-04-03 10:00:00.5"),
        ("2024-04-03", "2024-04-03", "2024-04-03"),
        *((cell, None, None) for cell in ("31-02-2024", "00-00-0000", "0000-00-00", "1-2/2024")),
        *((cell, None, None) for cell in ("3/4/2024 13:05 PM", "3/4/2024 25:00", "3/4/24", "soon")),
    ]
    for cell, day_first, month_first in cases:
        assert dates.read_date(cell, DAY) == day_first
        assert dates.read_date(cell, MONTH) == month_first, cell


def test_an_order_is_known_if_all_dates_of_the_column_can_be_read_in_no_other() -> None:
    cases: list[tuple[str, DateOrder | None]] = [
        ("01-02-2024 26-12-2024 never", DAY),
        ("01/02/2024 12/26/2024", MONTH),
        ("01/02/2024 03/04/2024", None),
        ("26/12/2024 12/26/2024", None),  # one of them is a mistake
        ("2024/01/02 2024/12/26", DAY),  # the same in both
        ("26-12-2024 00-00-0000 2024-12-26", DAY),
    ]
    for cells, order in cases:
        column = DateColumn()

        column.add_rows([[cell] for cell in cells.split()], 0)

        assert column.form is order, cells


@pytest.mark.parametrize(
    ("cells", "found"),
    [
        ("26-12-2024 soon 01-01-2024", {"when"}),
        ("26-12-2024 soon", set()),
        ("2024-12-26 2024-12-27T10:00", set()),
        ("1.2 v2 10/10", set()),
    ],
)
def test_a_column_of_other_texts_or_of_iso_dates_is_left_alone(
    tmp_path: Path, cells: str, found: set[str]
) -> None:
    rows = "".join(f"r@example.com,{cell}\n" for cell in cells.split())

    survey = reading.survey_file(files.write_file(tmp_path, f"email,when\n{rows}"))

    assert set(survey.forms) == found


@pytest.mark.django_db
def test_dates_of_one_reading_are_found_by_conditions_about_days(acme: int, tmp_path: Path) -> None:
    rows = "a@example.com,26-12-2024 19:15:00\nb@example.com,01-02-2024\nc@example.com,n/a\n"
    path = files.write_file(tmp_path, f"email,added_time\n{rows}")

    summary, _ = files.preview_file(acme, path)
    files.import_file(acme, path)

    stored = Contact.objects.order_by("address").values_list("attributes__added_time", flat=True)
    assert list(stored) == ["2024-12-26T19:15:00", "2024-02-01", "n/a"]
    condition = {"field": "attributes.added_time", "since": "2024-02-01"}
    since = parsing.parse(condition, now=people.NOW)
    assert audience.count(acme, since) == 2
    [note] = summary.notes
    assert note.startswith("The dates of added_time are read with the day first,")
    assert note.endswith("are stored as texts: 1.")


@pytest.mark.django_db
def test_dates_of_two_readings_stay_texts_until_somebody_says_the_order(
    acme: int, tmp_path: Path
) -> None:
    path = files.write_file(tmp_path, "email,born\na@example.com,03/04/1990\nb@example.com,\n")

    unclear, _ = files.preview_file(acme, path)
    files.import_file(acme, path)
    as_text = Contact.objects.get(address="a@example.com").attributes
    said, _ = files.preview_file(acme, path, mapping={"born": "month_first.born"})
    files.import_file(acme, path, mapping={"born": "month_first.born"})

    assert "look like dates, and are stored as texts: 1." in unclear.notes[0]
    assert as_text == {"born": "03/04/1990"}
    assert said.notes == [
        "The dates of born are read with the month first, and stored like 2024-12-31."
    ]
    assert Contact.objects.get(address="a@example.com").attributes == {"born": "1990-03-04"}
