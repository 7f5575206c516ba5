"""Files of every encoding are read, and what cannot be read is refused before it is imported."""

import codecs
import random
import subprocess
import sys
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postledger.contacts.models import Contact
from postledger.imports import queries, rows, running
from postledger.imports.files import reading
from postledger.imports.models import Import
from postledger.imports.queries import ImportProgress
from postledger.imports.refusals import FileRefusedError
from postledger.lib.errors import RefusedError
from postledger.providers import addresses
from tests.imports import files

pytestmark = pytest.mark.django_db

CYRILLIC = "Анна Иванова"
WESTERN = "Jürgen Groß, Café Zoë"


def test_encodings_and_delimiters_are_found_out(acme: int, tmp_path: Path) -> None:
    for encoding, bom, name, delimiter in (
        ("utf-8", b"", CYRILLIC, ","),
        ("utf-8", codecs.BOM_UTF8, CYRILLIC, ";"),
        ("utf-16-le", codecs.BOM_UTF16_LE, CYRILLIC + " 🎈 ਊ", "\t"),
        ("utf-16-be", codecs.BOM_UTF16_BE, CYRILLIC + " 🎈 ਊ", "|"),
        ("cp1251", b"", CYRILLIC, ";"),
        ("cp1252", b"", WESTERN, ";"),
        ("cp1252", b"", "Conceição, Évora", ","),
        ("utf-8", b"", "Ann", "\t"),
        ("utf-8", b"", "Bea", "|"),
    ):
        text = f'email{delimiter}name{delimiter}city\r\nr1@example.com{delimiter}"{name}"\r\n'
        path = files.write_file(tmp_path, bom + text.encode(encoding))

        files.import_file(acme, path)

        contact = Contact.objects.get()
        assert (contact.address, contact.name) == ("r1@example.com", name), (encoding, delimiter)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "cp1251"])
def test_every_row_can_be_read_from_the_byte_at_which_it_begins(
    tmp_path: Path, encoding: str
) -> None:
    text = "email,note\n" + "".join(f'r{n}@x.org,"Я{n}\r\nы"\n' for n in range(20))
    bom = codecs.BOM_UTF16_LE if encoding == "utf-16-le" else b""
    path = files.write_file(tmp_path, bom + text.encode(encoding))
    shape = reading.survey_file(path).dialect

    with path.open("rb") as file:
        one_by_one = list(reading.read_chunks(file, shape, offset=len(bom), row=1, size=1))
        for before, after in pairwise(one_by_one):
            again = next(reading.read_chunks(file, shape, offset=before.end, row=2, size=1))
            assert again.records == after.records
            assert again.end == after.end

    assert len(one_by_one) == 21


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le"])
def test_a_chunk_ends_when_it_is_large_and_for_everybody_at_the_same_row(
    tmp_path: Path, encoding: str
) -> None:
    bom = codecs.BOM_UTF16_LE if encoding == "utf-16-le" else b""
    wide = "".join(f'r{n}@x.org,"{"x" * (n * 37 % 9_000)}\nы"\n' for n in range(2_000))
    path = files.write_file(tmp_path, bom + f"email,note\n{wide}".encode(encoding))
    seen = reading.survey_file(path)

    with path.open("rb") as file:
        whole = list(reading.read_chunks(file, seen.dialect, offset=seen.first_byte, row=2))
        starts = [
            (seen.first_byte, 2),
            *((one.end, one.first_row + len(one.records)) for one in whole),
        ]
        resumed = [
            next(reading.read_chunks(file, seen.dialect, offset=byte, row=row), None)
            for byte, row in starts
        ]

    sizes = [after - before for (before, _), (after, _) in pairwise(starts)]
    assert len(sizes) > 4
    assert max(sizes) < reading.LARGEST_CHUNK + 20_000
    assert resumed == [*whole, None]
    assert sum(len(one.records) for one in whole) == seen.row_count == 2_000


