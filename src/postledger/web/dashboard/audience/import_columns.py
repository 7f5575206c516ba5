"""Which column of an uploaded file becomes what, as a person chooses it on the page. Pure."""

import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.http import QueryDict
from django.utils.functional import Promise
from django.utils.translation import gettext, gettext_lazy, gettext_noop

from postledger.contacts.csv_columns import ATTRIBUTE, Field
from postledger.contacts.state_columns import StateColumn, find_kind
from postledger.imports import uploads
from postledger.imports.columns import (
    IGNORED,
    exact_mapping,
    join_target,
    split_target,
    suggest_targets,
)
from postledger.imports.dates import DateColumn, DateOrder
from postledger.imports.forms import FORMS, Form, FormColumn
from postledger.imports.numbers import NumberColumn, NumberForm
from postledger.imports.overview import ImportOverview
from postledger.lib.folding import fold_accents, fold_words
from postledger.web.dashboard import text_names
from postledger.web.dashboard.parameters import read_text

AN_ATTRIBUTE = "attribute"  # with a key that is written beside it
TARGETS: Mapping[str, Promise | str] = {
    Field.EMAIL: gettext_lazy("Address"),
    Field.NAME: gettext_lazy("Full name"),
    Field.FIRST_NAME: gettext_lazy("First name"),
    Field.LAST_NAME: gettext_lazy("Last name"),
    Field.FROM_NAME: gettext_lazy("Name they see as the sender"),
    Field.LOCALE: gettext_lazy("Language"),
    Field.TIME_ZONE: gettext_lazy("Time zone"),
    Field.OCD_IDS: gettext_lazy("Places (OCD ids)"),
    Field.EXTERNAL_ID: gettext_lazy("External id"),
    Field.OLD_STATE: gettext_lazy("State in the old tool"),
    AN_ATTRIBUTE: gettext_lazy("Attribute"),
    DateOrder.DAY_FIRST: gettext_lazy("Date, day first"),
    DateOrder.MONTH_FIRST: gettext_lazy("Date, month first"),
    NumberForm.DECIMAL_COMMA: gettext_lazy("Number with a decimal comma"),
    IGNORED: gettext_lazy("Leave out"),
}
NAMED_ATTRIBUTE = gettext_noop("Attribute “%(key)s”")
# What a column says that becomes the state in the old tool.
_MEANINGS: Mapping[StateColumn, Promise] = {
    StateColumn.STATE: gettext_lazy(
        "Unsubscribed, bounced or complained: never mailed. Empty, or a word that is not known: not"
        " subscribed, and a row to look at."
    ),
    StateColumn.OPT_OUT: gettext_lazy(
        "Yes or a date: unsubscribed in your old tool, so never mailed; nor is anybody who bounced"
        " or complained. No or empty: may be mailed. Anything else: not subscribed, and a row to"
        " look at."
    ),
    StateColumn.CONSENT: gettext_lazy(
        "No: unsubscribed in your old tool, so never mailed; nor is anybody who bounced or"
        " complained. Yes or a date: may be mailed. Empty or anything else: not subscribed, and a"
        " row to look at."
    ),
    StateColumn.CONSENT_TIME: gettext_lazy(
        "Yes, a date or empty: may be mailed, as tools leave the time empty of people who were"
        " imported or added there. No: unsubscribed in your old tool, so never mailed; nor is"
        " anybody who bounced or complained. Anything else: not subscribed, and a row to look at."
    ),
    StateColumn.CONFIRMATION: gettext_lazy(
        "No: never confirmed in your old tool, so not subscribed. Unsubscribed, bounced or"
        " complained: never mailed. Yes or a date: may be mailed. Empty or anything else: not"
        " subscribed, and a row to look at."
    ),
}
# Beside a column of dates that are not ISO, or of numbers with a comma.
_FORMS: Mapping[Form, Promise] = {
    DateOrder.DAY_FIRST: gettext_lazy("Dates with the day first: stored like 2024-12-31."),
    DateOrder.MONTH_FIRST: gettext_lazy("Dates with the month first: stored like 2024-12-31."),
    NumberForm.DECIMAL_COMMA: gettext_lazy("Numbers with a decimal comma: stored like 35.50."),
}
# Beside such a column that becomes an attribute as it is.
_TEXTS: Mapping[type[FormColumn], Promise] = {
    DateColumn: gettext_lazy(
        "These look like dates. As an attribute they are texts, which no condition about days"
        " finds: choose “Date”, with the day or the month first."
    ),
    NumberColumn: gettext_lazy(
        "These look like numbers with a comma. As an attribute they are texts, which no condition"
        " such as “is over” finds: choose “Number with a decimal comma”, or write them without"
        " commas between thousands."
    ),
}
_SHOWN_VALUES = 3
_WITH_KEY = {AN_ATTRIBUTE, *FORMS}
_BETWEEN = re.compile(r"\W+")


