"""Workbooks become the rows that people see in them; wrong and evil ones are refused in time."""

import csv
import os
import random
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from postledger.contacts.models import Contact
from postledger.imports.files import workbooks as books
from postledger.imports.refusals import FileRefusedError
from postledger.lib.errors import RefusedError
from tests.cli import command_line
from tests.imports import files, workbooks

WRONG = workbooks.wrong()


def rows(folder: Path, content: bytes, sheet: str | None = None) -> list[list[str]]:
    path = files.write_file(folder, content, "people.xlsx")
    with books.open_as_csv(path, sheet=sheet) as table:
        return list(csv.reader(table.read_text(encoding="utf-8").splitlines(keepends=True)))


def test_a_cell_says_what_people_see(tmp_path: Path) -> None:
    cells = [
        ('<c r="A2"><v>12.0</v></c>', "12"),
        ('<c r="A2"><v>0.10000000000000001</v></c>', "0.1"),
        ('<c r="A2"><v>4.9151234567E+11</v></c>', "491512345670"),
        ('<c r="A2"><v>1E400</v></c>', "inf"),
        ('<c r="A2" s="1"><v>46053</v></c>', "2026-01-31"),
        ('<c r="A2" s="2"><v>46053</v></c>', "2026-01-31"),
        ('<c r="A2" s="3"><v>46053</v></c>', "46053"),
        ('<c r="A2" s="4"><v>46053.5</v></c>', "2026-01-31T12:00:00"),
        ('<c r="A2" s="5"><v>0.75</v></c>', "18:00:00"),
        ('<c r="A2" s="1"><v>1</v></c>', "1900-01-01"),
        ('<c r="A2" s="1"><v>61</v></c>', "1900-03-01"),
        ('<c r="A2" s="1"><v>1e300</v></c>', "1e+300"),
        ('<c r="A2" s="1"><v>2958465</v></c>', "9999-12-31"),
        ('<c r="A2" s="1"><v>2958465.9999999</v></c>', "9999-12-31T23:59:59"),
        ('<c r="A2" s="6"><v>1.5</v></c>', "36:00:00"),
        ('<c r="A2" s="99"><v>5</v></c>', "5"),
        ('<c r="A2" t="d"><v>2026-01-31</v></c>', "2026-01-31"),
        ('<c r="A2" t="b"><v>1</v></c>', "TRUE"),
        ('<c r="A2" t="b"><v>0</v></c>', "FALSE"),
        ('<c r="A2"><f>1+1</f><v>2</v></c>', "2"),
        ('<c r="A2" t="str"><f>A1&amp;B1</f><v>a "b", c\nd</v></c>', 'a "b", c\nd'),
        ('<c r="A2" t="s"><v>1</v></c>', "r1@example.com"),
        (
            '<c t="inlineStr"><is><r><t>Jo</t></r><r><t>ão</t></r><rPh><t>x</t></rPh></is></c>',
            "João",
        ),
        ('<c t="str"><v>=1+1</v></c>', "=1+1"),
    ]
    sheet = '<row r="1"><c r="A1" t="str"><v>email</v></c></row>' + "".join(
        f'<row r="{number}">{inner.replace("A2", f"A{number}")}</row>'
        for number, (inner, _) in enumerate(cells, 2)
    )

    read = rows(tmp_path, workbooks.make_workbook(sheet))

    assert read[1:] == [[text] for _, text in cells]


def test_a_cell_with_an_error_is_empty_and_names_may_have_prefixes(tmp_path: Path) -> None:
    row = '<c r="A2" t="e"><v>#N/A</v></c><c r="B2" t="str"><v>Ann</v></c>'
    assert rows(tmp_path, workbooks.make_workbook(workbooks.cell(row)))[1] == ["", "Ann"]
    main = workbooks.MAIN.replace("xmlns=", "xmlns:x=")
    strange = (
        f'<x:worksheet {main}><x:sheetData><x:row><x:c t="str"><x:v>email</x:v></x:c></x:row>'
        "</x:sheetData></x:worksheet>"
    )
    book = workbooks.make_workbook(more={"xl/worksheets/sheet1.xml": strange})
    assert rows(tmp_path, book) == [["email"]]


def test_days_may_be_counted_from_1904(tmp_path: Path) -> None:
    for days, text in (("44591", "2026-01-31"), ("2957500", "2957500")):
        inner = workbooks.cell(f'<c r="A2" s="1"><v>{days}</v></c>')
        book = workbooks.make_workbook(inner, properties='<workbookPr date1904="1"/>')
        assert rows(tmp_path, book)[1] == [text], days


