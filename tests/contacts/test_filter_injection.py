"""No text of a filter becomes a part of a statement: it is refused, or it is only a value."""

import time
from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from postledger.contacts import audience, index_advice, sql
from postledger.contacts.audience import FrozenAudience
from postledger.contacts.details import Details
from postledger.contacts.filters import parsing
from postledger.contacts.filters.parsing import InvalidFilterError
from postledger.contacts.lists import ListUnknownError
from postledger.contacts.models import Contact
from tests.contacts import people

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)

CORPUS = [
    "'",
    '"',
    "''",
    "\\",
    "\\'",
    "`",
    "$$",
    "$1",
    "%",
    "%%",
    "%s",
    "%(workspace)s",
    "%(f0)s",
    "%(nobody)s",
    "{}",
    "{0}",
    "{condition}",
    "?",
    "@>",
    ":workspace",
    "::jsonb",
    "--",
    "/*",
    "*/",
    ";",
    "' OR 1=1 --",
    "' OR '1'='1",
    '" OR ""="',
    ") OR (1=1",
    ")))union(select 1,2,3,4)--",
    "' UNION SELECT id, address, name, state FROM contacts_contact --",
    "x'; DROP TABLE contacts_contact; --",
    "'; SELECT pg_sleep(100); --",
    "'||pg_sleep(100)||'",
    "name;select pg_sleep(100)",
    "1; SELECT pg_sleep(100)",
    "(SELECT pg_sleep(100))",
    "$tag$; SELECT pg_sleep(100); $tag$",
    "E'\\x27'",
    "U&'\\0027'",
    "\u02bc OR 1=1",
    "\uff07 OR 1=1",
    "'); COPY contacts_contact TO PROGRAM 'id'; --",
    "attributes' -> 'x",
    'state" IS NOT NULL OR "state',
    "contact.deleted_at IS NOT NULL) OR (true",
    "0x27",
    "%27%20OR%201=1",
    "{{7*7}}",
    "${7*7}",
    "__proto__",
    "../../etc/passwd",
    "a" * 64,
    "\u202e",
    "💥",
]

type Shape = Callable[[str], object]

SHAPES: dict[str, Shape] = {
    "short key": lambda text: {text: "x"},
    "short value": lambda text: {"plan": text},
    "list": lambda text: {"list": text},
    "list state": lambda text: {"list": "news", "is": text},
    "field": lambda text: {"field": text, "is": "x"},
    "attribute": lambda text: {"field": f"attributes.{text}", "is": "x"},
    "attribute as text": lambda text: {"field": f"attributes.{text}", "starts_with": text},
    "attribute as number": lambda text: {"field": f"attributes.{text}", "over": 1},
    "attribute as day": lambda text: {"field": f"attributes.{text}", "since": "2026-03-01"},
    "existing attribute": lambda text: {"field": f"attributes.{text}", "exists": True},
    "comparison": lambda text: {"field": "attributes.plan", text: "x"},
    "one of": lambda text: {"field": "attributes.plan", "in": [text, "y"]},
    "has": lambda text: {"field": "attributes.plan", "has": text},
    "contains": lambda text: {"field": "attributes.plan", "contains": f"x{text}"},
    "state": lambda text: {"field": "state", "is": text},
    "domain": lambda text: {"field": "domain", "is": text},
    "locale": lambda text: {"field": "locale", "is": text},
    "locale prefix": lambda text: {"field": "locale", "starts_with": f"x{text}"},
    "place": lambda text: {"field": "ocd_ids", "has": text},
    "moment": lambda text: {"field": "created_at", "since": text},
    "number": lambda text: {"field": "attributes.plan", "over": text},
    "group": lambda text: {"all": text},
    "negated": lambda text: {"not": {"not": {"plan": text}}},
}


@pytest.fixture
def crowd(acme: int, globex: int) -> list[int]:
    people.news(acme)
    return [people.contact(workspace) for workspace in (acme, globex)]


@pytest.mark.parametrize("shape", SHAPES)
def test_hostile_texts_are_refused_or_find_nobody(shape: str, acme: int, crowd: list[int]) -> None:
    started = time.monotonic()

    for text in CORPUS:
        try:
            meant = parsing.parse(SHAPES[shape](text), now=NOW)
            assert audience.count(acme, meant) == 0, text
            assert audience.sample(acme, meant) == [], text
            index_advice.advise(acme, meant)
            called = audience.compile_chunk(
                acme, FrozenAudience(meant, None, NOW), after=text, limit=10
            )
            assert sql.rows(called.sql, called.params) == [], text
        except (InvalidFilterError, ListUnknownError):
            continue

    assert time.monotonic() - started < 60  # nobody slept
    assert list(Contact.objects.order_by("pk").values_list("pk", flat=True)) == crowd


def test_a_hostile_text_that_is_somebodys_attribute_finds_just_them(acme: int) -> None:
    for number, text in enumerate(text for text in CORPUS if text.isprintable()):
        details = Details(attributes={text: text})
        owner_id = people.contact(acme, f"r{number}@example.com", details)

        for data in (
            {"field": f"attributes.{text}", "is": text},
            {"field": f"attributes.{text}", "starts_with": text},
            {"field": f"attributes.{text}", "contains": text},
            {"field": f"attributes.{text}", "exists": True},
        ):
            members = audience.sample(acme, parsing.parse(data, now=NOW))
            assert [member.pk for member in members] == [owner_id], data


def test_the_statement_of_a_filter_has_none_of_its_texts(acme: int) -> None:
    people.news(acme)
    marker = "MARKER"
    data = {
        "any": [
            {marker: marker},
            {"field": f"attributes.{marker}", "starts_with": marker},
            {"field": f"attributes.{marker}", "over": 7_654_321},
            {"field": "locale", "in": [marker]},
            {"field": "ocd_ids", "has_any": [marker]},
        ]
    }

    statement = audience.compile_query(
        audience.COUNT, acme, parsing.parse(data, now=NOW)
    ).sql.as_string()

    assert marker not in statement
    assert "7654321" not in statement


def test_another_workspaces_list_and_contacts_are_not_found(acme: int, globex: int) -> None:
    people.news(globex, "theirs")
    people.member(globex, key="theirs")

    with pytest.raises(ListUnknownError, match="no list 'theirs'"):
        audience.count(acme, parsing.parse({"list": "theirs"}, now=NOW))
    with pytest.raises(ListUnknownError, match="no list 'nobodys'"):
        audience.count(acme, parsing.parse({"list": "nobodys"}, now=NOW))

    anybody = parsing.parse({"not": {"plan": "x"}}, now=NOW)
    assert audience.count(acme, anybody) == 0
    assert audience.count(globex, anybody) == 1
