"""What the columns of a CSV file of contacts are called, and cells that no spreadsheet executes."""

import csv
import io
import re
from collections.abc import Container, Iterable, Mapping
from enum import StrEnum

from postledger.contacts.state_columns import ANSWERS, StateColumn, find_kind
from postledger.lib.folding import fold_words

ATTRIBUTE = "attributes."
# Columns that an export adds for its reader, and an import leaves out: a file raises no consent.
# With a prefix, as `state` is often a place.
FOR_READERS = ("postledger_state", "postledger_lists", "postledger_consents")


class Field(StrEnum):
    """What a column can hold, besides an attribute."""

    EMAIL = "email"
    NAME = "name"
    # First and last name are joined to the name, and are attributes as well.
    FIRST_NAME = "first_name"
    LAST_NAME = "last_name"
    FROM_NAME = "from_name"
    LOCALE = "locale"
    TIME_ZONE = "time_zone"
    OCD_IDS = "ocd_ids"  # several, with spaces or semicolons between them
    EXTERNAL_ID = "external_id"
    OLD_STATE = "old_state"  # whether the tool that the file comes from mailed this person


PARTS_OF_NAME = (Field.FIRST_NAME, Field.LAST_NAME)

# What programs and people call them in English, German, Russian, Portuguese, Polish, Spanish and
# French; not what has another meaning elsewhere, as Apelido.
_NAMES: Mapping[Field, str] = {
    Field.EMAIL: (
        "email, mail, email address, e-mail-adresse, mailadresse, почта, эл. почта,"
        " электронная почта, адрес электронной почты, endereço de email, correio eletrónico,"
        " correio eletrônico, adres email, correo, correo electrónico,"
        " dirección de correo electrónico, courriel, adresse email, adresse mail"
    ),
    Field.NAME: (
        "full name, vollständiger name, имя, полное имя, фио, nome, nome completo,"
        " imię i nazwisko, nombre, nombre completo, nom, nom complet"
    ),
    Field.FIRST_NAME: "given name, forename, vorname, primeiro nome, imię, primer nombre, prénom",
    Field.LAST_NAME: (
        "surname, family name, nachname, familienname, фамилия, sobrenome, nazwisko, apellido,"
        " apellidos, nom de famille, cognome"
    ),
    Field.LOCALE: "language, lang, sprache, язык, idioma, língua, język, langue",
    Field.TIME_ZONE: (
        "zeitzone, часовой пояс, fuso horário, strefa czasowa, zona horaria, huso horario,"
        " fuseau horaire"
    ),
}
_USUAL = {fold_words(field): field for field in Field} | {
    fold_words(name): field for field, names in _NAMES.items() for name in names.split(", ")
}
# What is a full name by itself, and beside a column of the second name only a part of it.
_PARTS: Mapping[tuple[str, str], Field] = {
    ("name", "vorname"): Field.LAST_NAME,
    ("nom", "prenom"): Field.LAST_NAME,
    ("nome", "sobrenome"): Field.FIRST_NAME,
    ("nome", "cognome"): Field.FIRST_NAME,
    ("nombre", "apellido"): Field.FIRST_NAME,
    ("nombre", "apellidos"): Field.FIRST_NAME,
    (fold_words("имя"), fold_words("фамилия")): Field.FIRST_NAME,
}
# A spreadsheet takes a cell that begins with one of these for a formula. A reader that splits at
# other delimiters than commas sees cells begin inside ours, with quotes that we doubled.
_SIGN = r"[=+\-@\uff1d\uff0b\uff0d\uff20]"
_BEGINNING = r"(?:\A|[;|\t\r\n])[ \"]*+"
_FORMULA = re.compile(rf"\A(?='*+[\t\r])|{_BEGINNING}(?='*+{_SIGN})")
_ESCAPED = re.compile(rf"\A'(?='*+[\t\r])|{_BEGINNING}'(?='*+{_SIGN})")


def usual_target(column: str) -> str:
    """The field, or the attribute with its prefix, that a column of this name holds by default."""
    if column.startswith(ATTRIBUTE):
        return column
    field = _USUAL.get(fold_words(column))
    return field.value if field else ATTRIBUTE + column


def is_plain_name(column: str) -> bool:
    """Whether a column of this name is an attribute, whatever its values are."""
    is_attribute = usual_target(column) == ATTRIBUTE + column
    return is_attribute and find_kind(column) is None and column not in FOR_READERS


def usual_targets(header: Iterable[str], state_like: Container[str] = ()) -> dict[str, str]:
    """The same for all columns that an import reads: what one holds may depend on the others.

    `state_like` are the columns that look like states of people in another tool. Of several
    columns for one field, that of the field's own name has it, else the first one; the others are
    attributes. Which of several is the address is not guessed, and every column that says who left
    is read.
    """
    targets = {
        column: usual_target(column) for column in header if column not in {"", *FOR_READERS}
    }
    folded = {fold_words(column): column for column in targets}
    for (name, other), part in _PARTS.items():
        if {name, other} <= folded.keys() and part not in targets.values():
            targets[folded[name]] = part.value
    for column in targets:
        kind = find_kind(column)
        if kind in ANSWERS or (kind is StateColumn.STATE and column in state_like):
            targets[column] = Field.OLD_STATE.value
    owners: dict[str, str] = {}
    for column, target in sorted(targets.items(), key=lambda item: not _has_own_name(*item)):
        if target == Field.OLD_STATE:
            continue
        owner = owners.setdefault(target, column)
        if owner != column and (target != Field.EMAIL or _has_own_name(owner, target)):
            targets[column] = ATTRIBUTE + column
    return targets


def _has_own_name(column: str, target: str) -> bool:
    return column == target or fold_words(column) == fold_words(target)


def escape_formula(cell: str) -> str:
    """Puts an apostrophe before everything that a spreadsheet could take for a formula."""
    return _FORMULA.sub(lambda match: f"{match[0]}'", cell)


def read_cell(cell: str) -> str:
    """Strips spaces, and the apostrophes that `escape_formula` adds."""
    if "'" in cell:
        cell = _ESCAPED.sub(lambda match: match[0][:-1], cell)
    return cell.strip()


def csv_line(cells: Iterable[object], *, is_raw: bool = False) -> str:
    """One line of a CSV file, all cells in quotes, with its line end; formulas are escaped unless
    it is to be raw.
    """
    texts = map(str, cells)
    line = io.StringIO()
    writer = csv.writer(line, quoting=csv.QUOTE_ALL)
    writer.writerow(texts if is_raw else map(escape_formula, texts))
    return line.getvalue()
