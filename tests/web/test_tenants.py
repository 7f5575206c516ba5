"""Charlie belongs to globex, and finds nothing of acme at any address of the API."""

from collections.abc import Callable
from uuid import uuid4

from django.conf import LazySettings

from postledger.accounts import workspaces
from postledger.accounts.queries import Organisation
from postledger.deliveries import ledger
from postledger.deliveries.entries import StreamKind
from postledger.deliveries.reasons import Reason
from postledger.lib.ids import DeliveryId
from tests import cast
from tests.notifications import cast as topics
from tests.web import newsroom, uploads
from tests.web.callers import Caller, Reply

type Attempt = Callable[[Caller, str], Reply]
MAILS: dict[str, Attempt] = {
    "getMail": lambda who, id_: who.get(f"/v1/email/{id_}"),
    "explainWait": lambda who, id_: who.get(f"/v1/why/{id_}"),
    "cancelMail": lambda who, id_: who.ask("DELETE", f"/v1/email/{id_}"),
}
SLICES: dict[str, Attempt] = {
    "changeSlice": lambda who, path: who.ask("PUT", f"/v1/articles/{path}", {"title": "a"}),
    "deleteSlice": lambda who, path: who.ask("DELETE", f"/v1/articles/{path}"),
}
PENDING = {"state": "pending"}
WHY = {"reason": "a mistake"}
# Of a contact and a list, the path of both.
SUBSCRIPTIONS: dict[str, Attempt] = {
    "putSubscription": lambda who, path: who.ask("PUT", f"/v1/contacts/{path}", PENDING),
    "confirmSubscription": lambda who, path: who.post(f"/v1/contacts/{path}/confirm", {}),
    "deleteSubscription": lambda who, path: who.ask("DELETE", f"/v1/contacts/{path}"),
}
SENT = {"decision": "count_as_sent"}
# Of what needs a person, those that name it in their body.
ATTENTION: dict[str, Attempt] = {
    "resolveDoubts": lambda who, id_: who.post("/v1/doubts/resolve", {**SENT, "ids": [id_]}),
    "requeueDeadLetters": lambda who, id_: who.post("/v1/dead-letters/requeue", {"ids": [id_]}),
    "discardDeadLetters": lambda who, id_: who.post("/v1/dead-letters/discard", {"ids": [id_]}),
}


def test_a_mail_of_acme_is_to_charlie_as_one_that_does_not_exist(
    alice: Caller, charlie: Caller
) -> None:
    id_ = alice.send().body["id"]
    own = DeliveryId.parse(id_)
    assert own
    random = DeliveryId(own.stream_id, 10**15).text()

    for attempt in MAILS.values():
        assert_not_found(attempt, charlie, id_, random, str(uuid4()), "x")

    assert alice.get(f"/v1/email/{id_}").body["state"] == "waiting"
    # A try and a mail of a campaign are not found at this address either.
    campaign = cast.stream(StreamKind.CAMPAIGN, mails=1)
    for other in (DeliveryId(own.stream_id, own.position, 1), DeliveryId(campaign, 0)):
        assert alice.get(f"/v1/email/{other.text()}").status == 404


def test_charlie_finds_none_of_acmes_mails_sends_none_as_acme_and_has_keys_of_their_own(
    alice: Caller, charlie: Caller
) -> None:
    alice.send(tags=["receipt"])
    first = alice.send("order-5").body["id"]
    cursor = alice.get("/v1/email", limit="1").body["next"]

    for question in (
        *({}, {"to": "alice@example.com"}, {"tag": "receipt"}, {"state": "waiting"}),
        {"cursor": cursor},
    ):
        assert charlie.get("/v1/email", **question).body == {"mails": [], "next": None}, question
    for refused in (
        charlie.send(sender="news@acme.example"),
        charlie.batch({}, {"sender": "news@acme.example"}),
    ):
        assert (refused.status, refused.body["errors"][0]["place"]) == (422, "sender")
    assert charlie.get("/v1/email").body["mails"] == []
    assert charlie.send("order-5").body["id"] != first