@dataclass(frozen=True, slots=True)
class ColumnChoice:
    """A column with a name, what it becomes, and of an attribute the key."""

    number: int
    name: str
    values: str  # the first ones
    target: str
    key: str
    is_state_like: bool = False  # it looks as if it said who left the old tool
    written_as: type[FormColumn] | None = None  # dates that are not ISO, numbers with a comma

    @property
    def becomes(self) -> str:
        """Its target in words, for those who see no select."""
        if self.target == AN_ATTRIBUTE:
            return gettext(NAMED_ATTRIBUTE) % {"key": self.key}
        label = str(TARGETS[self.target])
        return f"{label}: {self.key}" if self.target in FORMS else label

    @property
    def meaning(self) -> Promise | str:
        """How a column is read that says who left the old tool, or that has dates or numbers."""
        if self.target in FORMS:
            return _FORMS[FORMS[self.target]]
        if self.written_as and self.target == AN_ATTRIBUTE:
            return _TEXTS[self.written_as]
        kind = find_kind(self.name) or StateColumn.STATE
        return _MEANINGS[kind] if self.target == Field.OLD_STATE else ""

    @property
    def ignores_state(self) -> bool:
        """Whether it seems to say who left the old tool, and is not read so."""
        return self.is_state_like and self.target != Field.OLD_STATE

    @property
    def other_name(self) -> str:
        """One that texts can name, if they cannot name the attribute that it becomes."""
        return text_names.propose_other(self.key) if self.target in _WITH_KEY else ""


@dataclass(frozen=True, slots=True)
class ImportSettings:
    """What a person chose for an import: a list, or the name of a new one."""

    columns: Sequence[ColumnChoice]
    list_key: str
    new_list: str


def read_settings(overview: ImportOverview, given: QueryDict) -> ImportSettings:
    """What a form has; whatever it leaves out is as the import has it."""
    upload, mapping = overview.upload, overview.mapping
    return ImportSettings(
        list_choices(upload, mapping, given) if upload else (),
        read_text(given, "list") if "list" in given else overview.list or "",
        read_text(given, "new_list").strip() if "new_list" in given else overview.new_list,
    )


def differ_from_dry_run(overview: ImportOverview, chosen: ImportSettings) -> bool:
    """Whether an import with these settings would do something else than its dry run."""
    header = overview.upload["header"] if overview.upload else []
    return (
        chosen.new_list != overview.new_list
        or chosen.list_key != (overview.list or "")
        or build_mapping(chosen.columns) != exact_mapping(header, overview.mapping)
    )


def list_choices(
    upload: Mapping[str, Any],
    mapping: Mapping[str, str],
    given: QueryDict | None = None,
    *,
    known_keys: Iterable[str] = (),
) -> list[ColumnChoice]:
    """The columns as a form has them, else as the import does, else as their names suggest.

    `known_keys` are those of attributes that contacts have already.
    """
    state_like, forms = upload.get("state_like", ()), uploads.read_forms(upload)
    keys = _propose_keys(upload["header"], sorted(known_keys))
    targets = mapping or _propose_targets(upload["header"], state_like, forms, keys)
    choices = [
        _make_choice(number, name, upload["rows"], targets, keys)
        for number, name in enumerate(upload["header"])
        if name
    ]
    return [
        replace(
            choice if given is None else _read_choice(choice, given),
            is_state_like=choice.name in state_like,
            written_as=type(forms[choice.name]) if choice.name in forms else None,
        )
        for choice in choices
    ]


def _read_choice(choice: ColumnChoice, given: QueryDict) -> ColumnChoice:
    target = given.get(f"target-{choice.number}", choice.target)
    key = given.get(f"key-{choice.number}", choice.key).strip()
    return replace(choice, target=target, key=key)


def _propose_keys(header: Iterable[str], known_keys: Iterable[str]) -> dict[str, str]:
    """The key of each column if it is an attribute: one that contacts have, or else a plain one."""
    known = {fold_words(_fold(key)): key for key in known_keys}
    exact = set(known_keys)
    return {
        name: name if name in exact else known.get(fold_words(_fold(name)), _fold(name))
        for name in header
    }


def _propose_targets(
    header: Sequence[str],
    state_like: Container[str],
    forms: Mapping[str, FormColumn],
    keys: Mapping[str, str],
) -> dict[str, str]:
    """Letters name an attribute as it is written, so columns that differ in case share a key."""
    targets: dict[str, str] = {}
    for name, usual in suggest_targets(header, state_like, forms).items():
        target, form = split_target(usual)
        if target == ATTRIBUTE + name:
            proposed = ATTRIBUTE + keys[name]
            target = target if proposed in targets.values() else proposed
        targets[name] = join_target(target.removeprefix(ATTRIBUTE), form) if form else target
    return targets


def _fold(name: str) -> str:
    """The name in lowercase, with _ for everything between its words; as it is without words.

    Accents go where texts can name it then; in other scripts they are part of the letters.
    """
    key = _BETWEEN.sub("_", name.casefold()).strip("_") or name
    plain = fold_accents(key)
    return plain if text_names.is_nameable(plain) else key


def _make_choice(
    number: int,
    name: str,
    rows: Sequence[Sequence[str]],
    targets: Mapping[str, str],
    keys: Mapping[str, str],
) -> ColumnChoice:
    target, form = split_target(targets.get(name, IGNORED))
    key = target.removeprefix(ATTRIBUTE) if target.startswith(ATTRIBUTE) else keys[name]
    if target.startswith(ATTRIBUTE):
        target = form or AN_ATTRIBUTE
    values = [row[number] for row in rows if number < len(row) and row[number]]
    return ColumnChoice(number, name, ", ".join(values[:_SHOWN_VALUES]), target, key)


def build_mapping(choices: Sequence[ColumnChoice]) -> dict[str, str]:
    """The mapping that an import takes; it refuses what cannot be."""
    return dict(_map_columns(choices))


def _map_columns(choices: Sequence[ColumnChoice]) -> Iterator[tuple[str, str]]:
    for choice in choices:
        form, has_key = FORMS.get(choice.target), choice.target in _WITH_KEY
        yield choice.name, join_target(choice.key, form) if has_key else choice.target
