"""A filter means the same in the database as in Python, whatever is missing, empty or of a kind."""

import json
from datetime import UTC, datetime, timedelta
from random import Random

import pytest
from django.db import connection
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from postledger.contacts import audience, sql
from postledger.contacts.details import Details
from postledger.contacts.filters import parsing
from postledger.contacts.states import ContactState, SubscriptionState
from tests.contacts import matching, people
from tests.contacts.matching import Traits

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)
KEYS = ["plan", "Plan", "age", "renews", "tags", "Ünï", "a.b", "list", "is"]
# Kinds that resemble one another: numbers as texts, truths as numbers, capitals, nothing at all.
SCALARS = [
    "", " ", "pro", "PRO", "pro%", "p_o", "5", 5, 5.0, 5.5, -1, 0, -0.0, True, False, "true",
    "null", "é", "e\u0301", "\U0001f600", "a\\b", 'a"b', "a'b", 2**53 - 1, 0.1, 1e-7,
]  # fmt: skip
# What an import may have left behind, beside what the API accepts.
STORED = [*SCALARS, None, [], ["pro"], ["pro", 5], [None], [[]], {}, {"pro": 5}, [True], "5.0"]
# Of an age: texts that read as numbers, and those that nearly do.
NUMBERS = [
    *STORED, "-1", "0.1", "1234.5", "99", "-0", "9" * 30 + ".5", "1e3", "1.234,56", "05", "+5",
    ".5", "5.", "5\n", "\u0665", "NaN", "Infinity", "9" * 500, "1_000", "0x10", "--5",
]  # fmt: skip
# Of the day when somebody renews: days, perhaps with a time, and texts that are nearly one.
DAYS = [
    "2026-03-01", "2026-02-28", "2026-11-15", "2024-02-29", "2000-02-29", "0001-01-01",
    "9999-12-31", "2026-03-01T23:59:59+14:00", "2026-03-01 09:00",
]  # fmt: skip
NO_DAYS = [
    "2026-02-29", "1900-02-29", "2026-04-31", "2026-13-01", "2026-00-10", "0000-01-01",
    "01.03.2026", "2026-3-1", "20260301", "2026-03-01\n", "2026-03-01x", "2026-03-01T",
    " 2026-03-01", "2026-03", "\u0662\u0660\u0662\u0666-03-01",
]  # fmt: skip
SPECIAL = {"age": NUMBERS, "renews": [*STORED, *DAYS, *NO_DAYS, DAYS]}
LOCALES = [None, "en", "EN", "pt", "pt-BR", ""]
PLACES = ["ocd-division/country:us", "ocd-division/country:us/state:oh", "OCD-x", ""]
DOMAINS = ["example.com", "Example.COM", "mail.example.com", "xn--mnchen-3ya.example"]
LISTS = ["news", "offers"]
MOMENTS = [NOW - timedelta(days=days) for days in (0, 1, 30, 400)]


def person(chance: Random) -> Traits:
    keys = chance.sample(KEYS, chance.randrange(4))
    return Traits(
        state=chance.choice(list(ContactState)),
        domain=chance.choice(DOMAINS),
        created_at=chance.choice(MOMENTS),
        updated_at=chance.choice(MOMENTS),
        state_changed_at=chance.choice([None, *MOMENTS]),
        locale=chance.choice(LOCALES),
        ocd_ids=chance.sample(PLACES, chance.choice([0, 0, 1, 2])),
        attributes={key: chance.choice(SPECIAL.get(key, STORED)) for key in keys},
        lists={key: chance.choice(list(SubscriptionState)) for key in chance.sample(LISTS, 1)}
        if chance.random() < 0.7
        else {},
    )


PEOPLE = [person(Random(seed)) for seed in range(400)]

