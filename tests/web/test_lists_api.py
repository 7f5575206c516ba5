"""Lists and topics over HTTP: made, changed, counted, archived."""

from typing import Any

from tests.web.callers import Caller
from tests.web.test_contacts_api import make_contact

NEWS = {"key": "news", "name": "News"}


def test_a_list_is_made_found_and_changed_where_a_change_names_it(alice: Caller) -> None:
    reply = alice.post("/v1/lists", NEWS)
    topic = alice.post("/v1/lists", {**NEWS, "key": "seats", "kind": "topic", "is_public": True})
    listed = alice.get("/v1/lists").body
    shown = alice.ask("PATCH", "/v1/lists/news", {"is_public": True}).body
    named = alice.ask("PATCH", "/v1/lists/news", {"name": "The news"}).body
    same = alice.ask("PATCH", "/v1/lists/news", {}).body

    assert reply.status == topic.status == 201
    assert reply.body == {
        **NEWS,
        "kind": "list",
        "is_public": False,
        "created_at": reply.body["created_at"],
        "archived_at": None,
    }
    assert (topic.body["kind"], topic.body["is_public"]) == ("topic", True)
    assert listed == {"lists": [reply.body, topic.body]}
    assert (shown["name"], shown["is_public"]) == ("News", True)
    assert (named["name"], named["is_public"]) == ("The news", True)
    assert same == named


def test_a_list_tells_how_many_stand_how(alice: Caller) -> None:
    alice.post("/v1/lists", NEWS)
    for number in range(3):
        make_contact(alice, f"r{number}@example.com", lists=["news"], is_confirmed=number > 0)

    counted = alice.get("/v1/lists/news").body["subscriptions"]

    assert counted.pop("active") == {"number": 2, "is_exact": True}
    assert counted.pop("pending") == {"number": 1, "is_exact": True}
    assert counted == {
        state: {"number": 0, "is_exact": True} for state in ("paused", "unsubscribed", "suppressed")
    }


def test_an_archived_list_takes_nobody_until_it_is_restored(alice: Caller) -> None:
    alice.post("/v1/lists", NEWS)
    new = {"address": "r1@example.com", "lists": ["news"]}

    archived = alice.post("/v1/lists/news/archive", None)

    assert (archived.status, archived.body["archived_at"] is None) == (200, False)
    assert alice.post("/v1/contacts", new).body["code"] == "list_unknown"
    assert alice.get("/v1/lists/news").status == 200
    assert alice.post("/v1/lists/news/archive", None).status == 404
    assert alice.post("/v1/lists", NEWS).body["code"] == "list_exists"
    assert alice.ask("PATCH", "/v1/lists/news", {"name": "N"}).status == 404
    restored = alice.post("/v1/lists/news/restore", None)
    assert (restored.status, restored.body["archived_at"]) == (200, None)
    assert alice.post("/v1/lists/news/restore", None).status == 404
    assert alice.post("/v1/contacts", new).status == 201


# code, what is changed
WRONG: list[tuple[str, dict[str, Any]]] = [
    *(("INVALID_PAYLOAD", {"key": key}) for key in ("", "-a", "A", "a\n", "a" * 65, 5)),
    ("invalid_list_key", {"key": "general"}),
    *(("INVALID_PAYLOAD", {"name": name}) for name in ("", "x" * 101, None)),
    ("invalid_name", {"name": "a\nb"}),
    ("INVALID_PAYLOAD", {"kind": "group"}),
    ("INVALID_PAYLOAD", {"is_public": "yes"}),
    ("INVALID_PAYLOAD", {"surprise": 1}),
]


def test_a_wrong_list_and_a_wrong_change_are_refused(alice: Caller) -> None:
    for code, changes in WRONG:
        refused = alice.post("/v1/lists", {**NEWS, **changes})
        assert (refused.status, refused.body["code"]) == (422, code), changes
    assert alice.get("/v1/lists").body == {"lists": []}
    alice.post("/v1/lists", NEWS)
    changes_of_it: list[dict[str, Any]] = [{"name": None}, {"is_public": None}, {"key": "other"}]
    for changes in changes_of_it:
        assert alice.ask("PATCH", "/v1/lists/news", changes).status == 422, changes
