"""What a person looks for among the contacts: words, a list, a state, and conditions."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django.http import QueryDict
from django.utils.translation import gettext as _

from postledger.contacts.filters import parsing
from postledger.contacts.filters.expressions import (
    All,
    Column,
    Comparison,
    Filter,
    Named,
    OnList,
    Op,
    Standing,
    Stands,
)
from postledger.contacts.filters.parsing import InvalidFilterError
from postledger.contacts.states import ContactState, SubscriptionState
from postledger.lib.errors import RefusedError
from postledger.providers import addresses
from postledger.web.dashboard.editor import conditions, readings
from postledger.web.dashboard.editor.conditions import Condition, IncompleteConditionError
from postledger.web.dashboard.editor.readings import WrongFieldError
from postledger.web.dashboard.parameters import read_text
from postledger.web.shared.sentences import translate

_LONGEST_WORDS = 254


class WrongSearchError(RefusedError):
    """The search cannot be made as it stands; the text says what to do."""

    code = "wrong_search"

    def __init__(self, text: str, line: int | None = None) -> None:
        super().__init__(text)
        self.line = line  # of the conditions that have a field


# What the badge of a contact says: an active contact may be one that is not mailed.
type SearchedState = Standing | ContactState


@dataclass(frozen=True, slots=True)
class ContactSearch:
    """A search as a person filled it in."""

    words: str = ""
    list_key: str = ""
    list_state: SubscriptionState = SubscriptionState.ACTIVE
    state: SearchedState | None = None
    match: str = "all"
    conditions: Sequence[Condition] = ()
    filter_json: str | None = None  # in place of conditions, of a filter that has more than these

    @property
    def has_conditions(self) -> bool:
        return self.filter_json is not None or any(one.field for one in self.conditions)

    @property
    def address(self) -> str:
        """The words as contacts keep a former address."""
        return _as_stored(self.words).lower()

    @property
    def is_narrow(self) -> bool:
        return bool(self.words or self.list_key or self.state or self.has_conditions)


def read_search(given: QueryDict) -> ContactSearch:
    """What a URL asks for; an unknown state filters nothing."""
    state, list_state = read_text(given, "state"), read_text(given, "on")
    match = given.get("match", "all")
    return ContactSearch(
        words=read_text(given, "q").strip()[:_LONGEST_WORDS],
        list_key=read_text(given, "list"),
        list_state=(
            SubscriptionState(list_state)
            if list_state in set(SubscriptionState)
            else SubscriptionState.ACTIVE
        ),
        state=_read_state(state),
        match=match if match in conditions.MATCHES else "all",
        conditions=conditions.read_lines(given),
        filter_json=read_text(given, "filter") if "filter" in given else None,
    )


def _read_state(text: str) -> SearchedState | None:
    if text in set(Standing):
        return Standing(text)
    return ContactState(text) if text in set(ContactState) else None


def build_stored(search: ContactSearch) -> dict[str, Any]:
    """The conditions as the filter in JSON that they mean."""
    try:
        if search.filter_json is not None:
            return dict(readings.parse_json(search.filter_json))
        return conditions.build_filter(search.match, search.conditions)
    except IncompleteConditionError as error:
        raise _refuse_condition(error.number, str(error)) from error
    except WrongFieldError as error:
        raise WrongSearchError(str(error)) from error


def build_filter(search: ContactSearch, *, now: datetime) -> Filter:
    """The contacts that meet every part of a search."""
    parts: list[Filter] = []
    match search.state:
        case Standing():
            parts.append(Stands(search.state))
        case ContactState():
            parts.append(Comparison(Column.STATE, Op.IS, search.state.value))
        case None:
            pass
    if search.list_key:
        parts.append(OnList(search.list_key, (search.list_state,)))
    if search.has_conditions:
        parts.append(_parse(search, now))
    if search.words:
        parts.append(Named(_as_stored(search.words)))
    return All(tuple(parts))


def _parse(search: ContactSearch, now: datetime) -> Filter:
    """Of conditions on the page, the number is said: their place in JSON means nothing there."""
    try:
        return parsing.parse(build_stored(search), now=now)
    except InvalidFilterError as error:
        if search.filter_json is not None:
            raise
        number = conditions.find_line(error.path)
        text = translate(error.detail)
        if number is None:
            raise WrongSearchError(text) from error
        raise _refuse_condition(number, text) from error


def _refuse_condition(number: int, text: str) -> WrongSearchError:
    """Of those conditions that have a field, from 0 on."""
    shown = _("Condition %(number)s: %(text)s") % {"number": number + 1, "text": text}
    return WrongSearchError(shown, number)


def _as_stored(words: str) -> str:
    """A whole address as contacts have it, with its domain in ASCII."""
    return addresses.canonical(words) if addresses.is_valid(words) else words


def build_segment(search: ContactSearch) -> dict[str, Any]:
    """The search as a filter that can be kept; words that somebody typed cannot."""
    _refuse_passing(search)
    parts: list[dict[str, Any]] = []
    if search.list_key:
        parts.append({"list": search.list_key})
        if search.list_state is not SubscriptionState.ACTIVE:
            parts[-1]["is"] = search.list_state.value
    if search.state is not None:
        parts.append({"field": "state", "is": search.state.value})
    conditions_ = build_stored(search)
    if not parts and conditions_:
        return conditions_
    if conditions_:
        parts += conditions_["all"] if [*conditions_] == ["all"] else [conditions_]
    if not parts:
        raise WrongSearchError(_("Choose a list, a state or a condition first."))
    return {"all": parts}


def _refuse_passing(search: ContactSearch) -> None:
    """Refuses what only a search can look for."""
    if search.words:
        raise WrongSearchError(
            _("A segment keeps conditions, not words. Remove the words from the search first.")
        )
    if search.state in {Standing.SUPPRESSED, Standing.UNCONFIRMED}:
        raise WrongSearchError(
            _("A segment cannot be of people who are not mailed. Choose another state first.")
        )


def write_query(stored: Mapping[str, Any]) -> str:
    """The query of the page that finds the contacts of a stored filter."""
    lines = conditions.read_filter(stored)
    if lines is None:
        return urlencode({"filter": json.dumps(stored, ensure_ascii=False)})
    match, written = lines
    values = [("match", match)]
    for line in written:
        values += [("field", line.field), ("op", line.comparison), ("value", line.value)]
    return urlencode(values)
