"""An address that a file has twice is found, however far apart, whoever goes on with the file."""

import random
from pathlib import Path

import pytest

from postledger.contacts.models import Contact
from postledger.imports import queries, running, staging
from postledger.imports.columns import map_columns
from postledger.imports.queries import ImportProgress
from tests.imports import files

pytestmark = pytest.mark.django_db


class _DiedError(Exception):
    pass


def _die(_: ImportProgress) -> None:
    raise _DiedError


def _find_repeats(*addresses: str) -> dict[int, int]:
    """The rows that repeat an address, each with the row that has it first."""
    staging.forget_addresses()
    return _stage_rows(list(enumerate(addresses, 2)))


def _stage_rows(rows: list[tuple[int, str]]) -> dict[int, int]:
    lines = [f"{row}\t{address}\t\t\t\t\t\t{{}}\t\t\tf\n" for row, address in rows]
    problems = staging.stage_rows(map_columns(["email"], {}), lines)
    return {row.row: int(row.problem.split()[1]) for row in problems}


def test_capitals_make_no_difference_as_the_database_sees_them() -> None:
    assert _find_repeats("r1@x.org", "R1@x.org", "r2@x.org", "R2@X.org") == {3: 2, 5: 4}
    assert _find_repeats("ж@x.org", "Ж@x.org", "straße@x.org", "strasse@x.org") == {3: 2}


def test_every_repeated_address_of_many_is_found() -> None:
    chance = random.Random(1)
    numbers = [chance.randrange(60_000) for _ in range(60_000)]
    firsts: dict[int, int] = {}
    expected = {
        row: first
        for row, number in enumerate(numbers, 2)
        if (first := firsts.setdefault(number, row)) != row
    }

    staging.forget_addresses()
    repeated: dict[int, int] = {}
    for begin in range(0, len(numbers), 7_000):
        chunk = enumerate(numbers[begin : begin + 7_000], begin + 2)
        repeated |= _stage_rows([(row, f"r{number}@x.org") for row, number in chunk])

    assert repeated == expected


def test_whoever_resumes_knows_the_addresses_before(acme: int, tmp_path: Path) -> None:
    rows = "".join(f"r{n}@example.com,{n}\n" for n in range(10_000))
    path = files.write_file(
        tmp_path, f"email,name\n{rows}R5@example.com,late\nnew@example.com,new\n"
    )
    import_id = running.start_import(acme, path, mapping={}, actor="alice").id
    with pytest.raises(_DiedError):
        running.run_import(acme, path, import_id=import_id, report=_die)
    assert queries.find_progress(acme, import_id).done == 10_000

    done = running.run_import(acme, path, import_id=import_id, report=lambda _: None)

    assert (done.created, done.duplicates) == (10_001, 1)
    assert Contact.objects.get(address="r5@example.com").name == "5"
    [problem] = queries.read_problems(acme, import_id)
    assert (problem.row, problem.problem.split(" has ")[0]) == (10_002, "Row 7")
