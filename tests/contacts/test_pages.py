"""Pages of contacts and of suppressions: everybody once, of one workspace, served by an index."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from postledger.contacts import audience, export, queries, suppressions
from postledger.contacts.counts import ContactCount
from postledger.contacts.filters import parsing
from postledger.contacts.filters.expressions import EVERYBODY, Filter
from tests.contacts import people
from tests.contacts.people import NOW


def parse(data: object) -> Filter:
    return parsing.parse(data, now=NOW)


def fill(workspace_id: int, number: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO contacts_contact (workspace_id, address, external_id, attributes)"
            " SELECT %s, 'r' || n || '@example.com', n,"
            " jsonb_build_object('city', 'City ' || n %% 1000)"
            " FROM generate_series(1, %s) n",
            [workspace_id, number],
        )
        cursor.execute("ANALYZE contacts_contact")


def test_a_page_holds_the_workspaces_own_and_no_deleted_ones(acme: int, globex: int) -> None:
    last, gone, first = (people.contact(acme, f"{name}@example.com") for name in ("r3", "R2", "R1"))
    people.contact(globex, "r9@example.com")
    people.delete(acme, gone)

    shown, next_after = queries.list_contacts(acme, limit=9)
    assert ([contact.pk for contact in shown], next_after) == ([first, last], None)
    [only], next_after = queries.list_contacts(acme, limit=1)
    assert (only.pk, only.address, next_after) == (first, "R1@example.com", "r1@example.com")
    [only], next_after = queries.list_contacts(acme, after="r1@example.com", limit=1)
    assert (only.pk, next_after) == (last, None)
    assert queries.list_contacts(acme, address="r9@example.com", limit=9) == ([], None)


def plan(workspace_id: int, **question: Any) -> str:
    """How PostgreSQL would execute what a page just executed."""
    with CaptureQueriesContext(connection) as captured:
        queries.list_contacts(workspace_id, limit=25, **question)
    [page] = [query["sql"] for query in captured if "FROM contacts_contact" in query["sql"]]
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN {page}")
        return "\n".join(line for (line,) in cursor.fetchall())


def test_a_page_is_served_by_an_index(acme: int, globex: int) -> None:
    fill(globex, 20_000)
    fill(acme, 3_000)
    questions: list[tuple[dict[str, object], str]] = [
        ({}, "contacts_contact_once"),
        ({"after": "r5"}, "contacts_contact_once"),
        ({"address": "R77@example.com"}, "contacts_contact_once"),
        ({"external_id": "77"}, "contacts_contact_external_once"),
        ({"audience": parse({"city": "City 5"})}, "contacts_contact_by_attribute"),
        ({"audience": parse({"field": "state", "is": "bounced"})}, "contacts_contact_not_active"),
    ]
    for question, index in questions:
        plan_text = plan(acme, **question)
        assert index in plan_text, question
        assert "Seq Scan on contacts_contact" not in plan_text, question


def test_what_cannot_be_counted_in_time_is_estimated_and_no_longer_looked_for(acme: int) -> None:
    fill(acme, 5_000)
    slow = parse({"any": [{"field": "attributes.city", "contains": f"y {n} x"} for n in range(49)]})
    patience = timedelta(milliseconds=1)

    assert audience.count_or_estimate(acme, EVERYBODY) == ContactCount(5_000, is_exact=True)
    assert not audience.count_or_estimate(acme, slow, patience=patience).is_exact
    with pytest.raises(audience.FilterTooCostlyError, match="Narrow the filter"):
        audience.sample(acme, slow, patience=patience)
    with pytest.raises(audience.FilterTooCostlyError):
        queries.list_contacts(acme, audience=slow, limit=9, patience=patience)
    with pytest.raises(audience.FilterTooCostlyError):
        export.csv_lines(acme, slow, patience=patience)

    # The connection is as good as before.
    assert audience.count(acme, slow) == 0
    assert audience.sample(acme, slow) == []


def test_suppressions_are_those_of_one_workspace(acme: int, globex: int) -> None:
    people.news(acme)
    for workspace_id, key in ((acme, None), (acme, "news"), (globex, None)):
        people.suppress(workspace_id, people.R1, key)

    of_address = suppressions.list_of_address(acme, address=people.R1)
    pages = [suppressions.list_page(acme, limit=1)]
    while pages[-1]:
        [last] = pages[-1]
        pages.append(suppressions.list_page(acme, before=last.pk, limit=1))

    assert [one.list and one.list.key for one in of_address] == [None, "news"]
    assert [one.list and one.list.key for [one] in pages[:-1]] == ["news", None]
    assert len(suppressions.list_page(globex, limit=9)) == 1


def test_a_page_of_suppressions_reads_past_no_other_workspaces(acme: int, globex: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO contacts_suppression (workspace_id, address_hash, reason)"
            " SELECT CASE WHEN n > 100 THEN %s ELSE %s END, uuid_send(gen_random_uuid()), 'bounced'"
            " FROM generate_series(1, 10000) n",
            [globex, acme],
        )
        cursor.execute("ANALYZE contacts_suppression")

    assert "contacts_suppression_by_age" in suppressions.list_page(acme, limit=25).explain()
