"""Turns the rows of a file into lines for the database, or into problems of these rows."""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from postledger.contacts import details
from postledger.contacts.consent import StateReport
from postledger.contacts.csv_columns import Field, read_cell
from postledger.contacts.details import Details, InvalidContactError
from postledger.contacts.state_columns import ANSWERS, StateColumn
from postledger.imports import forms, locales, old_states
from postledger.imports.columns import Columns
from postledger.imports.files.reading import FileChunk
from postledger.imports.old_states import Answer, OldState
from postledger.imports.problems import RowProblem
from postledger.lib.sentences import Sentence, say
from postledger.providers import addresses
from postledger.providers.addresses import InvalidAddressError

# Nearly every address there is. addresses.canonical accepts all of these and leaves them unchanged;
# it takes three times as long, and judges the remaining ones.
PLAIN = re.compile(
    r"(?=[^@]{1,64}@.{1,189}\Z)[A-Za-z0-9_+-]++(?:\.[A-Za-z0-9_+-]++)*+"
    r"@(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,63}"
)
_OCD_SEPARATOR = re.compile(r"[\s;]+")
# As Mailchimp writes the tags of a person into one cell.
_QUOTED_PARTS = re.compile(r'"[^"]++"(?:, ?"[^"]++")*+')
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


@dataclass(frozen=True, slots=True)
class PreparedChunk:
    """One chunk of a file: lines for COPY, and problems of the rows that cannot be imported."""

    first_row: int
    next_row: int
    first_byte: int
    next_byte: int
    blank_count: int
    lines: list[str] = field(
        default_factory=list
    )  # each with its row number first, then the address
    problems: list[RowProblem] = field(default_factory=list)
    # Of rows that are imported without a cell, or kept off the list by one.
    remarks: list[RowProblem] = field(default_factory=list)
    ended: list[StateReport] = field(default_factory=list)  # of people who left the old tool


class _RowRefusedError(Exception):
    def __init__(
        self, field: Field | None, value: str, problem: Sentence, remedy: Sentence
    ) -> None:
        super().__init__(problem)
        self.field, self.value, self.problem, self.remedy = field, value, problem, remedy


def prepare_chunk(columns: Columns, chunk: FileChunk) -> PreparedChunk:
    prepared = PreparedChunk(
        chunk.first_row,
        chunk.first_row + len(chunk.records),
        chunk.start,
        chunk.end,
        blank_count=sum(not any(cells) for cells in chunk.records),
    )
    read_row = _row_reader(columns)
    for row, cells in enumerate(chunk.records, chunk.first_row):
        if not any(cells):
            continue
        try:
            try:
                line = read_row(cells)
            except _RowRefusedError as error:
                if error.field is not Field.LOCALE:
                    raise
                # A person is worth more than their language.
                line = read_row(_without(cells, columns.fields[Field.LOCALE]))
                prepared.remarks.append(_problem(columns, row, error))
            prepared.lines.append(f"{row}\t{line}\n")
            if columns.old_states:
                _note_old_state(columns, row, cells, prepared)
        except _RowRefusedError as error:
            prepared.problems.append(_problem(columns, row, error))
            if columns.old_states and error.field is not None:  # each cell is in its column
                _note_end_of_refused(columns, cells, prepared)
    return prepared


_UNKNOWN_STATE = say("This is no known state, so the import does not subscribe the person.")
_NO_STATE = say("The state in the old tool is missing; the import does not subscribe the person.")
_NAME_STATE = say("Write subscribed or unsubscribed, and import the row again.")
_ANSWER = say("Write yes, no or a date, and import the row again.")
_RENAME = say(
    "Name the column Unsubscribed or Consent in the file, whichever it is, and upload it again:"
    " this answer means the contrary in the other."
)


def _note_old_state(
    columns: Columns, row: int, cells: Sequence[str], prepared: PreparedChunk
) -> None:
    """Keeps the end of mail that the old tool reported of a row, or that the state is unknown."""
    address = read_cell(cells[columns.fields[Field.EMAIL]])
    states = _read_states(columns, cells)
    strongest = old_states.find_strongest(states.values())
    if report := old_states.report_old_state(address, strongest):
        prepared.ended.append(report)
    if strongest in {OldState.UNKNOWN, OldState.NOT_SUBSCRIBED} and (
        unknown := [index for index, state in states.items() if state is OldState.UNKNOWN]
    ):
        index = unknown[0]
        value = read_cell(cells[index]) if index < len(cells) else ""
        name, problem = columns.header[index], _UNKNOWN_STATE if value else _NO_STATE
        remedy = _advise(dict(columns.old_states)[index], value)
        prepared.remarks.append(RowProblem.quoting(row, name, value, problem, remedy))


def _note_end_of_refused(columns: Columns, cells: Sequence[str], prepared: PreparedChunk) -> None:
    """A row that is refused for another cell says all the same that its person left."""
    index = columns.fields[Field.EMAIL]
    address = read_cell(cells[index]) if index < len(cells) else ""
    strongest = old_states.find_strongest(_read_states(columns, cells).values())
    report = old_states.report_old_state(address, strongest)
    if report and addresses.is_valid(address):
        prepared.ended.append(report)


def _advise(kind: StateColumn, value: str) -> Sentence:
    if kind in ANSWERS:
        return _ANSWER
    return _RENAME if old_states.read_answer(value) in {Answer.YES, Answer.NO} else _NAME_STATE


