"""Columns that are stored in another form than the file has: dates as ISO, and numbers with a point
before their decimals.
"""

from collections.abc import Mapping, Sequence

from postledger.imports import dates, numbers
from postledger.imports.dates import DateColumn, DateOrder
from postledger.imports.numbers import NumberColumn, NumberForm

type Form = DateOrder | NumberForm
type FormColumn = DateColumn | NumberColumn

FORMS: Mapping[str, Form] = {form.value: form for form in (*DateOrder, *NumberForm)}


def find_columns(
    header: Sequence[str], rows: Sequence[Sequence[str]]
) -> dict[str, tuple[int, type[FormColumn]]]:
    """The columns of whose values most are in another form, with their positions and kinds."""
    columns: dict[str, tuple[int, type[FormColumn]]] = {}
    for index, name in enumerate(header):
        for kind in (DateColumn, NumberColumn) if name else ():
            column = kind()
            column.add_rows(rows, index)
            if column.written > column.others:
                columns[name] = (index, kind)
    return columns


def read_cell(cell: str, form: Form) -> str | None:
    """The value as it is stored; None if the cell is not in this form."""
    if isinstance(form, DateOrder):
        return dates.read_date(cell, form)
    return numbers.read_number(cell)
