"""Contacts are exported as CSV: those of the request, and of one workspace only."""

import csv

from postledger.contacts import export
from postledger.contacts.details import Details
from postledger.contacts.filters.expressions import EVERYBODY
from postledger.contacts.models import Contact
from postledger.web.shared.csv_files import csv_response
from tests.contacts import people
from tests.web.callers import Caller


def addresses(who: Caller, **questions: str) -> list[str]:
    reply = who.get("/v1/exports/contacts.csv", **questions)
    assert reply.status == 200
    return [row[0] for row in csv.reader(reply.body.splitlines())][1:]


def test_an_export_has_those_who_are_asked_for(alice: Caller, charlie: Caller) -> None:
    people.news(alice.workspace_id)
    people.member(alice.workspace_id)
    people.contact(alice.workspace_id, "r2@example.com", Details(attributes={"plan": "pro"}))
    formula = Details(name="=1+1", attributes={"plan": "pro"})
    people.contact(charlie.workspace_id, "r3@example.com", formula)

    assert addresses(alice) == ["r1@example.com", "r2@example.com"]
    assert addresses(alice, list="news") == ["r1@example.com"]
    assert addresses(alice, filter='{"plan": "pro"}') == ["r2@example.com"]
    assert addresses(alice, list="news", filter='{"plan": "pro"}') == []
    assert addresses(charlie) == ["r3@example.com"]
    assert "'=1+1" in charlie.get("/v1/exports/contacts.csv").body


def test_an_export_has_everybody_once_in_small_chunks_however_long_its_lines_are(
    alice: Caller,
) -> None:
    long = {"a": ["x" * 400] * 20}
    Contact.objects.bulk_create(
        Contact(
            workspace_id=alice.workspace_id,
            address=f"r{n}@example.com",
            attributes=long if n < 500 else {},
        )
        for n in range(4_001)
    )

    lines = export.csv_lines(alice.workspace_id, EVERYBODY)
    response = csv_response(lines, file_name="contacts.csv")
    sizes = [len(chunk) for chunk in list(response)]

    assert sum(sizes) > 4_000_000
    assert max(sizes) < 100_000
    assert addresses(alice) == [f"r{n}@example.com" for n in range(4_001)]


def test_a_wrong_question_is_refused_before_the_file_begins(alice: Caller, charlie: Caller) -> None:
    people.news(charlie.workspace_id)

    for questions, code in (
        ({"list": "news"}, "list_unknown"),
        ({"filter": "{"}, "INVALID_PAYLOAD"),
        ({"filter": '{"field": "x"}'}, "invalid_filter"),
        ({"fliter": "{}"}, "INVALID_PAYLOAD"),
    ):
        refused = alice.get("/v1/exports/contacts.csv", **questions)
        assert (refused.status, refused.body["code"]) == (422, code)