def _read_states(columns: Columns, cells: Sequence[str]) -> dict[int, OldState]:
    """What each column says of the person, by its position."""
    return {
        index: old_states.read_old_state(
            read_cell(cells[index]) if index < len(cells) else "", kind
        )
        for index, kind in columns.old_states
    }


def _without(cells: list[str], index: int) -> list[str]:
    return [*cells[:index], "", *cells[index + 1 :]]


def _problem(columns: Columns, row: int, error: _RowRefusedError) -> RowProblem:
    column = columns.name_of(error.field) if error.field else ""
    if error.field is Field.NAME and not column:  # it is made of first and last name
        column = columns.name_of(Field.FIRST_NAME)
    return RowProblem.quoting(row, column, error.value, error.problem, error.remedy)


def _row_reader(columns: Columns) -> Callable[[list[str]], str]:
    """A function that makes a line of a row: the fields in the order of the staging table.

    One function with everything at hand, because it runs for each of millions of rows. Texts are
    printable, so only backslashes need an escape; JSON escapes the remaining characters itself.
    """
    width = len(columns.header)
    email, name, first, last, from_name, locale, time_zone, ocd_ids, external, _ = (
        columns.fields.get(field, width) for field in Field
    )
    is_plain = PLAIN.fullmatch

    def read_row(cells: list[str]) -> str:
        # One empty cell more than there are columns: fields without a column are read from it.
        cells = _fit(cells, width)
        address = read_cell(cells[email])
        if not is_plain(address):
            address = _canonical(address)
        full_name, parts = read_cell(cells[name]), (read_cell(cells[first]), read_cell(cells[last]))
        has_part = not full_name and not all(parts)
        values = (
            address,
            _check_text(Field.EXTERNAL_ID, read_cell(cells[external])),
            _check_text(Field.NAME, full_name or " ".join(parts).strip()),
            _check_text(Field.FROM_NAME, read_cell(cells[from_name])),
            _check_locale(read_cell(cells[locale])),
            _check_time_zone(read_cell(cells[time_zone])),
            _encode_attributes(columns, cells),
            _join_ocd_ids(cells[ocd_ids]),
            old_states.find_strongest(_read_states(columns, cells).values()),
            "t" if has_part else "f",
        )
        return "\t".join(values).replace("\\", "\\\\")

    return read_row


def _fit(cells: list[str], width: int) -> list[str]:
    missing = width + 1 - len(cells)
    if missing < 1 and any(cells[width:]):
        raise _RowRefusedError(
            None,
            "",
            say(
                "The row has %(cells)s cells, and there are %(width)s columns.",
                cells=len(cells),
                width=width,
            ),
            say("Quote each cell that contains a delimiter."),
        )
    return cells + [""] * missing if missing > 0 else [*cells[:width], ""]


def _canonical(address: str) -> str:
    try:
        return addresses.canonical(address)
    except InvalidAddressError:
        invalid, missing = say("This is not an email address."), say("The address is missing.")
        problem, remedy = invalid if address else missing, say("Write one like name@example.com.")
        raise _RowRefusedError(Field.EMAIL, address, problem, remedy) from None


def _check_text(field: Field, text: str) -> str:
    if len(text) > details.LONGEST_TEXT or not text.isprintable():
        raise _RowRefusedError(
            field,
            text,
            say("The text has invisible characters, or is too long."),
            say(
                "Write one line of at most %(longest)s visible characters.",
                longest=details.LONGEST_TEXT,
            ),
        )
    return text


# A file repeats a few of them, and checking a time zone reads the list of all.
@lru_cache(maxsize=4096)
def _check_locale(cell: str) -> str:
    locale = locales.read_locale(cell)
    remedy = say("The row counts without a language. Correct the cell, and import it again.")
    _check(Field.LOCALE, cell, Details(locale=locale), remedy)
    return locale


@lru_cache(maxsize=4096)
def _check_time_zone(name: str) -> str:
    _check(Field.TIME_ZONE, name, Details(time_zone=name))
    return name


def _join_ocd_ids(cell: str) -> str:
    if not cell:
        return ""
    ocd_ids = [ocd_id for ocd_id in _OCD_SEPARATOR.split(cell) if ocd_id]
    _check(Field.OCD_IDS, cell, Details(ocd_ids=ocd_ids))
    return " ".join(ocd_ids)


def _encode_attributes(columns: Columns, cells: Sequence[str]) -> str:
    attributes = {
        key: _unquote(value) if value[0] == '"' else value
        for key, index in columns.attributes
        if (value := read_cell(cells[index]))
    }
    if columns.forms:
        _change_forms(columns, attributes)
    document = _encode(attributes)
    # In a shorter one no text can be too long, nor all of them together.
    if len(document) > details.LONGEST_TEXT:
        _check(None, "", Details(attributes=attributes))
    return document


def _unquote(value: str) -> str:
    """The parts of a value without their quotes; as it is if any has none."""
    is_list = _QUOTED_PARTS.fullmatch(value)
    return ", ".join(value[1:-1].split('"')[::2]) if is_list else value


def _change_forms(columns: Columns, attributes: dict[str, str]) -> None:
    """Writes dates as ISO, and numbers with a point; a cell that is none stays as it is."""
    for key, index in columns.attributes:
        if key in attributes and (form := columns.forms.get(index)):
            attributes[key] = forms.read_cell(attributes[key], form) or attributes[key]


_CORRECT = say("Correct the cell, or leave it empty.")


def _check(field: Field | None, value: str, checked: Details, remedy: Sentence = _CORRECT) -> None:
    try:
        details.check_details(checked)
    except InvalidContactError as error:
        raise _RowRefusedError(field, value, error.args[0], remedy) from None
