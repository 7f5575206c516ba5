"""Filters over HTTP: checked, counted and sampled, or refused with a place and a remedy."""

from datetime import timedelta
from typing import Any

import pytest

from postledger.contacts import index_advice
from tests.contacts.people import leave
from tests.web.callers import Caller
from tests.web.test_contacts_api import make_contact

VERBS = ["check", "count", "sample"]


@pytest.fixture
def people(alice: Caller) -> None:
    alice.post("/v1/lists", {"key": "news", "name": "News"})
    make_contact(
        alice,
        "r1@example.com",
        name="R1",
        attributes={"state": "OH"},
        lists=["news"],
        is_confirmed=True,
    )
    make_contact(alice, "r2@example.com", attributes={"state": "OH"})
    make_contact(
        alice, "r3@example.com", attributes={"state": "IA"}, lists=["news"], is_confirmed=True
    )
    alice.post("/v1/suppressions", {"address": "r2@example.com", "reason": "bounced"})
    make_contact(alice, "r4@example.com", lists=["news"], is_confirmed=True)
    leave(alice.workspace_id, "r4@example.com", "news")


def ask(who: Caller, verb: str, meant: Any, **more: Any) -> Any:
    reply = who.post(f"/v1/audiences/{verb}", {"filter": meant, **more})
    assert reply.status == (204 if verb == "check" else 200), reply.body
    return reply.body


@pytest.mark.usefixtures("people")
@pytest.mark.parametrize(
    ("meant", "active", "everybody"),
    [
        ({}, 2, 4),
        ({"state": "OH"}, 1, 2),
        ({"state": "OH", "list": "news"}, 1, 1),
        ({"list": "news"}, 2, 2),
        ({"any": [{"field": "state", "is": "bounced"}, {"state": "IA"}]}, 1, 2),
        ({"state": "TX"}, 0, 0),
    ],
)
def test_whom_a_filter_means_is_counted_and_sampled(
    meant: dict[str, Any], active: int, everybody: int, alice: Caller
) -> None:
    counted = ask(alice, "count", meant)

    assert counted.pop("took_ms") >= 0
    assert counted == {"number": active, "is_exact": True}
    assert ask(alice, "count", meant, only_active=False)["number"] == everybody
    assert len(ask(alice, "sample", meant)["contacts"]) == active
    assert len(ask(alice, "sample", meant, only_active=False)["contacts"]) == everybody
    ask(alice, "check", meant)


@pytest.mark.usefixtures("people")
def test_a_sample_shows_who_they_are(alice: Caller) -> None:
    [member] = ask(alice, "sample", {"state": "OH"})["contacts"]

    assert member.pop("contact_id") > 0
    assert member == {"address": "r1@example.com", "name": "R1", "state": "active"}
    assert len(ask(alice, "sample", {}, size=1)["contacts"]) == 1


@pytest.mark.usefixtures("people")
def test_a_slow_filter_is_logged_with_the_index_it_lacks(
    alice: Caller, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(index_advice, "PROMISED", timedelta(0))

    counted = ask(alice, "count", {"field": "attributes.age", "over": 30})

    assert set(counted) == {"number", "is_exact", "took_ms"}
    lines = [record.msg for record in caplog.records if isinstance(record.msg, dict)]
    [entry] = [line for line in lines if line["event"] == "audience_filter_slow"]
    assert "CREATE INDEX CONCURRENTLY contacts_contact_" in entry["advice"]


# place, the beginning of what to do about it
WRONG: list[tuple[Any, str, str]] = [
    ({"all": []}, "$.all", "This is not a list of conditions. Write"),
    ({"any": [{"state": "OH"}, 5]}, "$.any[1]", "This is not a condition. Write"),
    ({"field": "size", "is": 1}, "$.field", "There is no field 'size'. Write one of state,"),
    ({"field": "locale"}, "$", "A condition has one comparison. Write one of is,"),
    ({"a": 10**400}, "$.a", "This is not a value to compare with. Write"),
    (
        {"field": "attributes.a", "contains": "x" * 101},
        "$.contains",
        "This text is too long. Write at most 100 characters.",
    ),
    ({"a": "\x00"}, "$.a", "This is not a value to compare with. Write"),
    ({"list": "news", "in": ["gone"]}, "$.in[0]", "No subscription has this state. Write"),
    ({f"a{n}": 1 for n in range(101)}, "$", "There are more than 100 conditions. Put"),
]


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(("meant", "place", "remedy"), WRONG)
def test_a_wrong_filter_is_refused_with_its_place_and_a_remedy(
    verb: str, meant: Any, place: str, remedy: str, alice: Caller
) -> None:
    refused = alice.post(f"/v1/audiences/{verb}", {"filter": meant})

    assert (refused.status, refused.body["code"]) == (422, "invalid_filter"), refused.body
    [fault] = refused.body["errors"]
    assert (fault["place"], fault["detail"][: len(remedy)]) == (place, remedy)


@pytest.mark.parametrize("verb", VERBS)
def test_a_list_that_is_not_there_is_no_empty_audience(verb: str, alice: Caller) -> None:
    refused = alice.post(f"/v1/audiences/{verb}", {"filter": {"list": "nws"}})

    assert (refused.status, refused.body["code"]) == (422, "list_unknown")
    assert "'nws'" in refused.body["detail"]


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(
    "body", [{}, {"filter": []}, {"filter": None}, {"filter": {}, "surprise": 1}]
)
def test_a_wrong_request_is_refused(verb: str, body: dict[str, Any], alice: Caller) -> None:
    refused = alice.post(f"/v1/audiences/{verb}", body)

    assert (refused.status, refused.body["code"]) == (422, "INVALID_PAYLOAD")


@pytest.mark.parametrize("size", [0, 101, "3"])
def test_a_sample_has_1_to_100(size: object, alice: Caller) -> None:
    assert alice.post("/v1/audiences/sample", {"filter": {}, "size": size}).status == 422