def assert_not_found(operation: Attempt, charlie: Caller, *tried: str) -> None:
    """Charlie gets the same answer to all of them, and none of these words."""
    replies = [operation(charlie, name) for name in tried]

    assert {reply.status for reply in replies} == {404}
    bodies = [{**reply.body, "request_id": ""} for reply in replies]
    assert all(body == bodies[0] for body in bodies)
    assert bodies[0]["code"] == "not_found"
    assert tried[0] not in bodies[0]["detail"]


def test_a_slice_of_acme_is_to_charlie_as_one_that_does_not_exist(
    alice: Caller, charlie: Caller
) -> None:
    for who in (alice, charlie):
        who.post("/v1/articles", {"key": "plan", "title": "Plan"})
    added = alice.post("/v1/articles/plan/slices", {"title": "Secret"}).body
    number = added["id"]

    # Charlie has an article of this key, too: only the slice is another's.
    for attempt in SLICES.values():
        assert_not_found(attempt, charlie, f"plan/slices/{number}", "plan/slices/1", "x/slices/1")

    assert alice.get("/v1/articles/plan/slices").body == {"slices": [added]}


def test_charlie_lists_nothing_of_acmes_and_may_use_its_keys(
    alice: Caller, charlie: Caller
) -> None:
    made: list[tuple[str, dict[str, str]]] = [
        ("templates", {"id": "plan", "name": "Plan"}),
        ("articles", {"key": "plan", "title": "P"}),
    ]
    for kind, new in made:
        alice.post(f"/v1/{kind}", new)

        listed = charlie.get(f"/v1/{kind}").body[kind]
        own = charlie.post(f"/v1/{kind}", new)

        assert [item for item in listed if not item.get("is_builtin")] == [], kind
        assert own.status == 201, kind
        assert charlie.get(f"/v1/{kind}/plan").body == own.body, kind
    assert alice.ask("DELETE", "/v1/articles/plan").status == 204
    assert charlie.get("/v1/articles/plan").status == 200


def test_charlies_content_has_charlies_footer(
    alice: Caller, charlie: Caller, settings: LazySettings
) -> None:
    settings.UNSUBSCRIBE_SECRET = "a secret of the tests, long enough"
    for who, name in ((alice, "Acme"), (charlie, "Globex")):
        page = f"https://{name.lower()}.example/leave"
        workspaces.set_organisation(
            who.workspace_id, Organisation(name, "1 Road", page), actor="test"
        )
    words = {"subject": "a", "format": "markdown", "body": "b", "has_footer": True}

    shown = charlie.post("/v1/content/preview", words).body
    checked = charlie.post("/v1/content/check", words).body

    assert "Globex — 1 Road" in shown["text"]
    assert "Acme" not in str(shown) + str(checked)


def a_contact(who: Caller) -> str:
    """The id of somebody who is about to confirm."""
    who.post("/v1/lists", {"key": "secret-plan", "name": "Plan"})
    new = {"address": "r1@acme.example", "name": "Secret", "lists": ["secret-plan"]}
    return str(who.post("/v1/contacts", new).body["id"])


def test_a_subscription_of_acme_is_to_charlie_as_one_that_does_not_exist(
    alice: Caller, charlie: Caller
) -> None:
    id_ = a_contact(alice)
    own = charlie.post("/v1/contacts", {"address": "r1@acme.example"}).body["id"]
    before = alice.get(f"/v1/contacts/{id_}").body
    both = f"{id_}/subscriptions/secret-plan"

    # Charlie has a contact, too: then only the list is another's; and the other way round.
    for attempt in SUBSCRIPTIONS.values():
        assert_not_found(
            attempt,
            charlie,
            both,
            f"{own}/subscriptions/secret-plan",
            f"{own}/subscriptions/nothing",
            f"{id_}/subscriptions/nothing",
        )
    charlie.post("/v1/lists", {"key": "secret-plan", "name": "Charlie's own"})
    for attempt in SUBSCRIPTIONS.values():
        assert_not_found(attempt, charlie, both)

    assert alice.get(f"/v1/contacts/{id_}").body == before
    assert [item["key"] for item in charlie.get("/v1/lists").body["lists"]] == ["secret-plan"]


def a_source(who: Caller) -> dict[str, object]:
    topics.add_topic(who.workspace_id, key="secret-topic")
    ids = {"id_fields": ["index"], "watched_field": "status"}
    new: dict[str, object] = {"key": "secret-source", "topic": "secret-topic", **ids}
    who.post("/v1/sources", new)
    return new


