"""Turns the rows of a file into lines for the database, or says what is wrong with them."""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from postledger.contacts import details
from postledger.contacts.details import Details, InvalidContactError
from postledger.contacts.importing.columns import Columns, Field
from postledger.contacts.importing.formulas import read as text_of
from postledger.contacts.importing.problems import Problem
from postledger.providers import addresses
from postledger.providers.addresses import InvalidAddressError

# Nearly every address there is. What it takes, addresses.canonical takes and leaves as it is; the
# rest is asked there, which takes three times as long.
PLAIN = re.compile(
    r"(?=[^@]{1,64}@.{1,189}\Z)[A-Za-z0-9_+-]++(?:\.[A-Za-z0-9_+-]++)*+"
    r"@(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,63}"
)
_BETWEEN_PLACES = re.compile(r"[\s;]+")
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode

# A row's number, and its fields as COPY takes them; the first one is the address.
type Line = tuple[int, str]


@dataclass(frozen=True, slots=True)
class Sifted:
    """The rows of one chunk: what can be imported, and what is wrong with the rest."""

    lines: list[Line]
    blank_count: int
    problems: Sequence[Problem]


class _RowRefusedError(Exception):
    def __init__(self, field: Field | None, value: str, problem: str, remedy: str) -> None:
        super().__init__(problem)
        self.field, self.value, self.problem, self.remedy = field, value, problem, remedy


def sift(columns: Columns, records: Sequence[list[str]], *, first_row: int) -> Sifted:
    lines: list[Line] = []
    problems: list[Problem] = []
    blank_count = 0
    read = _reader(columns)
    for row, cells in enumerate(records, first_row):
        if not any(cells):
            blank_count += 1
            continue
        try:
            lines.append((row, read(cells)))
        except _RowRefusedError as error:
            problems.append(_problem(columns, row, error))
    return Sifted(lines, blank_count, problems)


def _problem(columns: Columns, row: int, error: _RowRefusedError) -> Problem:
    # A name may be made of two columns; the first of them stands for both.
    sought = [error.field] if error.field else []
    if error.field is Field.NAME:
        sought.append(Field.FIRST_NAME)
    found = (columns.header[columns.fields[field]] for field in sought if field in columns.fields)
    column = next(found, "")
    return Problem.masked(row, column, error.value, error.problem, error.remedy)


def _reader(columns: Columns) -> Callable[[list[str]], str]:
    """What makes a line of a row: the fields in the order of the staging table.

    One function with everything at hand, because it runs for each of millions of rows. Texts are
    printable, so only backslashes need an escape; JSON has its own for the rest.
    """
    width = len(columns.header)
    email, name, first, last, from_name, locale, time_zone, places, external = (
        columns.fields.get(field, width)
        for field in (
            Field.EMAIL,
            Field.NAME,
            Field.FIRST_NAME,
            Field.LAST_NAME,
            Field.FROM_NAME,
            Field.LOCALE,
            Field.TIME_ZONE,
            Field.OCD_IDS,
            Field.EXTERNAL_ID,
        )
    )
    is_plain = PLAIN.fullmatch

    def read(cells: list[str]) -> str:
        # One empty cell more than there are columns: what is not mapped is read from it.
        cells = _fitted(cells, width)
        address = text_of(cells[email])
        if not is_plain(address):
            address = _address(address)
        whole = text_of(cells[name]) or f"{text_of(cells[first])} {text_of(cells[last])}".strip()
        known = (
            address,
            _line(Field.EXTERNAL_ID, text_of(cells[external])),
            _line(Field.NAME, whole),
            _line(Field.FROM_NAME, text_of(cells[from_name])),
            _locale(text_of(cells[locale])),
            _time_zone(text_of(cells[time_zone])),
            _attributes(columns, cells),
            _places(cells[places]),
        )
        return "\t".join(known).replace("\\", "\\\\")

    return read


def _fitted(cells: list[str], width: int) -> list[str]:
    missing = width + 1 - len(cells)
    if missing < 1 and any(cells[width:]):
        raise _RowRefusedError(
            None,
            "",
            f"The row has {len(cells)} cells, and there are {width} columns.",
            "Put a cell that contains a delimiter between quotes.",
        )
    return cells + [""] * missing if missing > 0 else [*cells[:width], ""]


def _address(address: str) -> str:
    try:
        return addresses.canonical(address)
    except InvalidAddressError:
        problem = "This is not an email address." if address else "There is no address."
        remedy = "Write one like name@example.com."
        raise _RowRefusedError(Field.EMAIL, address, problem, remedy) from None


def _line(field: Field, text: str) -> str:
    if len(text) > details.LONGEST_TEXT or not text.isprintable():
        raise _RowRefusedError(
            field,
            text,
            "The text has signs that cannot be seen, or is too long.",
            f"Write one line of at most {details.LONGEST_TEXT} visible characters.",
        )
    return text


# A file has a few of them, again and again, and looking for a time zone reads the whole list.
@lru_cache(maxsize=4096)
def _locale(locale: str) -> str:
    _check(Field.LOCALE, locale, Details(locale=locale))
    return locale


@lru_cache(maxsize=4096)
def _time_zone(name: str) -> str:
    _check(Field.TIME_ZONE, name, Details(time_zone=name))
    return name


def _places(cell: str) -> str:
    if not cell:
        return ""
    ocd_ids = [place for place in _BETWEEN_PLACES.split(cell) if place]
    _check(Field.OCD_IDS, cell, Details(ocd_ids=ocd_ids))
    return " ".join(ocd_ids)


def _attributes(columns: Columns, cells: Sequence[str]) -> str:
    attributes = {
        key: value for key, index in columns.attributes if (value := text_of(cells[index]))
    }
    document = _encode(attributes)
    # In a shorter one no text can be too long, nor all of them together.
    if len(document) > details.LONGEST_TEXT:
        _check(None, "", Details(attributes=attributes))
    return document


def _check(field: Field | None, value: str, known: Details) -> None:
    try:
        details.check(known)
    except InvalidContactError as error:
        raise _RowRefusedError(
            field, value, str(error), "Correct the cell, or leave it empty."
        ) from None