_SURVEY = """
import resource, sys
from pathlib import Path
from postledger.imports.files import reading
resource.setrlimit(resource.RLIMIT_AS, (1 << 28, 1 << 28))
print(reading.survey_file(Path(sys.argv[1])).row_count)
"""


@pytest.mark.parametrize("cell", [b"x" * 5_000, b"ab," * 1_700, b'"a\n",' * 800])
@pytest.mark.slow
def test_a_file_of_wide_rows_is_read_before_memory_grows(tmp_path: Path, cell: bytes) -> None:
    path = files.write_file(
        tmp_path, b"email,note\n" + (b"r1@example.com," + cell + b"\n") * 10_000
    )

    process = subprocess.run(
        [sys.executable, "-c", _SURVEY, str(path)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )

    assert process.stdout == "10000\n", process.stderr


def test_a_row_that_is_far_too_wide_is_a_problem_of_that_row(acme: int, tmp_path: Path) -> None:
    path = files.write_file(tmp_path, HEADER + b"r1@x.org" + b",ab" * 300_000 + b"\nr2@x.org,Bob\n")

    done = files.import_file(acme, path)

    assert (done.created, done.refused) == (1, 1)
    [problem] = queries.read_problems(acme, done.id)
    assert (problem.row, "300,001 cells" in problem.problem) == (2, True)


def test_an_import_of_wide_rows_is_resumed_after_the_last_chunk_that_counts(
    acme: int, tmp_path: Path
) -> None:
    wide = "".join(f"r{n}@example.com,{'x' * 4_000}\n" for n in range(1_200))
    path = files.write_file(tmp_path, f"email,note\n{wide}")
    import_id = running.start_import(acme, path, mapping={"note": "-"}, actor="alice").id
    stops = []

    def die(done: ImportProgress) -> None:
        stops.append(done.done)
        raise _DiedError

    for _ in range(3):
        with suppress(_DiedError):
            running.run_import(acme, path, import_id=import_id, report=die)
    done = running.run_import(acme, path, import_id=import_id, report=lambda _: None)

    assert stops == [498, 996, 1_200]
    assert (done.created, done.duplicates) == (1_200, 0)


class _DiedError(Exception):
    pass


HEADER = b"email,name\n"
BOMBS = {
    "empty": b"",
    "only a byte order mark": codecs.BOM_UTF8,
    "a long line": HEADER + b"a" * 3_000_000,
    "a long line of small cells": HEADER + b"a," * 600_000 + b"\n",
    "a long line without a header": b"x" * 3_000_000,
    "a million columns": b"email" + b"," * 999_000 + b"\n",
    "201 columns": b"email," + b",".join(b"c%d" % n for n in range(200)) + b"\n",
    "zero bytes": HEADER + b"r1@example.com,a\0b\n",
    "zero bytes in UTF-16": codecs.BOM_UTF16_LE + "email,name\nr1@x.org,a\0\n".encode("utf-16-le"),
    "half a character of UTF-16": codecs.BOM_UTF16_LE
    + "email\nr1@x.org".encode("utf-16-le")
    + b"a",
    "half of a pair": codecs.BOM_UTF16_LE + "email\n".encode("utf-16-le") + b"\x00\xd8\n\x00",
    "UTF-32": codecs.BOM_UTF32_LE + "email\nr1@x.org\n".encode("utf-32-le"),
    "damaged UTF-8": HEADER + "r1@x.org,Анна\n".encode() * 10 + b"r2@x.org,\xd0\n",
    "a quote that is never closed": HEADER + b'r1@example.com,"a\n' + b"r2@x.org,b\n" * 1000,
    "a quote before a large rest": HEADER + b'r1@example.com,"a\n' + b"r2@x.org,b\n" * 50_000,
    "a row of many lines": HEADER + b'r1@example.com,"a\n' + b'","\n' * 500_000 + b'"\n',
    "a row of many lines in UTF-16": codecs.BOM_UTF16_LE
    + ('email,name\nr1@x.org,"a\n' + '","\n' * 200_000 + '"\n').encode("utf-16-le"),
    "text after a quote": HEADER + b'r1@example.com,"a"b"c\n',
    "lines of an old Mac": b"email,name\rr1@example.com,a\rr2@example.com,b\r",
    "an Excel file": b"PK\x03\x04" + bytes(range(256)) * 100,
    "quotes alone": b'"' * 900_001,
    "anything": random.Random(1).randbytes(100_000),
}


@pytest.mark.parametrize("content", BOMBS.values(), ids=BOMBS)
def test_a_bomb_is_refused_before_anything_is_imported(
    acme: int, tmp_path: Path, content: bytes
) -> None:
    with pytest.raises(RefusedError) as refused:
        files.import_file(acme, files.write_file(tmp_path, content))

    assert str(refused.value).count(". ") >= 1
    assert not Import.objects.exists()
    assert not Contact.objects.exists()


def test_a_file_with_too_many_rows_is_refused_though_they_are_blank(
    acme: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "MOST_ROWS", 10)
    row = b"r1@example.com,Ann\n"

    files.import_file(acme, files.write_file(tmp_path, HEADER + row + b"\n" * 9))
    with pytest.raises(FileRefusedError, match="more than 10 rows, blank ones included"):
        files.import_file(acme, files.write_file(tmp_path, HEADER + row + b"\n" * 10))


def _mutated(source: bytes, chance: random.Random) -> bytes:
    content = bytearray(source)
    for _ in range(chance.randint(1, 6)):
        at = chance.randrange(len(content))
        match chance.randrange(5):
            case 0:
                content[at] = chance.randrange(256)
            case 1:
                content[at:at] = chance.choice([b'"', b"\0", b"\n", b"\r", b",", b"'", b"\\", b";"])
            case 2:
                del content[at : at + chance.randint(1, 20)]
            case 3:
                content[at:at] = content[at : at + chance.randint(1, 60)] * chance.randint(1, 5)
            case _:
                content[at:at] = chance.randbytes(chance.randint(1, 8))
        content = content or bytearray(b"x")
    return bytes(content)


SOURCE = (
    "email,name,from_name,locale,time_zone,ocd_ids,external_id,city\r\n"
    'r1@example.com,"Lee, Ann",Herald,en,Europe/London,ocd-division/country:us,1,"Ohio ""x"""\r\n'
    "r2@example.com,Анна,,ru,,,2,Пермь\r\n"
    'r3@example.com,Zoë,,pt-BR,,,,"two\nlines"\r\n'
    "r4@bücher.example,=1+1,,,,,,\\N\r\n"
)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_a_thousand_damaged_files_are_imported_as_counted_or_refused(
    acme: int, tmp_path: Path, seed: int
) -> None:
    chance = random.Random(seed)
    encodings = ["utf-8", "utf-8", "utf-16", "utf-8-sig"]
    for _ in range(100):
        content = _mutated(SOURCE.encode(chance.choice(encodings)), chance)
        before = Contact.objects.count()
        try:
            done = files.import_file(acme, files.write_file(tmp_path, content))
        except RefusedError:
            expected = before
        else:
            expected = before + done.created
            assert done.done == done.row_count, content

        assert Contact.objects.count() == expected, content


_SIGNS = st.sampled_from("aZ09_+-.@!='\"\\ éß\u212a\n")
_LOCAL = st.text(st.sampled_from("abcXYZ019_+-.'"), max_size=70)
_DOMAIN = st.text(st.sampled_from("abcXYZ019-."), max_size=200)


@given(
    st.one_of(st.text(_SIGNS, max_size=40), st.builds("{}@{}".format, _LOCAL, _DOMAIN), st.emails())
)
def test_what_the_fast_check_takes_is_canonical_already(address: str) -> None:
    assert not rows.PLAIN.fullmatch(address) or addresses.canonical(address) == address
