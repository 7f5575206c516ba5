"""Numbers with a decimal comma are stored as conditions read them, and told where the comma may
stand between thousands.
"""

from pathlib import Path

import pytest

from postledger.contacts import audience
from postledger.contacts.filters import parsing
from postledger.contacts.models import Contact
from postledger.imports import numbers
from postledger.imports.numbers import NumberColumn, NumberForm
from tests.contacts import people
from tests.imports import files

COMMA = NumberForm.DECIMAL_COMMA


def test_a_number_with_a_decimal_comma_is_read() -> None:
    cases: list[tuple[str, str | None]] = [
        ("35,50", "35.50"),
        ("-0,5", "-0.5"),
        ("1.234", "1234"),
        ("1.234.567,8", "1234567.8"),
        ("1\u202f234,50", "1234.50"),
        ("1234,567", "1234.567"),
        ("12", "12"),
        *((cell, None) for cell in ("35.5", "1,234,567", "007,5", "1.234 567", ",5", "5,", "5 €")),
    ]
    for cell, number in cases:
        assert numbers.read_number(cell) == number, cell


def test_a_comma_is_a_decimal_one_if_every_cell_can_be_read_so_and_one_in_no_other_way() -> None:
    cases: list[tuple[str, NumberForm | None]] = [
        ("35,50 12", COMMA),
        ("35,5 1,234", COMMA),
        ("1.234,500", COMMA),
        ("1,234 12", None),  # a thousand, or one and a bit
        ("1,234 35.50", None),
        ("35,50 n/a", None),
        ("1,234,567 35,5", None),
    ]
    for cells, form in cases:
        column = NumberColumn()

        column.add_rows([[cell] for cell in [*cells.split(), ""]], 0)

        assert column.form is form, cells


@pytest.mark.django_db
def test_numbers_with_a_decimal_comma_are_found_by_conditions(acme: int, tmp_path: Path) -> None:
    rows = "a@example.com;35,50;1,234;x\nb@example.com;7;2,5;1\nc@example.com;;n/a;2\n"
    path = files.write_file(tmp_path, f"email;gave;mixed;code\n{rows}")

    summary, _ = files.preview_file(acme, path)
    files.import_file(acme, path)
    as_written = Contact.objects.get(address="a@example.com").attributes
    mapping = {"gave": "attributes.gave", "mixed": "decimal_comma.mixed"}
    said, _ = files.preview_file(acme, path, mapping=mapping)

    assert as_written == {"gave": "35.50", "mixed": "1,234", "code": "x"}
    condition = {"field": "attributes.gave", "over": 30}
    assert audience.count(acme, parsing.parse(condition, now=people.NOW)) == 1
    read, texts = summary.notes
    assert read == "The numbers of gave are read with a decimal comma, and stored like 35.50."
    assert "Cells of mixed that look like numbers with a comma" in texts
    assert "stored as texts: 2." in texts
    assert "Cells of gave that look like numbers with a comma" in said.notes[0]
    assert said.notes[1].endswith("stay as they are: 1.")
