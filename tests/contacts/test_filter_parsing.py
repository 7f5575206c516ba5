"""A filter is read as it is meant, and a wrong one is refused with its place and a remedy."""

from datetime import UTC, date, datetime, timedelta

import pytest

from postledger.contacts.filters import expressions, parsing
from postledger.contacts.filters.expressions import (
    EVERYBODY,
    All,
    AnyOf,
    AttributeField,
    Column,
    Comparison,
    Filter,
    Not,
    OnList,
    Op,
)
from postledger.contacts.filters.parsing import InvalidFilterError
from postledger.contacts.states import SubscriptionState

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)
OHIO = Comparison(AttributeField("state"), Op.IS, "OH")
NEWS = OnList("news")


def parse(data: object) -> Filter:
    return parsing.parse(data, now=NOW)


def test_a_filter_is_read_as_it_is_meant() -> None:
    cases: list[tuple[object, Filter]] = [
        ({}, EVERYBODY),
        ({"state": "OH"}, OHIO),
        ({"state": "OH", "list": "news"}, All((OHIO, NEWS))),
        ({"list": "news"}, NEWS),
        ({"list": "news", "is": "paused"}, OnList("news", (SubscriptionState.PAUSED,))),
        (
            {"list": "news", "in": ["active", "pending"]},
            OnList("news", (SubscriptionState.ACTIVE, SubscriptionState.PENDING)),
        ),
        ({"all": [{"state": "OH"}, {"not": {"list": "news"}}]}, All((OHIO, Not(NEWS)))),
        ({"any": [{"state": "OH"}]}, AnyOf((OHIO,))),
        (
            {"age": 41, "is_donor": True},
            All(
                (
                    Comparison(AttributeField("age"), Op.IS, 41),
                    Comparison(AttributeField("is_donor"), Op.IS, value=True),
                )
            ),
        ),
        ({"field": "attributes.state", "is": "OH"}, OHIO),
        ({"field": "state", "is": "active"}, Comparison(Column.STATE, Op.IS, "active")),
        (
            {"field": "attributes.a.b", "exists": False},
            Comparison(AttributeField("a.b"), Op.EXISTS, value=False),
        ),
        (
            {"field": "domain", "in": ["@Example.COM", "münchen.example"]},
            Comparison(Column.DOMAIN, Op.IN, ("example.com", "xn--mnchen-3ya.example")),
        ),
        (
            {"field": "attributes.any", "in": ["x", 1]},
            Comparison(AttributeField("any"), Op.IN, ("x", 1)),
        ),
        (
            {"field": "created_at", "since": "2026-11-01"},
            Comparison(Column.CREATED_AT, Op.SINCE, datetime(2026, 11, 1, tzinfo=UTC)),
        ),
        (
            {"field": "created_at", "before": "2026-11-01T10:00:00+02:00"},
            Comparison(Column.CREATED_AT, Op.BEFORE, datetime(2026, 11, 1, 8, tzinfo=UTC)),
        ),
        (
            {"field": "attributes.renews", "since": "2026-11-01"},
            Comparison(AttributeField("renews"), Op.SINCE, date(2026, 11, 1)),
        ),
        (
            {"field": "updated_at", "within_days": 30},
            Comparison(Column.UPDATED_AT, Op.SINCE, NOW - timedelta(days=30)),
        ),
    ]
    for data, meant in cases:
        assert parse(data) == meant, data