_INSERT = """
INSERT INTO contacts_contact (
    workspace_id, address, state, created_at, updated_at, state_changed_at, locale, ocd_ids,
    attributes
)
VALUES (
    %(workspace)s, %(address)s, %(state)s, %(created)s, %(updated)s, %(changed)s, %(locale)s,
    %(places)s::text[], %(attributes)s::jsonb
)
RETURNING id
"""
_SUBSCRIBE = """
INSERT INTO contacts_subscription (contact_id, list_id, state)
SELECT %(contact)s, id, %(state)s FROM contacts_list
WHERE workspace_id = %(workspace)s AND key = %(key)s
RETURNING 1
"""


@pytest.fixture
def crowd(acme: int) -> dict[int, Traits]:
    for key in LISTS:
        people.news(acme, key)
    return {_store_contact(acme, number, one): one for number, one in enumerate(PEOPLE)}


def _store_contact(workspace_id: int, number: int, traits: Traits) -> int:
    [(contact_id,)] = sql.rows(
        _INSERT,
        {
            "workspace": workspace_id,
            "address": f"r{number}@{traits.domain}",
            "state": traits.state.value,
            "created": traits.created_at,
            "updated": traits.updated_at,
            "changed": traits.state_changed_at,
            "locale": traits.locale,
            "places": list(traits.ocd_ids),
            "attributes": json.dumps(traits.attributes),
        },
    )
    for key, state in traits.lists.items():
        named = {"workspace": workspace_id, "contact": contact_id, "key": key}
        sql.rows(_SUBSCRIBE, named | {"state": state.value})
    return int(contact_id)


fields = st.sampled_from([f"attributes.{key}" for key in KEYS])
scalars = st.sampled_from(SCALARS)
texts = st.sampled_from([value for value in SCALARS if isinstance(value, str)])
numbers = st.sampled_from([5, 5.0, 5.5, -1, 0, 2**53 - 1, -(2**53) + 1, 0.1])
days = st.sampled_from(["2026-03-01", "2026-02-28", "2024-02-29", "0001-01-01", "9999-12-31"])
moments = st.sampled_from([moment.isoformat() for moment in MOMENTS] + ["2026-11-14"])


def condition[T](
    field: st.SearchStrategy[str], op: str, values: st.SearchStrategy[T]
) -> st.SearchStrategy[dict[str, str | T]]:
    return st.fixed_dictionaries({"field": field, op: values})


def several[T](values: st.SearchStrategy[T]) -> st.SearchStrategy[list[T]]:
    return st.lists(values, min_size=1, max_size=3)


columns = st.sampled_from(["created_at", "updated_at", "state_changed_at"])
domains = st.sampled_from(["example.com", "@EXAMPLE.com", "münchen.example", "com"])
locale = st.just("locale")
places = st.just("ocd_ids")
conditions = st.one_of(
    condition(fields, "is", scalars),
    condition(fields, "in", several(scalars)),
    condition(fields, "has", scalars),
    condition(fields, "has_any", several(scalars)),
    condition(fields, "starts_with", texts),
    condition(fields, "contains", texts),
    condition(fields, "exists", st.booleans()),
    *(condition(fields, op, numbers) for op in ("over", "at_least", "under", "at_most")),
    *(condition(fields, op, days) for op in ("since", "before")),
    condition(st.just("state"), "is", st.sampled_from([*ContactState])),
    condition(st.just("state"), "in", several(st.sampled_from([*ContactState]))),
    condition(st.just("domain"), "is", domains),
    condition(st.just("domain"), "in", several(domains)),
    condition(locale, "is", st.sampled_from(["en", "EN", "pt", "", "de"])),
    condition(locale, "in", several(st.sampled_from(["en", "pt-BR", "de"]))),
    condition(locale, "starts_with", st.sampled_from(["", "p", "pt", "pt-", "PT", "%"])),
    condition(locale, "exists", st.booleans()),
    condition(places, "has", st.sampled_from(PLACES)),
    condition(places, "has_any", several(st.sampled_from(PLACES))),
    condition(places, "exists", st.booleans()),
    condition(columns, "before", moments),
    condition(columns, "since", moments),
    condition(columns, "within_days", st.sampled_from([1, 30, 3650])),
    condition(st.just("state_changed_at"), "exists", st.booleans()),
    st.dictionaries(st.sampled_from(["plan", "Plan", "age", "a.b"]), scalars, max_size=2),
    st.fixed_dictionaries({"list": st.sampled_from(LISTS)}),
    st.fixed_dictionaries(
        {"list": st.sampled_from(LISTS), "in": several(st.sampled_from([*SubscriptionState]))}
    ),
)
expressions = st.recursive(
    conditions,
    lambda parts: st.one_of(
        st.fixed_dictionaries({"all": st.lists(parts, min_size=1, max_size=3)}),
        st.fixed_dictionaries({"any": st.lists(parts, min_size=1, max_size=3)}),
        st.fixed_dictionaries({"not": parts}),
    ),
    max_leaves=8,
)


