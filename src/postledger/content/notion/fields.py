"""Reads fields of Notion's JSON; a field that is missing or of another type counts as empty."""

import re
from collections.abc import Mapping

type Record = Mapping[str, object]

_LINE_END = re.compile(r"\r\n?|\u2028|\u2029")


def record(holder: Record, name: str) -> Record:
    value = holder.get(name)
    return value if isinstance(value, dict) else {}


def records(holder: Record, name: str) -> list[Record]:
    return [value for value in array(holder, name) if isinstance(value, dict)]


def array(holder: Record, name: str) -> list[object]:
    value = holder.get(name)
    return value if isinstance(value, list) else []


def text(holder: Record, name: str) -> str:
    value = holder.get(name)
    return clean(value) if isinstance(value, str) else ""


def flag(holder: Record, name: str) -> bool:
    return holder.get(name) is True


def number(holder: Record, name: str) -> int | None:
    value = holder.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def clean(value: str) -> str:
    """The text without NUL bytes, unpaired surrogates and foreign line ends."""
    repaired = value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return _LINE_END.sub("\n", repaired.replace("\x00", ""))
