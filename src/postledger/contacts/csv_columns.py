"""What the columns of a CSV file of contacts are called, and cells that no spreadsheet executes."""

import csv
import io
import re
from collections.abc import Iterable
from enum import StrEnum

ATTRIBUTE = "attributes."


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


PARTS_OF_NAME = (Field.FIRST_NAME, Field.LAST_NAME)

# Names of columns in lowercase, without the signs between the words.
_USUAL = {field.value.replace("_", ""): field for field in Field} | {
    "emailaddress": Field.EMAIL,
    "mail": Field.EMAIL,
    "fullname": Field.NAME,
    "surname": Field.LAST_NAME,
}
_SIGNS = str.maketrans("", "", " -_.")
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
    field = _USUAL.get(column.lower().translate(_SIGNS))
    return field.value if field else ATTRIBUTE + column


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
