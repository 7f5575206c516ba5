"""What URLs and forms ask for, as far as the database can be asked for it."""

from django.http import QueryDict
from django.urls.converters import IntConverter

_MOST_DIGITS = 18  # of a bigint


class NumberConverter(IntConverter):
    """A number of ours in a path; a longer one leads nowhere."""

    regex = f"[0-9]{{1,{_MOST_DIGITS}}}"


def read_text(values: QueryDict, name: str) -> str:
    """Empty if it is not given; without the character that no text of the database has."""
    return values.get(name, "").replace("\0", "")


def read_number(values: QueryDict, name: str) -> int | None:
    """None for what is no number of ours."""
    text = values.get(name, "")
    is_number = text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS
    return int(text) if is_number else None
