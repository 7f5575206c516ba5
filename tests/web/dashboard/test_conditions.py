"""The filter builder: what a person chooses, the filter that it means, and back."""

from datetime import UTC, datetime
from typing import Any

import pytest
from django.http import QueryDict
from django.utils import timezone

from postledger.contacts.filters import parsing
from postledger.web.dashboard.audience import condition_words
from postledger.web.dashboard.editor import audience_exceptions, conditions
from postledger.web.dashboard.editor.conditions import (
    COMPARISONS,
    Condition,
    IncompleteConditionError,
)

FIELDS = {
    "attribute": "attributes.plan",
    "locale": "locale",
    "domain": "domain",
    "place": "ocd_ids",
}
FIELDS |= {"list": "list:news", "time": "created_at"}
VALUES = {"since": "2026-01-31", "before": "2026-01-31", "within_days": "30"}
VALUES |= dict.fromkeys(("over", "at_least", "under", "at_most"), "4.5")
VALUES |= dict.fromkeys(("in", "not_in", "has_any"), "pro, 5, true")
VALUES |= dict.fromkeys(("on", "not_on", "exists", "missing"), "")
EVERY = [
    Condition(FIELDS[kind], one.key, value if kind != "locale" else value.replace("5, true", "de"))
    for one in COMPARISONS
    for kind in one.kinds.split()
    for value in [VALUES.get(one.key, "pro")]
]


def test_every_condition_is_a_filter_and_comes_back_as_it_was() -> None:
    for condition in EVERY:
        built = conditions.build_filter("any", [condition])

        parsing.parse(built, now=datetime(2026, 11, 15, tzinfo=UTC))
        assert conditions.read_filter(built) == ("any", [condition])


def test_a_text_that_may_be_a_number_is_compared_as_both() -> None:
    readings: dict[str, list[object]] = {"5": ["5", 5], "true": ["true", True]}
    for text in ("pro", "5", "true", "05", "1e5"):
        [part] = conditions.build_filter("all", [Condition("attributes.a", "is", text)])["all"]

        expected: dict[str, object] = {"in": readings[text]} if text in readings else {"is": text}
        assert part == {"field": "attributes.a", **expected}


def test_a_stored_moment_that_a_zone_cannot_show_is_said_as_it_was_written() -> None:
    for zone, moment in (
        ("Europe/Berlin", "9999-12-31T23:59:59Z"),
        ("America/New_York", "0001-01-01T00:00:00Z"),
    ):
        with timezone.override(zone):
            words = condition_words.describe_filter({"field": "created_at", "before": moment}, {})

        assert words == f"created_at before the day {moment}"


def test_a_bound_is_read_as_people_type_numbers() -> None:
    for text, number in (("1,5", 1.5), ("1 000", 1000), ("30", 30)):
        [part] = conditions.build_filter("all", [Condition("attributes.a", "over", text)])["all"]
        assert part == {"field": "attributes.a", "over": number}
    with pytest.raises(IncompleteConditionError, match="may mean 1000 or 1"):
        conditions.build_filter("all", [Condition("attributes.a", "over", "1.000")])


def test_a_stored_bound_comes_back_as_it_was() -> None:
    for number in (1.125, 1000, 2.5):
        stored = {"all": [{"field": "attributes.a", "under": number}]}
        found = conditions.read_filter(stored)

        assert found is not None
        assert conditions.build_filter(*found) == stored


def test_a_filter_that_would_change_is_not_shown() -> None:
    unshown: tuple[dict[str, Any], ...] = (
        {"all": [{"any": [{"plan": "pro"}]}]},
        {"field": "attributes.age", "is": 5},
        {"field": "attributes.a", "in": ["with, comma", "b"]},
        {"list": "news", "is": "pending"},
        {"not": {"not": {"plan": "pro"}}},
        {"field": "state", "is": "active"},
    )
    for stored in unshown:
        assert conditions.read_filter(stored) is None, stored


def test_the_short_form_is_shown_as_conditions() -> None:
    shown = conditions.read_filter({"plan": "pro", "list": "news"})

    assert shown == (
        "all",
        [Condition("attributes.plan", "is", "pro"), Condition("list:news", "on")],
    )
    assert conditions.read_filter({}) == ("all", [])


def test_a_condition_that_means_nothing_is_refused_by_its_number() -> None:
    for condition in (
        Condition("attributes.plan", "is", " "),
        Condition("attributes.age", "over", "many"),
        Condition("created_at", "since", "31.02.2026"),
        Condition("created_at", "before", "2026-02-28T09:00"),
        Condition("attributes.renews", "since", "2026-02-28T09:00Z"),
        Condition("locale", "contains", "e"),
        Condition("locale", "is", "Klingon"),
        Condition("locale", "nothing", "e"),
    ):
        with pytest.raises(IncompleteConditionError) as refused:
            conditions.build_filter("all", [Condition(), Condition("list:news", "on"), condition])

        assert refused.value.number == 1, condition


def test_languages_are_said_by_names_that_are_read_back() -> None:
    for condition, words, typed in (
        (Condition("locale", "is", "de-AT"), "German (Austria)", "de-AT"),  # no known name
        (Condition("locale", "in", "de, pt-BR"), "German, Portuguese (Brazil)", None),
        (Condition("locale", "starts_with", "zh-CN"), "Chinese (Simplified, China)", None),
        (Condition("locale", "starts_with", "p"), "p", None),
        (Condition("attributes.language", "is", "de"), "de", None),
    ):
        fields = {"field": condition.field, "op": condition.comparison, "value": condition.typed}
        given = QueryDict(mutable=True)
        given.update(fields)

        assert condition.words == words
        assert condition.typed == (typed or words)
        assert conditions.read_lines(given) == [condition]


PLUS = {"field": "attributes.plan", "is": "plus"}
OLD = {"field": "created_at", "before": "2026-01-31"}


def test_exceptions_stand_beside_the_conditions_of_the_builder() -> None:
    excepted = [{"all": [PLUS, OLD]}, {"any": [PLUS]}]
    audiences: tuple[dict[str, Any], ...] = (
        {},
        {"all": [PLUS, {"not": PLUS}]},
        {"any": [PLUS, OLD]},
    )
    for people in audiences:
        joined = audience_exceptions.join_filter(people, excepted)

        assert conditions.read_filter(people) is not None
        assert audience_exceptions.split_filter(joined) == (people, excepted)
        assert audience_exceptions.join_filter(people, []) == people


def test_one_excepted_condition_is_no_condition_of_the_builder() -> None:
    joined = audience_exceptions.join_filter({"plan": "pro"}, [PLUS])

    written_out = {"field": "attributes.plan", "is": "pro"}
    assert joined == {"all": [written_out, {"not": {"all": [PLUS]}}]}
