"""Texts of a filter that nobody has are told with the spelling that contacts have."""

import pytest

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