def test_charlie_lists_no_source_of_acme_and_makes_none_of_its_topics(
    alice: Caller, charlie: Caller
) -> None:
    refused = charlie.post("/v1/sources", a_source(alice))

    assert (refused.status, refused.body["code"]) == (422, "invalid_event_source")
    assert charlie.get("/v1/sources").body == {"sources": [], "next": None}


def test_charlie_lists_counts_and_samples_nobody_of_acme(alice: Caller, charlie: Caller) -> None:
    id_ = a_contact(alice)
    alice.post("/v1/suppressions", {"address": "r1@acme.example"})
    everybody = {"filter": {}, "only_active": False}

    for question in ({}, {"address": "r1@acme.example"}, {"state": "active"}, {"limit": "1"}):
        assert charlie.get("/v1/contacts", **question).body == {"contacts": [], "next": None}
    for question in ({}, {"address": "r1@acme.example"}):
        assert charlie.get("/v1/suppressions", **question).body["suppressions"] == []
    assert charlie.get("/v1/lists").body == {"lists": []}
    assert charlie.post("/v1/audiences/count", everybody).body["number"] == 0
    assert charlie.post("/v1/audiences/sample", everybody).body == {"contacts": []}
    own = charlie.post("/v1/contacts", {"address": "R1@acme.example"})
    assert (own.status, own.body["state"], own.body["suppression"]) == (201, "active", None)
    assert str(own.body["id"]) != id_


def test_a_list_of_acme_is_no_word_of_charlies(alice: Caller, charlie: Caller) -> None:
    a_contact(alice)
    named = {"address": "r1@acme.example", "list": "secret-plan"}
    import_id = uploads.bring_import(charlie)

    replies = [
        charlie.post(f"/v1/imports/{import_id}/start", {**uploads.WANTED, "list": "secret-plan"}),
        charlie.get("/v1/contacts", list="secret-plan"),
        charlie.get("/v1/contacts", filter='{"list": "secret-plan"}'),
        charlie.post("/v1/contacts", {"address": "c@globex.example", "lists": ["secret-plan"]}),
        charlie.post("/v1/suppressions", named),
        charlie.post("/v1/suppressions/restore", {**named, **WHY}),
        *(
            charlie.post(f"/v1/audiences/{verb}", {"filter": {"list": "secret-plan"}})
            for verb in ("check", "count", "sample")
        ),
    ]

    assert {(reply.status, reply.body["code"]) for reply in replies} == {(422, "list_unknown")}


def test_charlie_neither_restores_nor_erases_an_address_for_acme(
    alice: Caller, charlie: Caller
) -> None:
    id_ = a_contact(alice)
    alice.post("/v1/suppressions", {"address": "r1@acme.example"})
    before = alice.get(f"/v1/contacts/{id_}").body
    named = {"address": "r1@acme.example"}

    restored = charlie.post("/v1/suppressions/restore", {**named, **WHY}).body
    erased = charlie.post("/v1/contacts/erase", named).body

    assert restored == {"is_restored": False, "suppression": None}
    # What was asked for a line above is noted in Charlie's own books.
    assert erased == {"contacts": 0, "consents": 1, "mails": 0, "waiting": 0, "uploads": 0}
    assert alice.get(f"/v1/contacts/{id_}").body == before
    [kept] = alice.get("/v1/suppressions").body["suppressions"]
    assert (kept["address"], kept["reason"]) == ("r1@acme.example", "by_hand")


def test_charlies_cursors_lead_to_charlies_own(alice: Caller, charlie: Caller) -> None:
    for number in range(3):
        address = f"r{number}@acme.example"
        alice.post("/v1/contacts", {"address": address})
        alice.post("/v1/suppressions", {"address": address})

    for kind in ("contacts", "suppressions"):
        cursor = alice.get(f"/v1/{kind}", limit="1").body["next"]
        assert charlie.get(f"/v1/{kind}", cursor=cursor).body[kind] == []


