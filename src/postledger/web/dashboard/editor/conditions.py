"""The conditions of the filter builder, and the filter that they mean. Pure.

The builder knows conditions that all or any of must hold. Another filter is shown as JSON.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from django.core.exceptions import ValidationError
from django.http import QueryDict
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from postledger.contacts import details
from postledger.contacts.details import InvalidContactError
from postledger.web.dashboard import language_names, typed_numbers
from postledger.web.shared.sentences import translate

ATTRIBUTE, LIST = "attributes.", "list:"
MATCHES = ("all", "any")
_LINE = re.compile(r"\$\.(?:all\[0\]\.(?=any\[))?(?:all|any)\[([0-9]{1,4})\]")
_NUMBER = re.compile(r"-?[0-9]{1,15}(\.[0-9]{1,9})?")
_WORDS = {"true": True, "false": False}
_NEGATED = {"is_not": "is", "not_in": "in", "not_contains": "contains"}
_WITHOUT_VALUE = {"on", "not_on", "exists", "missing"}
_NUMERIC = {"over", "at_least", "under", "at_most", "within_days"}
_SEVERAL = {"in", "not_in", "has_any"}
_OF_ONE = {"is", "is_not"}


@dataclass(frozen=True, slots=True)
class Comparison:
    """A way to compare, and the kinds of fields that have it."""

    key: str
    label: Promise | str
    kinds: str


COMPARISONS = (
    Comparison("is", gettext_lazy("is"), "attribute locale domain"),
    Comparison("is_not", gettext_lazy("is not"), "attribute locale domain"),
    Comparison("in", gettext_lazy("is one of"), "attribute locale domain"),
    Comparison("not_in", gettext_lazy("is none of"), "attribute locale domain"),
    Comparison("starts_with", gettext_lazy("begins with"), "attribute locale"),
    Comparison("contains", gettext_lazy("contains"), "attribute"),
    Comparison("not_contains", gettext_lazy("does not contain"), "attribute"),
    Comparison("has", gettext_lazy("includes"), "attribute place"),
    Comparison("has_any", gettext_lazy("includes one of"), "attribute place"),
    Comparison("over", gettext_lazy("is over"), "attribute"),
    Comparison("at_least", gettext_lazy("is at least"), "attribute"),
    Comparison("under", gettext_lazy("is under"), "attribute"),
    Comparison("at_most", gettext_lazy("is at most"), "attribute"),
    Comparison("since", gettext_lazy("since the day"), "attribute time"),
    Comparison("before", gettext_lazy("before the day"), "attribute time"),
    Comparison("exists", gettext_lazy("has a value"), "attribute locale place"),
    Comparison("missing", gettext_lazy("has no value"), "attribute locale place"),
    Comparison("on", gettext_lazy("is subscribed"), "list"),
    Comparison("not_on", gettext_lazy("is not subscribed"), "list"),
    Comparison("within_days", gettext_lazy("in the last days"), "time"),
)
_KINDS = {one.key: one.kinds.split() for one in COMPARISONS}
_OF_COLUMNS = {"domain": "domain", "locale": "locale", "ocd_ids": "place", "created_at": "time"}


@dataclass(frozen=True, slots=True)
class Condition:
    """One line of the builder, as a person filled it in; languages are codes."""

    field: str = ""
    comparison: str = "is"
    value: str = ""

    @property
    def kind(self) -> str:
        return find_kind(self.field)

    @property
    def has_language(self) -> bool:
        """Whether the value is one language, to be chosen from a list."""
        return self.kind == "locale" and self.comparison in _OF_ONE

    @property
    def words(self) -> str:
        """The value in the language of the page."""
        return language_names.name_languages(self.value) if self.kind == "locale" else self.value

    @property
    def typed(self) -> str:
        """The value as a person may type it: in words that are read as the same value."""
        is_read = self.kind == "locale" and language_names.read_codes(self.words) == self.value
        return self.words if is_read else self.value


def read_lines(given: QueryDict) -> list[Condition]:
    """The lines as a form sent them; languages may be typed by their names."""
    lines = zip(*map(given.getlist, ("field", "op", "value")), strict=False)
    return [
        Condition(field, op, language_names.read_codes(value) if field == "locale" else value)
        for field, op, value in lines
    ]


class IncompleteConditionError(Exception):
    """A condition means nothing as it stands; the text says what to do.

    Lines without a field are not counted: pages do not show them again.
    """

    def __init__(self, number: int, text: str) -> None:
        super().__init__(text)
        self.number = number


def find_line(path: str) -> int | None:
    """The condition that a path in the filter is about, from 0 on; None: about no single one.

    Beside exceptions, the alternatives of the builder are the first part that must hold.
    """
    found = _LINE.match(path)
    return int(found[1]) if found else None


def find_kind(field: str) -> str:
    """Empty for a field that the builder does not offer."""
    if field.startswith(LIST):
        return "list"
    return "attribute" if field.startswith(ATTRIBUTE) else _OF_COLUMNS.get(field, "")


def build_filter(match: str, conditions: Sequence[Condition]) -> dict[str, Any]:
    """The filter in JSON; lines without a field are left out."""
    named = (condition for condition in conditions if condition.field)
    parts = [_build_part(number, condition) for number, condition in enumerate(named)]
    return {match: parts} if parts else {}


def _build_part(number: int, condition: Condition) -> dict[str, Any]:
    comparison, value = condition.comparison, condition.value.strip()
    if condition.kind not in _KINDS.get(comparison, ()):
        raise IncompleteConditionError(number, _("Choose a comparison that this field has."))
    if comparison not in _WITHOUT_VALUE and not value:
        raise IncompleteConditionError(number, _("Write a value, or remove the condition."))
    match comparison:
        case "on" | "not_on":
            on_list: dict[str, Any] = {"list": condition.field.removeprefix(LIST)}
            return on_list if comparison == "on" else {"not": on_list}
        case "exists" | "missing":
            return {"field": condition.field, "exists": comparison == "exists"}
        case "is_not" | "not_in" | "not_contains":
            plain = Condition(condition.field, _NEGATED[comparison], value)
            return {"not": _build_part(number, plain)}
        case "since" | "before":
            return {"field": condition.field, comparison: _read_day(number, condition.kind, value)}
        case _ if comparison in _NUMERIC:
            return {"field": condition.field, comparison: _read_number(number, value)}
        case _:
            return _compare_texts(number, condition)


def _check_languages(number: int, codes: Sequence[str]) -> None:
    try:
        for code in codes:
            details.check_locale(code)
    except InvalidContactError as error:
        raise IncompleteConditionError(number, translate(error)) from None


def _compare_texts(number: int, condition: Condition) -> dict[str, Any]:
    """A text that reads as a number or as true or false is compared as both."""
    comparison, value = condition.comparison, condition.value.strip()
    several = [text.strip() for text in value.split(",")] if comparison in _SEVERAL else [value]
    texts = [text for text in several if text]
    if condition.kind == "locale" and comparison != "starts_with":
        _check_languages(number, texts)
    if condition.kind != "attribute" or comparison not in {"is", "in", "has", "has_any"}:
        values: list[object] = list(texts)
    else:
        values = [reading for text in texts for reading in _list_readings(text)]
    if comparison in {"is", "has"} and len(values) > 1:
        return {"field": condition.field, {"is": "in", "has": "has_any"}[comparison]: values}
    is_list = comparison in _SEVERAL
    return {"field": condition.field, comparison: values if is_list else values[0]}


def _list_readings(text: str) -> list[object]:
    if text in _WORDS:
        return [text, _WORDS[text]]
    return [text, json.loads(text)] if _is_number(text) else [text]


def _is_number(text: str) -> bool:
    """Without zeros in front: those are codes, and no numbers."""
    digits = text.removeprefix("-").partition(".")[0]
    has_zero = len(digits) > 1 and digits.startswith("0")
    return _NUMBER.fullmatch(text) is not None and not has_zero


def _read_number(number: int, text: str) -> object:
    try:
        plain = typed_numbers.spell_decimal(text)
    except ValidationError as error:
        raise IncompleteConditionError(number, error.messages[0]) from None
    if not _is_number(plain):
        raise IncompleteConditionError(number, _("Write a number here."))
    return json.loads(plain)


def _read_day(number: int, kind: str, text: str) -> str:
    """A day, or for a column of times a time with its zone, as filters have them."""
    try:
        if kind != "time" or datetime.fromisoformat(text).tzinfo is None:
            date.fromisoformat(text)
    except ValueError:
        text = _("Write a day like 2026-11-15.")
        raise IncompleteConditionError(number, text) from None
    return text


# What JSON that is no filter of the builder raises while it is read, at any depth.
_UNREADABLE = (
    *(IncompleteConditionError, KeyError, TypeError, ValueError, AttributeError),
    RecursionError,
)


def read_filter(stored: Mapping[str, Any]) -> tuple[str, list[Condition]] | None:
    """The lines of a filter; None if the builder cannot show it as it is."""
    match = next((name for name in MATCHES if name in stored and len(stored) == 1), "")
    parts = stored[match] if match else _split_short(stored)
    try:
        conditions = [_read_part(part) for part in parts]
        rebuilt = build_filter(match or "all", conditions)
    except _UNREADABLE:
        return None
    return (match or "all", conditions) if rebuilt.get(match or "all", []) == parts else None


def _split_short(stored: Mapping[str, Any]) -> list[Any]:
    """The conditions of the short form, as in `{"state": "OH", "list": "news"}`."""
    if {"field", "not"} & stored.keys() or ("list" in stored and {"is", "in"} & stored.keys()):
        return [dict(stored)]
    return [
        {"list": value} if key == "list" else {"field": ATTRIBUTE + key, "is": value}
        for key, value in stored.items()
    ]


def _read_part(part: Mapping[str, Any]) -> Condition:
    if "not" in part:
        plain = _read_part(part["not"])
        back = {comparison: name for name, comparison in _NEGATED.items()}
        negated = "not_on" if plain.comparison == "on" else back[plain.comparison]
        return Condition(plain.field, negated, plain.value)
    if "list" in part:
        return Condition(LIST + part["list"], "on")
    [comparison] = part.keys() - {"field"}
    value = part[comparison]
    if comparison == "exists":
        return Condition(part["field"], "exists" if value else "missing")
    if isinstance(value, list):
        texts = list(dict.fromkeys(map(_write, value)))
        singular = {"in": "is", "has_any": "has"}[comparison]
        is_one = len(texts) == 1 and len(value) > 1
        return Condition(part["field"], singular if is_one else comparison, ", ".join(texts))
    if comparison in _NUMERIC and isinstance(value, float):
        return Condition(part["field"], comparison, typed_numbers.write_decimal(value))
    return Condition(part["field"], comparison, _write(value))


def _write(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)
