"""Topics, events and topic subscriptions over HTTP."""

from typing import Any

import pytest

from postledger.accounts.keys import Scope
from postledger.notifications.models import Event, Notification, TopicSubscription
from tests.notifications.seats import OPENED, SCHEMA
from tests.web import callers
from tests.web.callers import Caller
from tests.web.test_contacts_api import make_contact

SEATS: dict[str, Any] = {
    "key": "seats",
    "name": "Open seats",
    "template": "open-seat",
    "event_schema": dict(SCHEMA),
    "match_fields": ["termId", "campusCode", "indexNumber"],
}
EVENTS = "/v1/topics/seats/events"
SUBSCRIPTIONS = "/v1/topics/seats/subscriptions"


@pytest.fixture
def topic(alice: Caller) -> dict[str, Any]:
    reply = alice.post("/v1/topics", SEATS)
    assert reply.status == 201, reply.body
    body: dict[str, Any] = reply.body
    return body


def _subscribe(alice: Caller, contact_id: int, **changes: Any) -> Any:
    wanted = {"contact_id": contact_id, "match": {"indexNumber": "10023"}, **changes}
    return alice.post(SUBSCRIPTIONS, wanted)


def test_a_topic_is_made_changed_archived_and_restored(
    alice: Caller, topic: dict[str, Any]
) -> None:
    assert topic | SEATS == topic
    assert (topic["dedupe_seconds"], topic["ttl_seconds"]) == (180, 86_400)
    assert alice.get("/v1/topics").body == {"topics": [topic], "next": None}

    changed = alice.ask("PATCH", "/v1/topics/seats", {"ttl_seconds": 60, "fallback_locale": "en"})
    assert changed.body == {**topic, "ttl_seconds": 60, "fallback_locale": "en"}
    archived = alice.post("/v1/topics/seats/archive", None)
    assert archived.body["archived_at"]
    refused = alice.post(EVENTS, {"events": [{"data": OPENED}]})
    assert (refused.status, refused.body["code"]) == (409, "topic_archived")
    assert alice.post("/v1/topics/seats/restore", None).body == changed.body


def test_a_topic_that_cannot_work_is_refused(alice: Caller) -> None:
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"template": "nothing"}, "invalid_topic"),
        ({"event_schema": {"$ref": "https://example.com"}}, "invalid_event_schema"),
        ({"match_fields": list("abcdefg")}, "INVALID_PAYLOAD"),
        ({"sender": "nobody@acme.example"}, "sender_unknown"),
        ({"key": "general"}, "invalid_list_key"),
    ]
    for changes, code in wrong:
        refused = alice.post("/v1/topics", {**SEATS, **changes})
        assert (refused.status, refused.body["code"]) == (422, code), changes


@pytest.mark.usefixtures("topic")
def test_an_event_is_published_once_for_its_id(alice: Caller) -> None:
    body = {"events": [{"id": "a", "data": OPENED, "trace_id": "t-1"}, {"data": OPENED}]}
    first, again = (alice.post(EVENTS, body, Idempotency_Key="order-5") for _ in range(2))
    assert (first.status, again.status) == (202, 202)
    ids = [event["id"] for event in first.body["events"]]
    assert [event["id"] for event in again.body["events"]] == ids
    assert [event["is_repeat"] for event in again.body["events"]] == [True, True]
    assert first.body["events"][0]["trace_id"] == "t-1"
    assert first.body["events"][1]["key"] == "order-5#1"
    assert Event.objects.count() == 2

    other = alice.post(EVENTS, {"events": [{"id": "a", "data": {**OPENED, "termId": "x"}}]})
    assert (other.status, other.body["code"]) == (409, "event_conflict")
    listed = alice.get(EVENTS, limit="1").body
    assert [event["id"] for event in listed["events"]] == ids[1:]
    older = alice.get(EVENTS, limit="1", cursor=listed["next"]).body
    assert ([event["id"] for event in older["events"]], older["next"]) == (ids[:1], None)


@pytest.mark.usefixtures("topic")
def test_events_that_do_not_fit_are_named_and_nothing_is_published(alice: Caller) -> None:
    refused = alice.post(
        EVENTS, {"events": [{"data": OPENED}, {"data": {**OPENED, "indexNumber": 5}}]}
    )
    assert (refused.status, refused.body["code"]) == (422, "invalid_event")
    assert {issue["index"] for issue in refused.body["errors"]} == {1}
    assert "data.indexNumber" in {issue["place"] for issue in refused.body["errors"]}
    assert not Event.objects.exists()