def test_a_contact_and_a_sender_of_acme_are_no_words_of_charlies_campaigns_and_topics(
    alice: Caller, charlie: Caller
) -> None:
    path = f"/v1/campaigns/{newsroom.make_campaign(charlie)}"
    topics.add_topic(charlie.workspace_id, key="secret-topic")
    named = {"contact_id": int(a_contact(alice))}

    shown = charlie.post(f"{path}/preview", named)
    subscribed = charlie.post("/v1/topics/secret-topic/subscriptions", named)
    sender = charlie.ask("PATCH", path, {"sender": "news@acme.example"})

    assert (shown.status, subscribed.status) == (404, 404)
    assert "Secret" not in str(shown.body)
    assert (sender.status, sender.body["code"]) == (422, "sender_unknown")


def test_a_mail_of_acme_that_needs_a_person_is_not_charlies_to_decide(
    alice: Caller, charlie: Caller
) -> None:
    for operation, attempt in ATTENTION.items():
        stream_id = cast.stream(mails=1)
        if "Doubt" in operation:
            cast.lose(stream_id)
        else:
            cast.book(stream_id, newsroom.refused)
        cast.stream(workspace="globex", mails=1)
        id_ = DeliveryId(stream_id, 0).text()
        before = cast.states(stream_id)

        nothing = DeliveryId(stream_id, 10**9).text()
        assert_not_found(attempt, charlie, id_, nothing, DeliveryId(1, 0).text())

        assert cast.states(stream_id) == before, operation
        for path, name in (("doubts", "doubts"), ("dead-letters", "dead_letters")):
            assert charlie.get(f"/v1/{path}").body == {name: [], "next": None}, operation
        assert charlie.get("/v1/doubts/groups").body == {"groups": []}, operation
        assert charlie.get("/v1/dead-letters/causes").body == {"causes": []}, operation
        assert attempt(alice, id_).status in {200, 204}, operation


def test_charlie_decides_no_cause_and_no_stream_of_acme_and_finds_no_hold(
    alice: Caller, charlie: Caller
) -> None:
    stream_id, doubtful = cast.stream(mails=1), cast.stream(mails=1)
    cast.book(stream_id, newsroom.refused)
    cast.lose(doubtful)
    ledger.hold(cast.stream(mails=1), reason=Reason.PAUSED, actor="test")
    cast.block()
    cause = {"code": "550 5.1.1"}

    answers = [
        charlie.post("/v1/dead-letters/discard", cause),
        charlie.post("/v1/dead-letters/requeue", {**cause, "stream_id": stream_id}),
    ]
    of_stream = charlie.post("/v1/doubts/resolve", {**SENT, "stream_id": doubtful})

    assert [(reply.status, reply.body["decided"]) for reply in answers] == [(200, 0)] * 2
    assert of_stream.status == 404
    assert len(alice.get("/v1/dead-letters").body["dead_letters"]) == 1
    assert len(alice.get("/v1/doubts").body["doubts"]) == 1
    assert charlie.get("/v1/holds/senders").body == {"senders": []}
    assert charlie.get("/v1/holds/streams").body == {"streams": [], "next": None}
    assert len(alice.get("/v1/holds/senders").body["senders"]) == 1


def test_charlie_lists_attaches_and_grants_nothing_that_acme_has_set_up(
    alice: Caller, charlie: Caller
) -> None:
    alice.post("/v1/senders", {"address": "shop@acme.example", "name": "secret-plan"})
    made = alice.post("/v1/accounts", {"name": "secret-plan", "kind": "sandbox"}).body
    account = {"account_id": made["id"]}
    alice.post("/v1/keys", {"name": "secret-plan", "scopes": ["mail:send"]})
    member = alice.post("/v1/members", {"email": "bob@acme.example", "role": "viewer"}).body
    own = charlie.post("/v1/senders", {"address": "c@globex.example"}).body
    key = {"name": "k", "scopes": ["mail:send"], "member_id": member["id"]}

    replies = [
        charlie.post("/v1/senders", {"address": "d@globex.example", **account}),
        charlie.ask("PATCH", f"/v1/senders/{own['id']}", account),
        charlie.post("/v1/keys", key),
    ]

    assert [reply.status for reply in replies] == [404, 404, 422]
    assert charlie.get(f"/v1/senders/{own['id']}").body == own
    for kind in ("senders", "accounts", "keys", "members"):
        listed = str(charlie.get(f"/v1/{kind}").body)
        assert "secret-plan" not in listed, kind
        assert "bob@acme.example" not in listed, kind
