"""Texts of a filter that nobody has are told with the spelling that contacts have."""

import re
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from postledger.contacts import spellings
from postledger.contacts.details import Details
from postledger.contacts.filters import parsing
from postledger.contacts.models import Contact
from tests.contacts import people


@pytest.fixture
def cities(acme: int, globex: int) -> int:
    names = ["Lisboa", "Lisboa", "LISBOA", "Porto", "50% Off_x", "50% OffYx"]
    for number, city in enumerate(names):
        people.contact(acme, f"r{number}@example.com", Details(attributes={"city": city}))
    people.contact(acme, "array@example.com", Details())
    Contact.objects.filter(address="array@example.com").update(attributes={"city": ["faro"]})
    people.contact(globex, details=Details(attributes={"city": "Faro"}))
    return acme


def find(workspace_id: int, data: object) -> list[tuple[str, str, int]]:
    found = spellings.find_other_spellings(workspace_id, parsing.parse(data, now=people.NOW))
    assert {other.key for other in found} <= {"city"}
    return [(other.text, other.known, other.count) for other in found]


CITY = {"field": "attributes.city"}


def test_a_text_that_nobody_has_is_told_with_the_commonest_other_spelling(cities: int) -> None:
    cases: list[tuple[object, list[tuple[str, str, int]]]] = [
        ({"city": "lisboa"}, [("lisboa", "Lisboa", 2)]),
        ({"not": {**CITY, "is": "lisboa"}}, [("lisboa", "Lisboa", 2)]),
        ({**CITY, "in": ["porto", "Lisboa", "faro"]}, [("porto", "Porto", 1)]),
        (
            {"any": [{**CITY, "starts_with": "lis"}, {**CITY, "contains": "OFF_"}]},
            [("lis", "Lisboa", 2), ("OFF_", "50% Off_x", 1)],
        ),
        ({"city": "50% off_X"}, [("50% off_X", "50% Off_x", 1)]),
        ({"all": [{"city": "Lisboa"}, {**CITY, "contains": "isb"}]}, []),
        ({"all": [{"city": 5}, {**CITY, "exists": True}, {"locale": "PT"}]}, []),
    ]
    for data, others in cases:
        assert find(cities, data) == others, data


def test_few_texts_are_looked_up_and_none_for_long(cities: int) -> None:
    many = parsing.parse({**CITY, "in": [f"x{n}" for n in range(100)]}, now=people.NOW)

    with CaptureQueriesContext(connection) as captured:
        spellings.find_other_spellings(cities, many, patience=timedelta(milliseconds=700))

    queries = [query["sql"] for query in captured]
    assert sum("ILIKE" in query for query in queries) == 5
    limits = [re.search(r"'statement_timeout', '?(\d+)", query) for query in queries]
    assert [limit[1] for limit in limits if limit] == ["700"] * 5


def test_a_look_up_that_takes_too_long_is_given_up(cities: int) -> None:
    Contact.objects.bulk_create(
        Contact(
            workspace_id=cities, address=f"x{n}@example.com", attributes={"city": "Lagos " * 40}
        )
        for n in range(5_000)
    )
    slow = parsing.parse({**CITY, "contains": "lagos"}, now=people.NOW)

    assert spellings.find_other_spellings(cities, slow, patience=timedelta(milliseconds=1)) == []


def test_a_filter_whose_text_somebody_has_is_not_compared_with_every_contact(cities: int) -> None:
    with CaptureQueriesContext(connection) as captured:
        assert find(cities, {"city": "Lisboa"}) == []

    [query] = [one["sql"] for one in captured if "ILIKE" in one["sql"]]
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (ANALYZE) {query}")
        plan = "\n".join(line for (line,) in cursor.fetchall())
    assert "One-Time Filter: (NOT" in plan
    assert "(never executed)" in plan