@pytest.mark.usefixtures("topic")
def test_a_subscription_is_pending_until_the_list_is_confirmed_by_who_may_write_contacts(
    alice: Caller,
) -> None:
    contact_id = make_contact(alice)["id"]
    scopes = [Scope.NOTIFICATIONS_READ, Scope.NOTIFICATIONS_WRITE]
    writer = callers.of_workspace(alice.workspace_id, scopes=scopes)
    assert _subscribe(writer, contact_id, is_confirmed=True).status == 403
    made = _subscribe(writer, contact_id)
    assert (made.status, made.body["status"], made.body["state"]) == (201, "pending", "active")
    assert _subscribe(alice, contact_id).body["id"] == made.body["id"]

    alice.post(f"/v1/contacts/{contact_id}/subscriptions/seats/confirm", {})
    path = f"/v1/topic-subscriptions/{made.body['id']}"
    assert alice.get(path).body["status"] == "active"
    # Another match needs no second confirmation: the consent is to the topic.
    other = _subscribe(alice, contact_id, match={"campusCode": "NB"})
    assert other.body["status"] == "active"
    assert TopicSubscription.objects.count() == 2


@pytest.mark.usefixtures("topic")
def test_a_subscription_pauses_resumes_and_ends(alice: Caller) -> None:
    contact_id = make_contact(alice)["id"]
    for match in ({"subject": "x"}, {"termId": "\x00"}, {"termId": "x" * 201}):
        assert _subscribe(alice, contact_id, match=match).status == 422, match
    made = _subscribe(alice, contact_id, is_confirmed=True).body
    path = f"/v1/topic-subscriptions/{made['id']}"

    assert alice.post(f"{path}/pause", None).body["status"] == "paused"
    assert alice.post(f"{path}/pause", None).body["status"] == "paused"
    assert alice.post(f"{path}/resume", None).body["status"] == "active"
    assert alice.ask("DELETE", path).status == 204
    assert alice.get(path).body["status"] == "unsubscribed"
    refused = alice.post(f"{path}/resume", None)
    assert (refused.status, refused.body["code"]) == (409, "topic_subscription_ended")
    again = _subscribe(alice, contact_id)
    assert (again.body["id"], again.body["status"]) == (made["id"], "active")
    history = alice.get(f"/v1/contacts/{contact_id}/history").body["events"]
    assert any("paused → active" in event["detail"] for event in history)
    # Who leaves the list is told nothing more; to come back takes a confirmation.
    alice.ask("DELETE", f"/v1/contacts/{contact_id}/subscriptions/seats")
    assert alice.get(path).body["status"] == "unsubscribed"
    assert _subscribe(alice, contact_id, is_confirmed=True).body["status"] == "pending"


@pytest.mark.usefixtures("topic")
def test_preferences_are_replaced_and_listed(alice: Caller) -> None:
    contact_id = make_contact(alice)["id"]
    made = _subscribe(alice, contact_id, is_confirmed=True).body
    wanted = {
        "notify_on": ["Open", "Wait"],
        "max_notifications": 3,
        "delivery_window": {"start_minute": 540, "end_minute": 1080},
        "snooze_until": "2030-01-01T00:00:00Z",
        "locale": "pt",
    }
    path = f"/v1/topic-subscriptions/{made['id']}"
    changed = alice.ask("PATCH", path, {"preferences": wanted})
    assert changed.body["preferences"] == wanted
    listed = alice.get(SUBSCRIPTIONS, status="active", contact_id=str(contact_id)).body
    assert listed == {"subscriptions": [changed.body], "next": None}
    assert alice.get(SUBSCRIPTIONS, status="paused").body["subscriptions"] == []
    refused = alice.ask("PATCH", path, {"preferences": {"notify_on": [""]}})
    assert (refused.status, refused.body["code"]) == (422, "invalid_preferences")


@pytest.mark.usefixtures("topic")
def test_an_event_tells_what_became_of_its_notifications(alice: Caller) -> None:
    ids = [
        _subscribe(alice, make_contact(alice, address=f"r{n}@example.com")["id"]).body["id"]
        for n in range(3)
    ]
    event_id = alice.post(EVENTS, {"events": [{"data": OPENED}]}).body["events"][0]["id"]
    for subscription_id, end, code in zip(
        ids, ("skipped", "skipped", None), ("duplicate", "duplicate", ""), strict=True
    ):
        Notification.objects.create(
            event_id=event_id,
            subscription_id=subscription_id,
            dedupe_key="d",
            end=end,
            code=code,
        )
    shown = alice.get(f"/v1/events/{event_id}").body
    assert (shown["topic"], shown["data"]) == ("seats", dict(OPENED))
    assert shown["fan_out"] == [
        {"state": "skipped", "code": "duplicate", "count": 2},
        {"state": "waiting", "code": None, "count": 1},
    ]
    path = f"/v1/events/{event_id}/notifications"
    page = alice.get(path, state="skipped", limit="1").body
    assert [item["subscription_id"] for item in page["notifications"]] == ids[:1]
    assert page["notifications"][0]["address"] == "r0@example.com"
    rest = alice.get(path, state="skipped", cursor=page["next"]).body
    assert [item["subscription_id"] for item in rest["notifications"]] == ids[1:2]
    program = callers.of_workspace(alice.workspace_id, scopes=[Scope.NOTIFICATIONS_READ])
    assert "r0@" not in str(program.get(path).body)
