"""What the columns of a CSV file of contacts are called, and cells that no spreadsheet executes."""

import csv
import io
from collections.abc import Iterable
from enum import StrEnum

ATTRIBUTE = "attributes."


class Field(StrEnum):
    """What a column can hold, besides an attribute."""

    EMAIL = "email"
    NAME = "name"
    FIRST_NAME = "first_name"  # first and last name are joined
    LAST_NAME = "last_name"
    FROM_NAME = "from_name"
    LOCALE = "locale"
    TIME_ZONE = "time_zone"
    OCD_IDS = "ocd_ids"  # several, with spaces or semicolons between them
    EXTERNAL_ID = "external_id"


# Names of columns in lowercase, without the signs between the words.
_USUAL = {field.value.replace("_", ""): field for field in Field} | {
    "emailaddress": Field.EMAIL,
    "mail": Field.EMAIL,
    "fullname": Field.NAME,
    "surname": Field.LAST_NAME,
}
_SIGNS = str.maketrans("", "", " -_.")
# A spreadsheet takes a cell that begins with one of these for a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def usual_target(column: str) -> str:
    """The field, or the attribute with its prefix, that a column of this name holds by default."""
    if column.startswith(ATTRIBUTE):
        return column
    field = _USUAL.get(column.lower().translate(_SIGNS))
    return field.value if field else ATTRIBUTE + column


def escape_formula(cell: str) -> str:
    return f"'{cell}" if cell.startswith(_FORMULA) else cell


def read_cell(cell: str) -> str:
    """Strips spaces, and the apostrophe that `escape_formula` adds."""
    cell = cell.strip()
    return cell[1:] if cell[:1] == "'" and cell[1:].startswith(_FORMULA) else cell


def csv_line(cells: Iterable[object], *, is_raw: bool = False) -> str:
    """One line of a CSV file, with its line end; formulas are escaped unless it is to be raw."""
    texts = map(str, cells)
    line = io.StringIO()
    csv.writer(line).writerow(texts if is_raw else map(escape_formula, texts))
    return line.getvalue()
