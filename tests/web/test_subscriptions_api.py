"""What a contact agrees to, over HTTP: from asking to leaving, with everything in its history."""

from typing import Any

import pytest

from tests.web.callers import Caller, Reply
from tests.web.test_contacts_api import make_contact

PREFERENCES = {
    "notify_on": ["open", "cancelled"],
    "max_notifications": 3,
    "delivery_window": {"start_minute": 1320, "end_minute": 360},
    "snooze_until": "2030-12-24T18:00:00Z",
    "locale": "pt-BR",
}
NOTHING: dict[str, None] = dict.fromkeys(PREFERENCES)
FORM = {"source": "signup page", "text_version": "2026-05", "ip": "192.0.2.7"}


@pytest.fixture
def r1(alice: Caller) -> str:
    """The path of a contact; there is a list news."""
    alice.post("/v1/lists", {"key": "news", "name": "News"})
    return f"/v1/contacts/{make_contact(alice)['id']}"


def put(who: Caller, path: str, key: str = "news", **body: Any) -> Reply:
    return who.ask("PUT", f"{path}/subscriptions/{key}", body)


def confirm(who: Caller, path: str, **body: Any) -> Reply:
    return who.post(f"{path}/subscriptions/news/confirm", body)


def leave(who: Caller, path: str) -> Reply:
    return who.ask("DELETE", f"{path}/subscriptions/news")


def read_subscriptions(who: Caller, path: str) -> dict[str, str]:
    subscriptions = who.get(path).body["subscriptions"]
    return {item["list"]: item["state"] for item in subscriptions}


def history(who: Caller, path: str) -> list[tuple[str, str | None, str | None, str | None]]:
    """Oldest first."""
    events = who.get(f"{path}/history", limit="100").body["events"]
    names = ("action", "list", "before", "after")
    return [tuple(event[name] for name in names) for event in reversed(events)]


def test_a_consent_from_asking_to_leaving(alice: Caller, r1: str) -> None:
    asked = put(alice, r1, state="pending", consent=FORM)
    confirmed = confirm(alice, r1, **FORM)
    paused = put(alice, r1, state="paused")
    chosen = put(alice, r1, preferences=PREFERENCES)
    resumed = put(alice, r1, state="active")
    left = leave(alice, r1)

    assert [reply.status for reply in (asked, confirmed, paused, chosen, resumed)] == [200] * 5
    assert (left.status, left.body) == (204, None)
    states = [reply.body["state"] for reply in (asked, confirmed, paused, chosen, resumed)]
    assert states == ["pending", "active", "paused", "paused", "active"]
    assert asked.body["preferences"] == NOTHING
    assert chosen.body["preferences"] == PREFERENCES
    assert alice.get(r1).body["subscriptions"][0]["preferences"] == PREFERENCES
    assert read_subscriptions(alice, r1) == {"news": "unsubscribed"}
    assert history(alice, r1) == [
        ("subscribed", "news", None, "pending"),
        ("confirmed", "news", "pending", "active"),
        ("paused", "news", "active", "paused"),
        ("preferences_changed", "news", "paused", "paused"),
        ("resumed", "news", "paused", "active"),
        ("unsubscribed", "news", "active", "unsubscribed"),
    ]


def test_the_history_holds_the_proof_of_a_consent_and_comes_in_pages(
    alice: Caller, r1: str
) -> None:
    put(alice, r1, state="active", consent=FORM)

    [event] = alice.get(f"{r1}/history").body["events"]
    put(alice, r1, state="paused")
    first = alice.get(f"{r1}/history", limit="1").body
    last = alice.get(f"{r1}/history", limit="1", cursor=first["next"]).body

    assert event == {
        "id": event["id"],
        "at": event["at"],
        "action": "subscribed",
        "list": "news",
        "before": None,
        "after": "active",
        "actor": f"key {alice.token.partition('.')[0]}",
        "detail": "",
        **FORM,
    }
    assert [each["action"] for each in first["events"]] == ["paused"]
    assert last == {"events": [event], "next": None}


def test_what_is_asked_for_twice_happens_once_and_preferences_are_set_all_at_once(
    alice: Caller, r1: str
) -> None:
    for _ in range(2):
        put(alice, r1, state="active", preferences=PREFERENCES)
    for _ in range(2):
        put(alice, r1, state="paused")
    for _ in range(2):
        assert leave(alice, r1).status == 204
    chosen = put(alice, r1, preferences={"max_notifications": 1}).body

    assert [action for action, *_ in history(alice, r1)][:4] == [
        "subscribed",
        "preferences_changed",
        "paused",
        "unsubscribed",
    ]
    assert chosen["preferences"] == {**NOTHING, "max_notifications": 1}


def test_who_left_a_list_or_was_kept_from_it_comes_back_by_their_own_word_alone(
    alice: Caller, r1: str
) -> None:
    assert leave(alice, r1).status == 204, "who was never on it"
    assert put(alice, r1, state="active").body["state"] == "pending"
    confirm(alice, r1)
    leave(alice, r1)
    not_asked = confirm(alice, r1).body["state"]

    states = [put(alice, r1, state="active").body["state"] for _ in range(3)]
    back = confirm(alice, r1, **FORM).body["state"]

    assert (not_asked, states, back) == ("unsubscribed", ["pending"] * 3, "active")
    assert alice.get("/v1/suppressions").body["suppressions"] == []


