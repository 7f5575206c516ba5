"""An address that a file has twice is found, however far apart, whoever goes on with the file."""

import random
from pathlib import Path

import pytest

from postledger.contacts.importing import running
from postledger.contacts.importing.running import Progress
from postledger.contacts.importing.seen import Seen
from postledger.contacts.models import Contact
from tests.contacts.importing import files

pytestmark = pytest.mark.django_db


class _DiedError(Exception):
    pass


def _die(_: Progress) -> None:
    raise _DiedError


def _of(*addresses: str) -> dict[int, int]:
    return Seen().repeated([(row, f"{address}\tx") for row, address in enumerate(addresses, 2)])


def test_capitals_make_no_difference_as_the_database_sees_them() -> None:
    assert _of("r1@x.org", "R1@x.org", "r2@x.org", "R2@X.org") == {3: 2, 5: 4}
    assert _of("ж@x.org", "Ж@x.org", "straße@x.org", "strasse@x.org") == {3: 2}


def test_every_repeated_address_of_many_is_found() -> None:
    chance = random.Random(1)
    numbers = [chance.randrange(60_000) for _ in range(60_000)]
    seen = Seen()
    found: dict[int, int] = {}
    firsts: dict[int, int] = {}
    expected: dict[int, int] = {}
    for row, number in enumerate(numbers, 2):
        first = firsts.setdefault(number, row)
        if first != row:
            expected[row] = first
    for begin in range(0, len(numbers), 7_000):
        lines = [
            (row, f"r{number}@x.org")
            for row, number in enumerate(numbers[begin : begin + 7_000], begin + 2)
        ]
        found |= seen.repeated(lines)

    assert found == expected


def test_whoever_resumes_knows_the_addresses_before(acme: int, tmp_path: Path) -> None:
    rows = "".join(f"r{n}@example.com,{n}\n" for n in range(10_000))
    path = files.made(tmp_path, f"email,name\n{rows}R5@example.com,late\nnew@example.com,new\n")
    import_id = running.start(acme, path, mapping={}, actor="alice")
    with pytest.raises(_DiedError):
        running.run(acme, path, import_id=import_id, tell=_die)
    assert running.progress(acme, import_id).done == 10_000

    done = running.run(acme, path, import_id=import_id, tell=lambda _: None)

    assert (done.created, done.duplicates) == (10_001, 1)
    assert Contact.objects.get(address="r5@example.com").name == "5"
    [told] = running.problems(acme, import_id)
    assert (told.row, told.problem.split(" has ")[0]) == (10_002, "Row 7")