def test_rows_and_columns_stay_where_they_are(tmp_path: Path) -> None:
    book = workbooks.make_workbook(
        '<row r="1"><c r="A1" t="str"><v>a;b|c</v></c><c r="C1" t="str"><v>email</v></c></row>'
        '<row r="4"><c r="C4" t="str"><v>r1@example.com</v></c><c r="ZZ4"/></row>'
        '<row r="1048576"><c r="A1048576"/></row>'
    )

    assert rows(tmp_path, book) == [["a b c", "", "email"], [], [], ["", "", "r1@example.com"]]


def test_the_first_sheet_is_read_unless_another_is_named(tmp_path: Path) -> None:
    book = workbooks.make_workbook(more={"xl/vbaProject.bin": b"a macro that nobody runs"})

    assert rows(tmp_path, book)[1] == ["r1@example.com", "Ann"]
    assert rows(tmp_path, book, "Others")[1] == ["r2@example.com"]
    with pytest.raises(FileRefusedError, match="no sheet 'Else': it has 'People', 'Others'"):
        rows(tmp_path, book, "Else")


@pytest.mark.django_db
def test_a_workbook_is_imported_and_resumed_by_the_command(acme: int, tmp_path: Path) -> None:
    path = files.write_file(tmp_path, workbooks.make_workbook(), "people.xlsx")

    command_line.run("contacts", "import", str(path), "acme")
    listing = command_line.run("contacts", "imports", "acme")
    number = listing[0].partition(" ")[0]

    assert listing == [f"{number} people.xlsx: finished, 1 of 1 rows"]
    assert command_line.run("contacts", "resume", number, str(path), "acme")[0].endswith("0 blank")
    refused = command_line.refusal(
        "contacts", "resume", number, str(path), "acme", "--sheet", "Others"
    )
    assert "not the file" in refused
    assert list(Contact.objects.values_list("address", "name")) == [("r1@example.com", "Ann")]


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.django_db
def test_a_wrong_workbook_is_refused_in_a_sentence(acme: int, tmp_path: Path, name: str) -> None:
    content, part = WRONG[name]
    path = files.write_file(tmp_path, content, "people.xlsx")

    assert part in command_line.refusal("contacts", "import", str(path), "acme")
    assert not Contact.objects.exists()


@pytest.mark.slow
@pytest.mark.parametrize("name", workbooks.BOMBS)
@pytest.mark.django_db
def test_a_bomb_is_refused_or_read_within_the_limits_of_its_reader(
    acme: int, tmp_path: Path, name: str
) -> None:
    build, part = workbooks.BOMBS[name]
    path = files.write_file(tmp_path, build(), "bomb.xlsx")

    if part is None:
        command_line.run("contacts", "import", str(path), "acme")
    else:
        assert part in command_line.refusal("contacts", "import", str(path), "acme")

    assert Contact.objects.count() == (part is None)


def test_the_reader_has_limits_of_memory_time_and_size(tmp_path: Path) -> None:
    limits = ("AS", "CPU", "FSIZE", "CORE")
    program = (
        "import resource, sys; from postledger.imports.files import sheet_to_csv;"
        f" sheet_to_csv.main({os.devnull!r}, 'where'); print({limits!r}.__class__("
        f"resource.getrlimit(getattr(resource, 'RLIMIT_' + name))[1] for name in {limits!r}))"
    )

    process = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )

    assert process.stdout.endswith("(1073741824, 30, 100000000, 0)\n"), process.stderr


@pytest.mark.slow
def test_a_workbook_with_any_bytes_changed_is_read_or_refused(tmp_path: Path) -> None:
    chance = random.Random()
    sound = workbooks.make_workbook()

    for _ in range(50):
        content = bytearray(sound)
        for _ in range(chance.randint(1, 8)):
            content[chance.randrange(len(content))] = chance.randrange(256)
        path = files.write_file(tmp_path, bytes(content), "people.xlsx")
        with suppress(RefusedError), books.open_as_csv(path):
            pass


def test_a_format_is_a_moments_by_its_letters(tmp_path: Path) -> None:
    inner = workbooks.cell('<c r="A2" s="2"><v>46053</v></c>')
    for format_, text in (
        ("General", "46053"),
        ("0.00", "46053"),
        ("#,##0 [$€-407]", "46053"),
        ("[Red]0", "46053"),
        ("&quot;mdys&quot;0", "46053"),
        ("\\d0", "46053"),
        ("dd/mm/yyyy", "2026-01-31"),
        ("[h]:mm", "1105272:00:00"),
        ("[$-409]mmm", "2026-01-31"),
    ):
        styles = workbooks.STYLES.replace("&quot;day&quot; yyyy-mm-dd", format_)
        book = workbooks.make_workbook(inner, more={"xl/styles.xml": styles})
        assert rows(tmp_path, book)[1] == [text], format_