def test_a_program_that_repeats_itself_brings_back_nobody_who_left_everything(
    alice: Caller, r1: str
) -> None:
    alice.post("/v1/lists", {"key": "offers", "name": "Offers"})
    put(alice, r1, state="active")
    put(alice, r1, "offers", state="active")
    alice.post(f"{r1}/unsubscribe", {})
    leave(alice, r1)
    put(alice, r1, state="pending")
    confirm(alice, r1)
    assert read_subscriptions(alice, r1) == {"news": "active", "offers": "unsubscribed"}

    states = [put(alice, r1, "offers", state="active").body["state"] for _ in range(3)]

    assert states == ["pending"] * 3


def test_what_was_never_asked_for_is_not_changed(alice: Caller, r1: str) -> None:
    for state in ("paused", "unsubscribed", None):
        refused = put(alice, r1, state=state, preferences={})
        assert (refused.status, refused.body["code"]) == (422, "subscription_unknown"), state
    assert confirm(alice, r1).body["code"] == "subscription_unknown"
    assert (read_subscriptions(alice, r1), history(alice, r1)) == ({}, [])


def test_only_an_active_subscription_is_paused_and_who_is_kept_back_by_hand_is_restored_first(
    alice: Caller, r1: str
) -> None:
    put(alice, r1, state="pending")
    pausing = put(alice, r1, state="paused")
    confirm(alice, r1)
    alice.post("/v1/suppressions", {"address": "r1@example.com", "list": "news"})
    subscribing = put(alice, r1, state="active")
    unknown = alice.post(f"{r1}/restore", {"reason": "A mistake.", "list": "nws"})
    restored = alice.post(f"{r1}/restore", {"reason": "A mistake.", "list": "news"})

    assert (pausing.status, pausing.body["code"]) == (409, "subscription_not_active")
    assert (subscribing.status, subscribing.body["code"]) == (409, "subscription_suppressed")
    assert (unknown.status, unknown.body["code"]) == (422, "list_unknown")
    assert restored.body["subscriptions"][0]["state"] == "active"


def test_who_leaves_everything_is_restored_with_a_reason(alice: Caller, r1: str) -> None:
    left = alice.post(f"{r1}/unsubscribe", FORM)
    again = alice.post(f"{r1}/unsubscribe", FORM)

    assert left.status == again.status == 200
    assert (left.body["state"], left.body["suppression"]) == (
        "unsubscribed",
        {"reason": "unsubscribed", "has_left": True},
    )
    restored = alice.post(f"{r1}/restore", {"reason": "Wrote to us."})
    assert (restored.status, restored.body["state"]) == (200, "active")
    assert restored.body["suppression"] is None
    assert history(alice, r1) == [
        ("unsubscribed", None, "active", "unsubscribed"),
        ("restored", None, "unsubscribed", "active"),
    ]
    assert alice.get(f"{r1}/history").body["events"][0]["detail"] == "Wrote to us."


def test_nobody_is_restored_without_a_reason(alice: Caller, r1: str) -> None:
    alice.post(f"{r1}/unsubscribe", {})
    wrong: list[tuple[str, dict[str, str]]] = [
        ("INVALID_PAYLOAD", {}),
        ("restore_reason_missing", {"reason": "  "}),
        ("INVALID_PAYLOAD", {"reason": "a\x00"}),
        ("INVALID_PAYLOAD", {"reason": "x" * 501}),
    ]
    for code, body in wrong:
        refused = alice.post(f"{r1}/restore", body)
        assert (refused.status, refused.body["code"]) == (422, code), body
    assert alice.get(r1).body["state"] == "unsubscribed"


WRONG: list[tuple[str, dict[str, Any]]] = [
    ("INVALID_PAYLOAD", {"state": "suppressed"}),
    ("INVALID_PAYLOAD", {"surprise": 1}),
    ("INVALID_PAYLOAD", {"preferences": {"surprise": 1}}),
    ("INVALID_PAYLOAD", {"preferences": {"max_notifications": 0}}),
    ("INVALID_PAYLOAD", {"preferences": {"max_notifications": 2**31}}),
    ("INVALID_PAYLOAD", {"preferences": {"delivery_window": {"start_minute": 5}}}),
    (
        "INVALID_PAYLOAD",
        {"preferences": {"delivery_window": {"start_minute": 0, "end_minute": 1441}}},
    ),
    ("INVALID_PAYLOAD", {"preferences": {"snooze_until": "tomorrow"}}),
    ("INVALID_PAYLOAD", {"preferences": {"notify_on": ["a"] * 51}}),
    ("INVALID_PAYLOAD", {"consent": {"ip": "nowhere"}}),
    ("invalid_contact", {"preferences": {"locale": "English"}}),
    ("invalid_preferences", {"preferences": {"notify_on": [""]}}),
]


def test_a_wrong_subscription_is_refused(alice: Caller, r1: str) -> None:
    for code, body in WRONG:
        refused = put(alice, r1, **{"state": "active", **body})
        assert (refused.status, refused.body["code"]) == (422, code), body
    assert (read_subscriptions(alice, r1), history(alice, r1)) == ({}, [])


def test_a_list_that_is_not_in_use_is_not_found(alice: Caller, r1: str) -> None:
    alice.post("/v1/lists", {"key": "archived", "name": "Old"})
    alice.post("/v1/lists/archived/archive", None)
    for key in ("nws", "general", "No", "archived"):
        path = f"{r1}/subscriptions/{key}"

        replies = [alice.ask("PUT", path, {"state": "active"}), alice.post(f"{path}/confirm", {})]

        assert {(reply.status, reply.body["code"]) for reply in replies} == {(404, "not_found")}
        # Who left a list that is out of use has left it all the same.
        assert alice.ask("DELETE", path).status == (204 if key == "archived" else 404), key
    assert [item["key"] for item in alice.get("/v1/lists").body["lists"]] == ["archived", "news"]
