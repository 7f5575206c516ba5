"""Dates that are not ISO, and numbers with a decimal comma, are read as conditions read them."""

from pathlib import Path

import pytest

from postledger.contacts.models import Contact
from postledger.imports import dates, numbers
from postledger.imports.dates import DateColumn, DateOrder
from postledger.imports.numbers import NumberColumn, NumberForm
from tests.imports import files


def test_a_date_is_read_by_its_order() -> None:
    cases: list[tuple[str, str | None, str | None]] = [
        ("26-12-2024 19:15:00", "2024-12-26T19:15:00", None),
        ("12/26/2024", None, "2024-12-26"),
        ("3/4/2024", "2024-04-03", "2024-03-04"),
        ("03.04.2024, 9:05", "2024-04-03T09:05:00", "2024-03-04T09:05:00"),
        ("3/4/2024 12:05 AM", "2024-04-03T00:05:00", "2024-03-04T00:05:00"),
        ("3/4/2024 1:05:09pm UTC", "2024-04-03T13:05:09Z", "2024-03-04T13:05:09Z"),
        ("2024/4/3 10:00 +02:00", "2024-04-03T10:00:00+02:00", "2024-04-03T10:00:00+02:00"),
        ("2024-04-03", "2024-04-03", "2024-04-03"),
        *((cell, None, None) for cell in ("31-02-2024", "0000-00-00", "1-2/2024")),
        *((cell, None, None) for cell in ("3/4/2024 13:05 PM", "3/4/2024 25:00", "3/4/24", "soon")),
    ]
    for cell, day_first, month_first in cases:
        assert dates.read_date(cell, DateOrder.DAY_FIRST) == day_first, cell
        assert dates.read_date(cell, DateOrder.MONTH_FIRST) == month_first, cell


def test_a_number_with_a_decimal_comma_is_read() -> None:
    cases: list[tuple[str, str | None]] = [
        ("35,50", "35.50"),
        ("-0,5", "-0.5"),
        ("1.234", "1234"),
        ("1.234.567,8", "1234567.8"),
        ("1\u202f234,50", "1234.50"),
        ("12", "12"),
        *((cell, None) for cell in ("35.5", "1,234,567", "007,5", "1.234 567", ",5", "5,", "5 €")),
    ]
    for cell, number in cases:
        assert numbers.read_number(cell) == number, cell


def test_a_column_has_a_form_if_all_its_cells_can_be_read_in_no_other() -> None:
    cases: list[tuple[type[DateColumn | NumberColumn], str, DateOrder | NumberForm | None]] = [
        (DateColumn, "01-02-2024 26-12-2024 never", DateOrder.DAY_FIRST),
        (DateColumn, "01/02/2024 12/26/2024", DateOrder.MONTH_FIRST),
        (DateColumn, "01/02/2024 03/04/2024", None),
        (DateColumn, "26/12/2024 12/26/2024", None),  # one of them is a mistake
        (DateColumn, "2024/01/02 2024/12/26", DateOrder.DAY_FIRST),  # the same in both
        (DateColumn, "26-12-2024 00-00-0000 2024-12-26", DateOrder.DAY_FIRST),
        (NumberColumn, "35,50 12", NumberForm.DECIMAL_COMMA),
        (NumberColumn, "35,5 1,234", NumberForm.DECIMAL_COMMA),
        (NumberColumn, "1.234,500", NumberForm.DECIMAL_COMMA),
        (NumberColumn, "1,234 12", None),  # a thousand, or one and a bit
        (NumberColumn, "1,234 35.50", None),
        (NumberColumn, "35,50 n/a", None),
        (NumberColumn, "1,234,567 35,5", None),
    ]
    for kind, cells, form in cases:
        column = kind()
        column.add_rows([[cell] for cell in [*cells.split(), ""]], 0)
        assert column.form is form, cells


@pytest.mark.django_db
def test_cells_of_two_readings_stay_texts_until_somebody_says_their_form(
    acme: int, tmp_path: Path
) -> None:
    row = "a@example.com;26-12-2024;03/04/1990;35,50;1,234\n"
    path = files.write_file(tmp_path, f"email;added;born;gave;mixed\n{row}")
    clear = {"added": "2024-12-26", "gave": "35.50"}

    files.import_file(acme, path)
    assert Contact.objects.get().attributes == clear | {"born": "03/04/1990", "mixed": "1,234"}

    said = {"born": "month_first.born", "mixed": "decimal_comma.mixed"}
    files.import_file(acme, path, mapping=said)
    assert Contact.objects.get().attributes == clear | {"born": "1990-03-04", "mixed": "1.234"}