@settings(
    max_examples=200,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=expressions)
@pytest.mark.slow
@pytest.mark.sample
def test_the_database_and_python_choose_the_same_people(
    acme: int, crowd: dict[int, Traits], data: object
) -> None:
    meant = parsing.parse(json.loads(json.dumps(data)), now=NOW)
    expected = {id_ for id_, traits in crowd.items() if matching.matches(meant, traits)}

    chosen = {member.pk for member in audience.sample(acme, meant, size=1000)}

    assert chosen == expected
    assert audience.count(acme, meant) == len(expected)


def test_every_kind_of_condition_tells_people_apart(acme: int, crowd: dict[int, Traits]) -> None:
    """None of the comparisons above is empty, or true of everybody, for want of examples."""
    for data in (
        {"field": "attributes.plan", "is": "pro"},
        {"field": "attributes.age", "is": 5},
        {"field": "attributes.tags", "has": "pro"},
        {"field": "attributes.plan", "starts_with": "pro%"},
        {"field": "attributes.plan", "contains": "_"},
        {"field": "attributes.age", "over": 0},
        {"field": "attributes.age", "under": 5},
        {"field": "attributes.age", "at_least": 1234},
        {"field": "attributes.renews", "since": "2026-03-01"},
        {"field": "attributes.renews", "before": "2026-03-01"},
        {"field": "locale", "starts_with": "pt"},
        {"field": "domain", "is": "@Example.com"},
        {"field": "ocd_ids", "exists": False},
        {"list": "news", "in": ["paused", "pending"]},
    ):
        meant = parsing.parse(data, now=NOW)
        assert 0 < audience.count(acme, meant) < len(PEOPLE), data


def test_a_day_is_before_another_one_or_since_it_and_other_texts_are_neither(acme: int) -> None:
    for number, text in enumerate([*DAYS, *NO_DAYS]):
        people.contact(acme, f"r{number}@example.com", details=Details(attributes={"a": text}))

    either = [{"field": "attributes.a", op: "2026-03-01"} for op in ("before", "since")]
    chosen = audience.sample(acme, parsing.parse({"any": either}, now=NOW), size=100)

    assert sorted(member.attributes["a"] for member in chosen) == sorted(DAYS)


def test_indexes_change_nothing_about_who_is_meant(acme: int, crowd: dict[int, Traits]) -> None:
    """The same filters by index and by reading all: jsonb has two ways to compare."""
    asked = [{"plan": value} for value in SCALARS] + [
        {"field": "attributes.age", "has": value} for value in SCALARS
    ]
    counts = []
    for setting in ("enable_seqscan", "enable_bitmapscan"):
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL enable_seqscan = on")
            cursor.execute("SET LOCAL enable_bitmapscan = on")
            cursor.execute(f"SET LOCAL {setting} = off")
        parsed = [parsing.parse(data, now=NOW) for data in asked]
        counts.append([audience.count(acme, one) for one in parsed])

    assert counts[0] == counts[1]
    assert sum(counts[0]) > 0
