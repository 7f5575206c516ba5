"""Sources over HTTP: made, changed, archived, and given snapshots."""

from typing import Any

import pytest

from postledger.notifications.models import Event
from tests.notifications import cast as topics
from tests.web.callers import Caller

SOURCE: dict[str, Any] = {
    "key": "registrar",
    "topic": "open-seats",
    "id_fields": ["index"],
    "watched_field": "status",
    "fields": {"indexNumber": "index"},
}


@pytest.fixture
def acme(alice: Caller) -> Caller:
    topics.add_topic(alice.workspace_id)
    return alice


def items(status: str) -> list[dict[str, str]]:
    return [{"index": "10001", "status": status}]


def take(who: Caller, status: str, **more: str) -> Any:
    return who.post("/v1/sources/registrar/snapshots", {"items": items(status), **more})


def test_a_source_is_made_changed_and_found(acme: Caller) -> None:
    made = acme.post("/v1/sources", SOURCE)
    changed = acme.ask(
        "PATCH", "/v1/sources/registrar", {"url": "https://a.example/", "interval_seconds": 5}
    )

    assert made.status == 201
    assert made.body == {
        **SOURCE,
        "url": None,
        "interval_seconds": 60,
        "items_path": "",
        "created_at": made.body["created_at"],
        "archived_at": None,
        "next_poll_at": None,
        "last_snapshot_at": None,
        "snapshot_hash": None,
        "trouble": None,
        "trouble_since": None,
    }
    polled = {"url": "https://a.example/", "interval_seconds": 5}
    assert changed.body == {
        **made.body,
        **polled,
        "next_poll_at": changed.body["next_poll_at"],
    }
    assert changed.body["next_poll_at"] is not None
    assert acme.get("/v1/sources").body == {"sources": [changed.body], "next": None}
    assert acme.get("/v1/sources/registrar").body == changed.body


def test_snapshots_become_events_until_the_source_is_archived(acme: Caller) -> None:
    acme.post("/v1/sources", SOURCE)

    first, second, again = take(acme, "Closed"), take(acme, "Open"), take(acme, "Open")
    older = take(acme, "Closed", taken_at="2026-01-31T12:00:00Z")

    assert (first.body["result"], first.body["events"]) == ("baseline", [])
    event = Event.objects.get()
    assert second.body == {
        "hash": event.data["snapshotHash"],
        "result": "compared",
        "events": [{"id": event.pk, "key": event.key}],
    }
    assert again.body == {**second.body, "result": "unchanged", "events": []}
    assert (older.status, older.body["code"]) == (409, "snapshot_outdated")
    shown = acme.get("/v1/sources/registrar").body
    assert shown["snapshot_hash"] == second.body["hash"]
    archived = acme.post("/v1/sources/registrar/archive", None)
    refused = take(acme, "Closed")
    assert archived.body["archived_at"] is not None
    assert (refused.status, refused.body["code"]) == (409, "source_archived")
    assert acme.post("/v1/sources/registrar/archive", None).body == archived.body


def test_ids_that_no_index_takes_are_refused(acme: Caller) -> None:
    ids = [f"id{number}" for number in range(6)]
    acme.post("/v1/sources", {**SOURCE, "id_fields": ids})
    item = {**dict.fromkeys(ids, "\N{GRINNING FACE}" * 150), "status": "Open"}

    taken = acme.post("/v1/sources/registrar/snapshots", {"items": [item]})

    assert (taken.status, taken.body["code"]) == (422, "invalid_snapshot")


def test_a_wrong_source_is_refused(acme: Caller) -> None:
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"topic": "nothing"}, "invalid_event_source"),
        ({"url": "http://127.0.0.1/"}, "invalid_event_source"),
        ({"id_fields": []}, "INVALID_PAYLOAD"),
        ({"key": "No Key"}, "INVALID_PAYLOAD"),
    ]
    for change, code in wrong:
        refused = acme.post("/v1/sources", {**SOURCE, **change})
        assert (refused.status, refused.body["code"]) == (422, code), change