def test_a_wrong_filter_is_refused_with_its_place_and_a_remedy() -> None:
    cases: list[tuple[object, str, str]] = [
        ("state = 'OH'", r"\$:", "Write an object"),
        ([], r"\$:", "Write an object"),
        ({1: "x"}, r"\$:", "Write an object"),
        ({"all": []}, r"\$\.all:", "at least one"),
        ({"all": {"state": "OH"}}, r"\$\.all:", r"in \[ \]"),
        ({"any": "x"}, r"\$\.any:", r"in \[ \]"),
        ({"not": []}, r"\$\.not:", "Write an object"),
        ({"all": [{"state": "OH"}], "state": "OH"}, r"\$:", "object of its own"),
        ({"all": [{"any": [{"x": "1"}, {"x": None}]}]}, r"\$\.all\[0\]\.any\[1\]\.x:", "exists"),
        ({"field": "attributes.x"}, r"\$:", "Write one of is, in"),
        ({"field": "attributes.x", "is": 1, "in": [1]}, r"\$:", "Write one of is, in"),
        ({"field": "attributes.x", "like": "%"}, r"\$:", "Write one of is, in"),
        ({"field": "attributes.", "is": 1}, r"\$\.field:", "visible characters"),
        ({"field": "password", "is": 1}, r"\$\.field:", "Write one of state, domain"),
        ({"field": 7, "is": 1}, r"\$\.field:", "Write one of state, domain"),
        ({"field": "engagement.opened_at", "since": "2026-01-01"}, r"\$\.field:", "Leave this"),
        ({"field": "state", "is": "OH"}, r"\$\.is:", "active, unsubscribed, bounced"),
        ({"field": "state", "in": ["active", 1]}, r"\$\.in\[1\]:", "active, unsubscribed"),
        ({"field": "state", "is": []}, r"\$\.is:", "active, unsubscribed, bounced"),
        ({"field": "state", "starts_with": "a"}, r"\$:", "Write one of is, in"),
        ({"field": "domain", "is": "ann@example.com"}, r"\$\.is:", "behind the @"),
        ({"field": "domain", "starts_with": "ex"}, r"\$:", "Write one of is, in"),
        ({"field": "locale", "is": 1}, r"\$\.is:", "quotation marks"),
        ({"field": "attributes.x", "in": []}, r"\$\.in:", "1 to 100"),
        ({"field": "attributes.x", "in": ["x"] * 101}, r"\$\.in:", "1 to 100"),
        ({"field": "attributes.x", "over": "7"}, r"\$\.over:", "without quotation marks"),
        ({"field": "attributes.x", "over": True}, r"\$\.over:", "without quotation marks"),
        ({"field": "attributes.x", "over": float("inf")}, r"\$\.over:", "below 2\\^53"),
        ({"field": "attributes.x", "is": "a\x00b"}, r"\$\.is:", "at most 500"),
        ({"field": "attributes.x", "is": "\ud800"}, r"\$\.is:", "at most 500"),
        ({"field": "attributes.x", "is": "x" * 501}, r"\$\.is:", "at most 500"),
        ({"field": "attributes.x", "exists": 1}, r"\$\.exists:", "one of them"),
        ({"field": "created_at", "since": "yesterday"}, r"\$\.since:", "2026-11-15"),
        ({"field": "created_at", "since": "2026-11-15T09:00:00"}, r"\$\.since:", "zone"),
        ({"field": "created_at", "since": 20261115}, r"\$\.since:", "2026-11-15"),
        ({"field": "created_at", "since": "0001-01-01T00:00:00+14:00"}, r"\$\.since:", "1970 to"),
        ({"field": "created_at", "since": "1969-12-31"}, r"\$\.since:", "from 1970 to 9000"),
        ({"field": "created_at", "before": "9999-12-31T23:59:59Z"}, r"\$\.before:", "to 9000"),
        ({"field": "attributes.x", "since": "01.03.2026"}, r"\$\.since:", "2026-11-15"),
        ({"field": "attributes.x", "before": "2026-03-01T09:00:00Z"}, r"\$\.before:", "a day like"),
        ({"field": "attributes.x", "within_days": 3}, r"\$:", "before, since"),
        ({"field": "created_at", "within_days": 0}, r"\$\.within_days:", "from 1"),
        ({"field": "created_at", "within_days": 10**9}, r"\$\.within_days:", "from 1"),
        ({"list": 7}, r"\$\.list:", '"news"'),
        ({"list": "a\x00"}, r"\$\.list:", '"news"'),
        ({"list": "news", "is": "gone"}, r"\$\.is:", "pending, active"),
        ({"list": "news", "is": "active", "in": ["active"]}, r"\$:", "one for each"),
        ({"x\x00": "y"}, r"\$:", "visible characters"),
    ]
    for data, place, remedy in cases:
        with pytest.raises(InvalidFilterError, match=f"at {place} .*{remedy}") as refused:
            parse(data)

        assert refused.value.code == "invalid_filter", data


def deep(levels: int) -> object:
    data: object = {"state": "OH"}
    for _ in range(levels - 1):
        data = {"not": data}
    return data


def test_a_filter_that_is_too_deep_or_too_large_is_refused() -> None:
    def pairs(count: int) -> dict[str, object]:
        return {f"k{n}": "x" for n in range(count)}

    parse(deep(10))
    parse(pairs(100))
    for data in (deep(11), deep(900)):
        with pytest.raises(InvalidFilterError, match="nested more than 10 deep"):
            parse(data)
    for data in (pairs(101), {"all": [pairs(50), pairs(51)]}, {"any": [{"x": "y"}] * 1_000_000}):
        with pytest.raises(InvalidFilterError, match="more than 100 conditions"):
            parse(data)


def test_all_lists_of_a_filter_are_found() -> None:
    expression = parse({"all": [{"list": "a"}, {"any": [{"list": "b"}, {"x": 1}]}, deep(3)]})

    assert expressions.list_keys(expression) == {"a", "b"}
    assert expressions.list_keys(Not(NEWS)) == {"news"}
