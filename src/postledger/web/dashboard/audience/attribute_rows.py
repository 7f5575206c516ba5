"""A contact's attributes as lines of a form: a name and a text each. Pure.

Browsers send every line break as CR LF, and take them out of a field of one line.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from django.core.exceptions import ValidationError
from django.http import QueryDict
from django.utils.translation import gettext as _

from postledger.contacts import details
from postledger.contacts.details import InvalidContactError, Value
from postledger.lib.folding import fold_words
from postledger.web.dashboard import text_names, typed_numbers

NEW_ROWS = 3  # empty ones, below those that the contact has


@dataclass(frozen=True, slots=True)
class AttributeRow:
    """One attribute as a person sees it; a stored one keeps its name."""

    key: str = ""
    text: str = ""
    is_stored: bool = False

    @property
    def has_lines(self) -> bool:
        return "\n" in self.text

    @property
    def other_name(self) -> str:
        """One that texts can name, if they cannot name this one."""
        return text_names.propose_other(self.key)


def list_rows(stored: Mapping[str, Value], *, offered: Sequence[str] = ()) -> list[AttributeRow]:
    """Those that are stored, and empty ones: the first of these have the names that are offered."""
    rows = [
        AttributeRow(key, write_value(value), is_stored=True)
        for key, value in sorted(stored.items())
    ]
    return [*rows, *map(AttributeRow, offered), *[AttributeRow()] * NEW_ROWS]


def read_rows(given: QueryDict, stored: Mapping[str, Value]) -> list[AttributeRow]:
    """The lines as they were typed, with empty ones for more."""
    pairs = zip_longest(given.getlist("key"), given.getlist("text"), fillvalue="")
    rows = [AttributeRow(key.strip(), _unify_lines(text), key in stored) for key, text in pairs]
    typed = [row for row in rows if row.key or row.text.strip()]
    return [*typed, *[AttributeRow()] * NEW_ROWS]


def write_value(value: Value) -> str:
    """A value as people read and type it: a list with commas, true and false as in JSON.

    A list that commas would divide elsewhere is written as JSON.
    """
    match value:
        case str():
            return _unify_lines(value)
        case bool() | int() | float():
            return json.dumps(value)
        case _:
            plain = ", ".join(value)
            return plain if _divides(plain, value) else json.dumps(value, ensure_ascii=False)


def _unify_lines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _divides(text: str, items: Sequence[str]) -> bool:
    return not text.startswith("[") and _divide(text) == list(items) and not {*"\r\n"} & {*text}


def _divide(text: str) -> list[str]:
    return [item for part in text.split(",") if (item := part.strip())]


class WrongRowError(ValidationError):
    """What one of the lines says cannot be stored."""

    def __init__(self, number: int, error: ValidationError) -> None:
        super().__init__(error.messages)
        self.number = number


def build_changes(
    rows: Sequence[AttributeRow], stored: Mapping[str, Value], known_names: Collection[str]
) -> dict[str, Value | None]:
    """What the lines change of the stored attributes; None removes one.

    A text that was not touched changes nothing, whatever kind of value it stands for. Spaces around
    a new one are taken away, unless there were some before. A new name that is nearly a known one
    is refused: filters and emails would look at the one, and find nothing in the other. Raises
    WrongRowError for one line, and ValidationError for all of them together.
    """
    changes: dict[str, Value | None] = {}
    for number, row in enumerate(rows):
        try:
            _check_name(row, stored, [*known_names, *changes])
            _add_change(changes, row, stored)
        except ValidationError as error:
            raise WrongRowError(number, error) from None
    _check_all(changes, stored)
    return changes


def _check_name(
    row: AttributeRow, stored: Mapping[str, Value], other_names: Collection[str]
) -> None:
    """Refuses a new name that differs from another only as people spell it."""
    names = {*stored, *other_names}
    if not row.key or not row.text.strip() or row.key in names:
        return
    folded = fold_words(row.key)
    for name in sorted(names):
        if fold_words(name) == folded:
            raise ValidationError(
                _("You already have %(known)s. Use it for “%(name)s”, or choose another name."),
                params={"known": name, "name": row.key[:60]},
            )


def _add_change(
    changes: dict[str, Value | None], row: AttributeRow, stored: Mapping[str, Value]
) -> None:
    text = row.text.strip()
    if text and not row.key:
        raise ValidationError(
            _("Write a name beside the value “%(text)s”."), params={"text": text[:60]}
        )
    if not row.key or (not text and row.key not in stored):
        return
    if row.key in changes:
        raise ValidationError(
            _("The attribute “%(name)s” is there twice. Keep one of them."),
            params={"name": row.key},
        )
    before = stored.get(row.key)
    if before is None or write_value(before) not in {row.text, text}:
        changes[row.key] = _read_value(row.text, before) if text else None
        _check(row.key, changes[row.key])


def _read_value(text: str, before: Value | None) -> Value:
    """A new value of the kind that the attribute has, where the text can be one; else a text."""
    bare = text.strip()
    match before:
        case str() if before != before.strip():
            return text
        case bool() if bare in {"true", "false"}:
            return bare == "true"
        case int() | float() if not isinstance(before, bool):
            number = _read_json(_spell_number(bare))
            return number if isinstance(number, int | float) else bare
        case list():
            return _read_list(bare)
        case _:
            return bare


def _spell_number(text: str) -> str:
    """The number that was typed, in JSON; another text as it is."""
    try:
        return typed_numbers.spell_decimal(text)
    except ValidationError as error:
        if error.code == typed_numbers.AMBIGUOUS:
            raise
        return text


def _read_list(text: str) -> Value:
    if not text.startswith("["):
        return _divide(text)
    items = _read_json(text)
    if not (isinstance(items, list) and all(isinstance(item, str) for item in items)):
        raise ValidationError(
            _(
                "Write the list “%(text)s” with each text in quotation marks, such as"
                ' ["New York, NY", "Boston"].'
            ),
            params={"text": text[:60]},
        )
    return items


def _read_json(text: str) -> object:
    """The number or list that a text is, and None for every other."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return None if isinstance(value, bool) else value


def _check(key: str, value: Value | None) -> None:
    """Says in the reader's language what the contact would be refused for."""
    try:
        details.check_attributes({key: value})
    except InvalidContactError:
        text = _(
            "“%(name)s” cannot be stored: a name has at most %(key)s visible characters,"
            " a value at most %(text)s."
        )
        limits = {"key": details.LONGEST_KEY, "text": details.LONGEST_TEXT}
        raise ValidationError(text, params={"name": key[:60], **limits}) from None


def _check_all(changes: Mapping[str, Value | None], stored: Mapping[str, Value]) -> None:
    kept = {key: value for key, value in {**stored, **changes}.items() if value is not None}
    try:
        details.check_attributes(kept)
    except InvalidContactError:
        text = _("A contact has at most %(most)s attributes, of %(bytes)s bytes in all.")
        raise ValidationError(
            text, params={"most": details.MOST_KEYS, "bytes": details.LARGEST}
        ) from None
