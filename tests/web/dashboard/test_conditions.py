"""The filter builder: what a person chooses, the filter that it means, and back."""

from datetime import UTC, datetime
from typing import Any

import pytest

from postledger.contacts.filters import parsing
from postledger.web.dashboard.editor import conditions
from postledger.web.dashboard.editor.conditions import (
    COMPARISONS,
    Condition,
    IncompleteConditionError,
)

FIELDS = {"attribute": "attributes.plan", "locale": "locale", "place": "ocd_ids"}
FIELDS |= {"list": "list:news", "time": "created_at"}
VALUES = {"since": "2026-01-31", "before": "2026-01-31", "within_days": "30"}
VALUES |= dict.fromkeys(("over", "at_least", "under", "at_most"), "4.5")
VALUES |= dict.fromkeys(("in", "not_in", "has_any"), "pro, 5, true")
VALUES |= dict.fromkeys(("on", "not_on", "exists", "missing"), "")
EVERY = [
    Condition(FIELDS[kind], one.key, VALUES.get(one.key, "pro"))
    for one in COMPARISONS
    for kind in one.kinds.split()
]


@pytest.mark.parametrize("condition", EVERY, ids=lambda one: f"{one.comparison} {one.field}")
def test_every_condition_is_a_filter_and_comes_back_as_it_was(condition: Condition) -> None:
    built = conditions.build_filter("any", [condition])

    parsing.parse(built, now=datetime(2026, 11, 15, tzinfo=UTC))
    assert conditions.read_filter(built) == ("any", [condition])


@pytest.mark.parametrize(
    ("text", "readings"),
    [("pro", None), ("5", ["5", 5]), ("true", ["true", True]), ("05", None), ("1e5", None)],
)
def test_a_text_that_may_be_a_number_is_compared_as_both(
    text: str, readings: list[object] | None
) -> None:
    [part] = conditions.build_filter("all", [Condition("attributes.a", "is", text)])["all"]

    expected: dict[str, object] = {"is": text} if readings is None else {"in": readings}
    assert part == {"field": "attributes.a", **expected}


@pytest.mark.parametrize(("text", "number"), [("1,5", 1.5), ("1 000", 1000), ("30", 30)])
def test_a_bound_is_read_as_people_type_numbers(text: str, number: float) -> None:
    [part] = conditions.build_filter("all", [Condition("attributes.a", "over", text)])["all"]

    assert part == {"field": "attributes.a", "over": number}


def test_a_bound_with_two_readings_is_asked_about() -> None:
    with pytest.raises(IncompleteConditionError, match="may mean 1000 or 1"):
        conditions.build_filter("all", [Condition("attributes.a", "over", "1.000")])


@pytest.mark.parametrize("number", [1.125, 1000, 2.5])
def test_a_stored_bound_comes_back_as_it_was(number: float) -> None:
    stored = {"all": [{"field": "attributes.a", "under": number}]}

    found = conditions.read_filter(stored)

    assert found is not None
    assert conditions.build_filter(*found) == stored


@pytest.mark.parametrize(
    "stored",
    [
        {"all": [{"any": [{"plan": "pro"}]}]},
        {"field": "attributes.age", "is": 5},
        {"field": "attributes.a", "in": ["with, comma", "b"]},
        {"list": "news", "is": "pending"},
        {"not": {"not": {"plan": "pro"}}},
        {"field": "state", "is": "active"},
    ],
)
def test_a_filter_that_would_change_is_not_shown(stored: dict[str, Any]) -> None:
    assert conditions.read_filter(stored) is None


def test_the_short_form_is_shown_as_conditions() -> None:
    shown = conditions.read_filter({"plan": "pro", "list": "news"})

    assert shown == (
        "all",
        [Condition("attributes.plan", "is", "pro"), Condition("list:news", "on")],
    )
    assert conditions.read_filter({}) == ("all", [])


@pytest.mark.parametrize(
    "condition",
    [
        Condition("attributes.plan", "is", " "),
        Condition("attributes.age", "over", "many"),
        Condition("created_at", "since", "31.02.2026"),
        Condition("created_at", "before", "2026-02-28T09:00"),
        Condition("locale", "contains", "e"),
        Condition("locale", "nothing", "e"),
    ],
)
def test_a_condition_that_means_nothing_is_refused_by_its_number(condition: Condition) -> None:
    with pytest.raises(IncompleteConditionError) as refused:
        conditions.build_filter("all", [Condition(), Condition("list:news", "on"), condition])

    assert refused.value.number == 1
