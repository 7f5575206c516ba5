"""The command as it is typed: it says what it did, refuses in sentences and never half-way."""

import csv
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command

from postledger.contacts.models import Contact
from postledger.imports.models import Import
from tests.cli import command_line
from tests.contacts import people
from tests.contacts.people import R1
from tests.imports import files

pytestmark = pytest.mark.django_db

CONTENT = f"Contact point,Name\n{R1},Ann\nnobody,Bob\n"
MAP = ("--map", "Contact point=email")


def test_an_import_says_what_came_of_the_rows(acme: int, tmp_path: Path) -> None:
    people.news(acme)
    path = files.write_file(tmp_path, CONTENT)
    errors = tmp_path / "errors.csv"

    output = command_line.run(
        "contacts", "import", str(path), "acme", "--list", "news", *MAP, "--errors", str(errors)
    )

    number = Import.objects.get().pk
    assert output == [
        (
            f"Import {number} is finished: 2 rows = 1 new + 0 changed + 0 unchanged"
            " + 0 duplicates + 1 refused + 0 blank"
        ),
        "Subscribed 1; kept back 0.",
        f"Show the problems of rows with: postledger contacts errors {number} acme",
    ]
    rows = list(csv.reader(errors.read_text().splitlines()))
    assert rows[0] == ["row", "column", "value", "problem", "remedy"]
    assert rows[1][:4] == ["3", "Contact point", "nobody", "This is not an email address."]
    assert "\n".join(command_line.run("contacts", "errors", str(number), "acme")) + "\n" == (
        errors.read_text().replace("\r\n", "\n")
    )
    assert [entry[2] for entry in command_line.trail()][-2:] == [
        "import.started",
        "import.finished",
    ]


def test_a_dry_run_shows_the_difference_and_leaves_everything(acme: int, tmp_path: Path) -> None:
    path = files.write_file(tmp_path, CONTENT)
    errors = tmp_path / "errors.csv"

    output = command_line.run(
        "contacts", "import", str(path), "acme", *MAP, "--dry-run", "--errors", str(errors)
    )

    assert output == [
        "Nothing was changed. 2 rows, read as utf-8:",
        "  column Contact point is email",
        "  column Name is name",
        "2 rows = 1 new + 0 changed + 0 unchanged + 0 duplicates + 1 refused + 0 blank",
        "  refused 1: This is not an email address.",
        "Would subscribe 0; would keep back nobody.",
    ]
    assert len(errors.read_text().splitlines()) == 2
    assert not Contact.objects.exists()


def test_a_column_of_states_that_is_not_read_as_such_is_named(acme: int, tmp_path: Path) -> None:
    path = files.write_file(tmp_path, f"email,Club\n{R1},unsubscribed\n")

    def import_file(*options: str) -> str:
        said = StringIO()
        command = ("contacts", "import", str(path), "acme", *options)
        call_command(*command, stdout=StringIO(), stderr=said)
        return said.getvalue()

    for options in (("--dry-run",), ()):
        assert "--map Club=old_state" in import_file(*options), options
        assert "old_state" not in import_file(*options, "--map", "Club=old_state"), options


def test_what_cannot_be_done_is_refused_in_a_sentence(
    acme: int, globex: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cases: list[tuple[tuple[str, ...], str]] = [
        (("import", "people.csv", "acme", "--map", "Contact point=-"), "--map"),
        (("import", "nothing.csv", "acme"), "No such file"),
        (("import", "people.csv", "nobody", *MAP), "no workspace"),
        (("import", "people.csv", "acme", *MAP, "--list", "news"), "no list 'news'"),
        (("import", "people.csv", "acme", "--dry-run", *MAP, "--list", "news"), "no list 'news'"),
        (("resume", "1", "people.csv", "acme"), "no import 1"),
        (("resume", "-1", "people.csv", "acme"), "no import -1"),
        (("errors", "99999999999999999999", "acme"), "no import"),
        (("export", "acme", "--list", "news"), "no list 'news'"),
        (("export", "acme", "--output", "no/such/folder.csv"), "cannot be written"),
    ]
    people.news(globex)
    files.write_file(tmp_path, CONTENT)
    monkeypatch.chdir(tmp_path)

    for arguments, part in cases:
        assert part in command_line.refusal("contacts", *arguments)
        assert not Contact.objects.exists(), arguments


def test_an_export_is_written_where_it_is_wanted(acme: int, tmp_path: Path) -> None:
    people.contact(acme)
    output = tmp_path / "out.csv"

    command_line.run("contacts", "export", "acme", "--output", str(output))

    assert output.read_text().splitlines() == command_line.run("contacts", "export", "acme")
    empty = ',""' * 6
    assert output.read_text().splitlines()[1] == f'"{R1}"{empty},"active","",""'
