"""Filters over HTTP: checked, counted and sampled, or refused with a place and a remedy."""

from typing import Any

import pytest

from tests.contacts.people import leave
from tests.web.callers import Caller
from tests.web.test_contacts_api import make_contact


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
def test_whom_a_filter_means_is_counted_and_sampled(alice: Caller) -> None:
    filters: list[tuple[dict[str, Any], int, int]] = [
        ({}, 2, 4),
        ({"state": "OH"}, 1, 2),
        ({"state": "OH", "list": "news"}, 1, 1),
        ({"list": "news"}, 2, 2),
        ({"any": [{"field": "state", "is": "bounced"}, {"state": "IA"}]}, 1, 2),
        ({"state": "TX"}, 0, 0),
    ]
    for meant, active, everybody in filters:
        counted = ask(alice, "count", meant)

        assert counted.pop("took_ms") >= 0
        assert counted == {"number": active, "is_exact": True}, meant
        assert ask(alice, "count", meant, only_active=False)["number"] == everybody, meant
        assert len(ask(alice, "sample", meant)["contacts"]) == active, meant
        assert len(ask(alice, "sample", meant, only_active=False)["contacts"]) == everybody, meant
        ask(alice, "check", meant)
    [member] = ask(alice, "sample", {"state": "OH"})["contacts"]
    assert member.pop("contact_id") > 0
    assert member == {"address": "r1@example.com", "name": "R1", "state": "active"}
    assert len(ask(alice, "sample", {}, size=1)["contacts"]) == 1


def test_a_wrong_filter_is_refused_with_its_place_and_is_no_empty_audience(alice: Caller) -> None:
    wrong: list[tuple[dict[str, Any], str, str]] = [
        ({"filter": {"list": "nws"}}, "list_unknown", ""),
        ({"filter": {"any": [{"state": "OH"}, 5]}}, "invalid_filter", "$.any[1]"),
        ({"filter": {"field": "size", "is": 1}}, "invalid_filter", "$.field"),
        ({"filter": {"a": 10**400}}, "invalid_filter", "$.a"),
        ({"filter": {"a": "\x00"}}, "invalid_filter", "$.a"),
        ({"filter": {f"a{n}": 1 for n in range(101)}}, "invalid_filter", "$"),
        ({"filter": []}, "INVALID_PAYLOAD", "filter"),
        ({"filter": {}, "surprise": 1}, "INVALID_PAYLOAD", "surprise"),
    ]
    for verb in ("check", "count", "sample"):
        for body, code, place in wrong:
            refused = alice.post(f"/v1/audiences/{verb}", body)

            assert (refused.status, refused.body["code"]) == (422, code), body
            assert not place or refused.body["errors"][0]["place"] == place, body
    assert alice.post("/v1/audiences/sample", {"filter": {}, "size": 101}).status == 422
