"""Addresses that must not be mailed, over HTTP: added, looked up, restored with a reason."""

from typing import Any

from tests.web.callers import Caller
from tests.web.test_contacts_api import make_contact

R1 = "r1@example.com"


def suppress(who: Caller, address: str = R1, **more: Any) -> Any:
    reply = who.post("/v1/suppressions", {"address": address, **more})
    assert reply.status == 201, reply.body
    return reply.body


def restore(who: Caller, **more: Any) -> Any:
    body = {"address": R1, "reason": "Wrote to us.", **more}
    reply = who.post("/v1/suppressions/restore", body)
    assert reply.status == 200, reply.body
    return reply.body


def test_an_address_is_suppressed_found_and_restored(alice: Caller) -> None:
    kept = suppress(alice, "R1@Example.com")

    assert kept == {
        "address": "R1@example.com",
        "list": None,
        "reason": "by_hand",
        "has_left": False,
        "created_at": kept["created_at"],
    }
    page = alice.get("/v1/suppressions", address=R1).body
    assert page == {"suppressions": [kept], "next": None}
    assert restore(alice) == {"is_restored": True, "suppression": None}
    assert restore(alice) == {"is_restored": False, "suppression": None}
    assert alice.get("/v1/suppressions", address=R1).body["suppressions"] == []


def test_one_list_is_kept_from_an_address_and_its_contact(alice: Caller) -> None:
    alice.post("/v1/lists", {"key": "news", "name": "News"})
    contact = make_contact(alice, R1, lists=["news"], is_confirmed=True)

    suppress(alice, list="news", reason="complained")
    suppress(alice, reason="bounced")

    suppressions = alice.get("/v1/suppressions", address=R1).body["suppressions"]
    assert [(item["list"], item["reason"]) for item in suppressions] == [
        (None, "bounced"),
        ("news", "complained"),
    ]
    whole = alice.get(f"/v1/contacts/{contact['id']}").body
    assert (whole["state"], whole["subscriptions"][0]["state"]) == ("bounced", "suppressed")
    restore(alice, list="news")
    assert [item["list"] for item in alice.get("/v1/suppressions").body["suppressions"]] == [None]


def test_a_repeated_restoring_lifts_no_unsubscribe_beneath(alice: Caller) -> None:
    alice.post("/v1/lists", {"key": "news", "name": "News"})
    for address, key in ((R1, None), ("r2@example.com", "news")):
        suppress(alice, address, reason="unsubscribed", list=key)
        suppress(alice, address, reason="bounced", list=key)
        body = {"address": address, "reason": "Mended.", "expected_reason": "bounced", "list": key}

        first, second = (alice.post("/v1/suppressions/restore", body) for _time in range(2))

        assert (first.status, first.body["suppression"]["reason"]) == (200, "unsubscribed")
        assert (second.status, second.body["code"]) == (409, "suppression_changed")
        [left] = alice.get("/v1/suppressions", address=address).body["suppressions"]
        assert left["reason"] == "unsubscribed", key


def test_pages_hold_every_suppression_once_the_newest_first(alice: Caller) -> None:
    alice.post("/v1/lists", {"key": "news", "name": "News"})
    expected: list[tuple[str, str | None]] = []
    for address in (R1, "r2@example.com", "r3@example.com"):
        for scope in (None, "news"):
            suppress(alice, address, list=scope)
            expected.insert(0, (address, scope))

    first = alice.get("/v1/suppressions", limit="4").body
    rest = alice.get("/v1/suppressions", limit="4", cursor=first["next"]).body

    seen = first["suppressions"] + rest["suppressions"]
    assert [(item["address"], item["list"]) for item in seen] == expected
    assert (len(first["suppressions"]), rest["next"]) == (4, None)


# code, what is changed
WRONG: list[tuple[str, dict[str, Any]]] = [
    ("invalid_address", {"address": "nobody"}),
    ("INVALID_PAYLOAD", {"address": None}),
    ("list_unknown", {"list": "nws"}),
    ("list_unknown", {"list": "general"}),
    ("INVALID_PAYLOAD", {"list": "No List"}),
    ("INVALID_PAYLOAD", {"surprise": 1}),
]


def test_a_wrong_suppression_or_restoring_is_refused(alice: Caller) -> None:
    for code, changes in (*WRONG, ("INVALID_PAYLOAD", {"reason": "mood"})):
        refused = alice.post("/v1/suppressions", {"address": R1, **changes})
        assert (refused.status, refused.body["code"]) == (422, code), changes
    assert alice.get("/v1/suppressions").body["suppressions"] == []
    suppress(alice)
    wrong: list[tuple[str, dict[str, Any]]] = [
        *WRONG,
        ("restore_reason_missing", {"reason": " "}),
        ("INVALID_PAYLOAD", {"expected_reason": "mood"}),
    ]
    for code, changes in wrong:
        body = {"address": R1, "reason": "Wrote to us.", **changes}
        refused = alice.post("/v1/suppressions/restore", body)
        assert (refused.status, refused.body["code"]) == (422, code), changes
    [left] = alice.get("/v1/suppressions").body["suppressions"]
    contact = make_contact(alice, "r2@example.com")
    body = {"reason": "Mended.", "expected_reason": "bounced"}
    gone = alice.post(f"/v1/contacts/{contact['id']}/restore", body)
    assert (left["reason"], gone.status, gone.body["code"]) == (
        *("by_hand", 409, "suppression_changed"),
    )


def test_a_wrong_question_is_refused(alice: Caller) -> None:
    wrong = ({"address": "a"}, {"limit": "0"}, {"cursor": "x"}, {"cursor": "0" * 32}, {"a": "1"})
    for question in wrong:
        refused = alice.get("/v1/suppressions", **question)

        assert (refused.status, refused.body["code"]) == (422, "INVALID_PAYLOAD"), question
