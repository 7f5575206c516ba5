"""An audience is counted, sampled, and its roll is called in its order, each address once."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from psycopg import sql as pg

from postledger.contacts import audience, index_advice, sql
from postledger.contacts.audience import FrozenAudience
from postledger.contacts.filters import parsing
from postledger.contacts.filters.expressions import EVERYBODY, Filter
from postledger.contacts.states import ContactState
from postledger.deliveries.ledger import sql as prepared
from tests.contacts import people


def parse(data: object) -> Filter:
    return parsing.parse(data, now=datetime(2026, 11, 15, tzinfo=UTC))


def freeze_audience(meant: Filter) -> FrozenAudience:
    return FrozenAudience(meant, None, frozen_at=datetime.now(UTC) + timedelta(days=1))


def walk_audience(workspace_id: int, meant: Filter, *, size: int) -> Iterator[list[str]]:
    place = ""
    for _ in range(100):
        source = audience.compile_chunk(
            workspace_id, freeze_audience(meant), after=place, limit=size
        )
        rows = sql.rows(source.sql, source.params)
        if not rows:
            return
        yield [row[1] for row in rows if row[-1] is None]
        place = rows[-1][2]
    raise AssertionError("it never ends")


MIXED = [
    "b@x.example",
    "A@x.example",
    "a+1@x.example",
    "_z@x.example",
    "Zoë@x.example",
    "é@x.example",
]


def test_an_audience_is_walked_by_lower_case_address_in_byte_order(acme: int) -> None:
    for address in MIXED:
        people.contact(acme, address)

    for size in (1, 2, 4, 100):
        chunks = list(walk_audience(acme, EVERYBODY, size=size))

        addresses = [address for chunk in chunks for address in chunk]
        assert addresses == sorted(MIXED, key=lambda address: address.lower().encode()), size
        assert all(len(chunk) <= size for chunk in chunks), size


def test_an_address_is_walked_once_whatever_became_of_its_earlier_contact(acme: int) -> None:
    gone = people.contact(acme, "R1@example.com")
    people.delete(acme, gone)
    people.contact(acme, "r1@example.com")

    assert list(walk_audience(acme, EVERYBODY, size=10)) == [["r1@example.com"]]


def test_only_active_contacts_are_walked_and_all_are_counted(acme: int, globex: int) -> None:
    for number in range(4):
        people.contact(acme, f"r{number}@example.com")
    people.contact(globex, "charlie@example.com")
    people.leave(acme, "r1@example.com")
    people.bounce(acme, "r2@example.com")

    assert list(walk_audience(acme, EVERYBODY, size=10)) == [["r0@example.com", "r3@example.com"]]
    assert audience.count(acme, EVERYBODY) == 4
    assert audience.count(acme, audience.only_active(EVERYBODY)) == 2


def test_a_sample_shows_some_with_their_state(acme: int) -> None:
    for number in range(5):
        people.contact(acme, f"r{number}@example.com")
    people.bounce(acme, "r4@example.com")

    assert len(audience.sample(acme, EVERYBODY, size=3)) == 3
    [bounced] = audience.sample(acme, parse({"field": "state", "is": "bounced"}))
    assert (bounced.address, bounced.state) == ("r4@example.com", ContactState.BOUNCED)


def test_an_audience_can_be_walked_inside_a_statement_that_the_server_prepares(acme: int) -> None:
    people.news(acme)
    for name in ("carol", "Alice", "bob"):
        people.member(acme, f"{name}@example.com")
    meant = parse({"all": [{"list": "news"}, {"not": {"field": "attributes.age", "over": 3}}]})
    source = audience.compile_chunk(acme, freeze_audience(meant), after="", limit=10_000)
    statement = pg.SQL(
        "WITH chosen AS (SELECT address, contact_id::text FROM ({}) AS audience)"
        " SELECT address FROM chosen WHERE %(other)s::text IS NOT NULL"
    ).format(source.sql)

    rows = prepared.rows(statement, {**source.params, "other": "x"})

    assert [address for (address,) in rows] == [
        "Alice@example.com",
        "bob@example.com",
        "carol@example.com",
    ]


@pytest.fixture
def many(acme: int) -> int:
    """Contacts for the planner to think about; it is told that a look at each is dear."""
    people.news(acme)
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO contacts_contact (workspace_id, address, attributes, ocd_ids, locale)"
            " SELECT %s, 'r' || n || '@example.com',"
            " jsonb_build_object('age', n %% 90, 'city', 'City ' || n %% 1000, 'plan', 'free',"
            " 'renews', '2026-01-01'::date + n %% 300),"
            " ARRAY['ocd-division/place:' || n %% 100], 'l' || n %% 50"
            " FROM generate_series(1, 5000) n",
            [acme],
        )
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")  # indexes are made below
        cursor.execute("ANALYZE contacts_contact")
        cursor.execute("SET LOCAL cpu_operator_cost = 10")
    return acme


def explain_query(workspace_id: int, data: object) -> str:
    source = audience.compile_query(audience.COUNT, workspace_id, parse(data))
    explain = pg.SQL("EXPLAIN {}").format(source.sql)
    return "\n".join(line for (line,) in sql.rows(explain, source.params))


def test_conditions_that_choose_few_are_served_by_an_index(many: int) -> None:
    cases: list[object] = [
        {"city": "City 5"},
        {"field": "attributes.city", "in": ["City 5", "City 6"]},
        {"field": "ocd_ids", "has": "ocd-division/place:7"},
        {"field": "locale", "is": "l7"},
        {"field": "state", "is": "bounced"},
        {"not": {"field": "state", "is": "active"}},
        {"not": {"any": [{"field": "locale", "exists": False}, {"not": {"city": "City 5"}}]}},
        {"field": "state_changed_at", "within_days": 7},
        {"list": "news"},
        {"all": [{"city": "City 5"}, {"field": "attributes.age", "over": 30}]},
    ]
    for data in cases:
        assert "Seq Scan on contacts_contact" not in explain_query(many, data), data


def test_advice_names_an_index_that_is_missing_and_would_be_used(
    many: int,
) -> None:
    over = {"field": "attributes.age", "over": 88}
    old = {"field": "updated_at", "before": "2020-01-01"}
    cases: list[tuple[object, str]] = [
        (over, "(attributes -> 'age')::numeric"),
        ({"field": "attributes.renews", "before": "2026-01-03"}, "left(attributes ->> 'renews'"),
        (
            {"field": "attributes.city", "starts_with": "City 99"},
            "(workspace_id, (attributes ->> 'city') text_pattern_ops)",
        ),
        ({"field": "attributes.nick", "exists": True}, "(attributes ->> 'nick') IS NOT NULL"),
        (old, "(workspace_id, updated_at)"),
        ({"field": "domain", "is": "example.org"}, "split_part(lower(address)"),
        ({"any": [over, old]}, "; CREATE INDEX CONCURRENTLY"),  # one for each part
        (
            {"any": [{"city": "City 5"}, {"field": "attributes.it's", "over": 1}]},
            "(attributes -> 'it''s')::numeric",
        ),
        ({"field": "attributes.city", "contains": "y 77"}, "gin_trgm_ops"),
        ({"not": {"city": "City 5"}}, "No index would help"),
        ({"field": "attributes.age", "over": 3}, "No index would help"),  # nearly everybody
    ]
    for data, words in cases:
        assert words in (index_advice.advise(many, parse(data)) or ""), data
    fast = parse({"city": "City 5"})
    assert index_advice.advise(many, fast) is None
    assert index_advice.advise(many, fast, took=index_advice.PROMISED * 1.01) is not None
    advice = index_advice.advise(many, parse(over)) or ""
    with connection.cursor() as cursor:
        cursor.execute(advice.partition(": ")[2].replace(" CONCURRENTLY", ""))
        cursor.execute("ANALYZE contacts_contact")
    assert index_advice.advise(many, parse(over)) is None
