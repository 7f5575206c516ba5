"""Charlie belongs to globex, and finds nothing of acme at any address of the API."""

from collections.abc import Callable
from uuid import uuid4

import pytest
from django.conf import LazySettings

from postledger.accounts import workspaces
from postledger.accounts.queries import Organisation
from postledger.deliveries import ledger
from postledger.deliveries.entries import StreamKind
from postledger.deliveries.reasons import Reason
from postledger.lib.ids import DeliveryId
from postledger.web.api import openapi
from tests import cast
from tests.notifications import cast as topics
from tests.notifications import queue
from tests.web import newsroom, uploads
from tests.web.callers import Caller, Reply

type Attempt = Callable[[Caller, str], Reply]

# What charlie tries at each operation that can name something of acme.
NAMING: dict[str, Attempt] = {
    "getMail": lambda charlie, id_: charlie.get(f"/v1/email/{id_}"),
    "explainWait": lambda charlie, id_: charlie.get(f"/v1/why/{id_}"),
    "cancelMail": lambda charlie, id_: charlie.ask("DELETE", f"/v1/email/{id_}"),
}
VERSION = {"texts": [{"locale": "en", "subject": "a", "format": "html", "body": "<p>a</p>"}]}
TEMPLATES: dict[str, Attempt] = {
    "getTemplate": lambda who, key: who.get(f"/v1/templates/{key}"),
    "addTemplateVersion": lambda who, key: who.post(f"/v1/templates/{key}/versions", VERSION),
    "listTemplateVersions": lambda who, key: who.get(f"/v1/templates/{key}/versions"),
    "getTemplateVersion": lambda who, key: who.get(f"/v1/templates/{key}/versions/1"),
    "previewTemplate": lambda who, key: who.post(f"/v1/templates/{key}/preview", {"locale": "en"}),
    "archiveTemplate": lambda who, key: who.post(f"/v1/templates/{key}/archive", None),
    "restoreTemplate": lambda who, key: who.post(f"/v1/templates/{key}/restore", None),
}
ARTICLES: dict[str, Attempt] = {
    "getArticle": lambda who, key: who.get(f"/v1/articles/{key}"),
    "changeArticle": lambda who, key: who.ask("PATCH", f"/v1/articles/{key}", {"title": "a"}),
    "listSlices": lambda who, key: who.get(f"/v1/articles/{key}/slices"),
    "addSlice": lambda who, key: who.post(f"/v1/articles/{key}/slices", {}),
    "previewArticle": lambda who, key: who.post(f"/v1/articles/{key}/preview", {"ocd_ids": []}),
    "deleteArticle": lambda who, key: who.ask("DELETE", f"/v1/articles/{key}"),
}
SLICES: dict[str, Attempt] = {
    "changeSlice": lambda who, path: who.ask("PUT", f"/v1/articles/{path}", {"title": "a"}),
    "deleteSlice": lambda who, path: who.ask("DELETE", f"/v1/articles/{path}"),
}
PENDING = {"state": "pending"}
WHY = {"reason": "a mistake"}
CONTACTS: dict[str, Attempt] = {
    "getContact": lambda who, id_: who.get(f"/v1/contacts/{id_}"),
    "changeContact": lambda who, id_: who.ask("PATCH", f"/v1/contacts/{id_}", {"name": "a"}),
    "listConsents": lambda who, id_: who.get(f"/v1/contacts/{id_}/history"),
    "unsubscribeContact": lambda who, id_: who.post(f"/v1/contacts/{id_}/unsubscribe", {}),
    "restoreContact": lambda who, id_: who.post(f"/v1/contacts/{id_}/restore", WHY),
    "exportContact": lambda who, id_: who.get(f"/v1/contacts/{id_}/export"),
    "eraseContact": lambda who, id_: who.post(f"/v1/contacts/{id_}/erase", None),
    "deleteContact": lambda who, id_: who.ask("DELETE", f"/v1/contacts/{id_}"),
}
# Of a contact and a list, the path of both.
SUBSCRIPTIONS: dict[str, Attempt] = {
    "putSubscription": lambda who, path: who.ask("PUT", f"/v1/contacts/{path}", PENDING),
    "confirmSubscription": lambda who, path: who.post(f"/v1/contacts/{path}/confirm", {}),
    "deleteSubscription": lambda who, path: who.ask("DELETE", f"/v1/contacts/{path}"),
}
LISTS: dict[str, Attempt] = {
    "getList": lambda who, key: who.get(f"/v1/lists/{key}"),
    "changeList": lambda who, key: who.ask("PATCH", f"/v1/lists/{key}", {"name": "a"}),
    "archiveList": lambda who, key: who.post(f"/v1/lists/{key}/archive", None),
    "restoreList": lambda who, key: who.post(f"/v1/lists/{key}/restore", None),
}
TOPICS: dict[str, Attempt] = {
    "getTopic": lambda who, key: who.get(f"/v1/topics/{key}"),
    "changeTopic": lambda who, key: who.ask("PATCH", f"/v1/topics/{key}", {"name": "a"}),
    "archiveTopic": lambda who, key: who.post(f"/v1/topics/{key}/archive", None),
    "restoreTopic": lambda who, key: who.post(f"/v1/topics/{key}/restore", None),
    "publishEvents": lambda who, key: who.post(
        f"/v1/topics/{key}/events", {"events": [{"data": {}}]}
    ),
    "listEvents": lambda who, key: who.get(f"/v1/topics/{key}/events"),
    "subscribeContact": lambda who, key: who.post(
        f"/v1/topics/{key}/subscriptions", {"contact_id": 1}
    ),
    "listTopicSubscriptions": lambda who, key: who.get(f"/v1/topics/{key}/subscriptions"),
}
EVENTS: dict[str, Attempt] = {
    "getEvent": lambda who, id_: who.get(f"/v1/events/{id_}"),
    "listNotifications": lambda who, id_: who.get(f"/v1/events/{id_}/notifications"),
}
NOTIFICATIONS: dict[str, Attempt] = {
    "getNotification": lambda who, id_: who.get(f"/v1/notifications/{id_}"),
    "getMailJob": lambda who, id_: who.get(f"/v1/notifications/{id_}/job"),
}
WISHES = {"preferences": {"max_notifications": 5}}
TOPIC_SUBSCRIPTIONS: dict[str, Attempt] = {
    "getTopicSubscription": lambda who, id_: who.get(f"/v1/topic-subscriptions/{id_}"),
    "changeTopicSubscription": lambda who, id_: who.ask(
        "PATCH", f"/v1/topic-subscriptions/{id_}", WISHES
    ),
    "pauseTopicSubscription": lambda who, id_: who.post(
        f"/v1/topic-subscriptions/{id_}/pause", None
    ),
    "resumeTopicSubscription": lambda who, id_: who.post(
        f"/v1/topic-subscriptions/{id_}/resume", None
    ),
    "endTopicSubscription": lambda who, id_: who.ask("DELETE", f"/v1/topic-subscriptions/{id_}"),
}
SOURCES: dict[str, Attempt] = {
    "getSource": lambda who, key: who.get(f"/v1/sources/{key}"),
    "changeSource": lambda who, key: who.ask("PATCH", f"/v1/sources/{key}", {"items_path": "a"}),
    "archiveSource": lambda who, key: who.post(f"/v1/sources/{key}/archive", None),
    "takeSnapshot": lambda who, key: who.post(f"/v1/sources/{key}/snapshots", {"items": []}),
}
# Of what needs a person, and of what is set up: each by the thing that it names.
SENT = {"decision": "count_as_sent"}
ATTENTION: dict[str, Attempt] = {
    "resolveDoubt": lambda who, id_: who.post(f"/v1/doubts/{id_}/resolve", SENT),
    "resolveDoubts": lambda who, id_: who.post("/v1/doubts/resolve", {**SENT, "ids": [id_]}),
    "getDeadLetter": lambda who, id_: who.get(f"/v1/dead-letters/{id_}"),
    "requeueDeadLetter": lambda who, id_: who.post(f"/v1/dead-letters/{id_}/requeue", None),
    "discardDeadLetter": lambda who, id_: who.post(f"/v1/dead-letters/{id_}/discard", None),
    "requeueDeadLetters": lambda who, id_: who.post("/v1/dead-letters/requeue", {"ids": [id_]}),
    "discardDeadLetters": lambda who, id_: who.post("/v1/dead-letters/discard", {"ids": [id_]}),
}
STREAMS: dict[str, Attempt] = {
    "releaseStream": lambda who, id_: who.post(f"/v1/holds/streams/{id_}/release", None),
}
SENDERS: dict[str, Attempt] = {
    "releaseSender": lambda who, id_: who.post(f"/v1/holds/senders/{id_}/release", None),
    "testSender": lambda who, id_: who.post(f"/v1/holds/senders/{id_}/test", None),
    "getSender": lambda who, id_: who.get(f"/v1/senders/{id_}"),
    "changeSender": lambda who, id_: who.ask("PATCH", f"/v1/senders/{id_}", {"daily_limit": 5}),
    "makeSenderDefault": lambda who, id_: who.post(f"/v1/senders/{id_}/default", None),
    "archiveSender": lambda who, id_: who.post(f"/v1/senders/{id_}/archive", {}),
    "restoreSender": lambda who, id_: who.post(f"/v1/senders/{id_}/restore", None),
}
SOURCE = {"url": "https://api.example.com/credits", "path": "left"}
ACCOUNTS: dict[str, Attempt] = {
    "getAccount": lambda who, id_: who.get(f"/v1/accounts/{id_}"),
    "changeAccount": lambda who, id_: who.ask(
        "PATCH", f"/v1/accounts/{id_}", {"rate_per_second": 5}
    ),
    "setQuotaSource": lambda who, id_: who.ask("PUT", f"/v1/accounts/{id_}/quota-source", SOURCE),
    "removeQuotaSource": lambda who, id_: who.ask("DELETE", f"/v1/accounts/{id_}/quota-source"),
    "archiveAccount": lambda who, id_: who.post(f"/v1/accounts/{id_}/archive", {}),
    "restoreAccount": lambda who, id_: who.post(f"/v1/accounts/{id_}/restore", None),
}
KEYS: dict[str, Attempt] = {
    "getKey": lambda who, prefix: who.get(f"/v1/keys/{prefix}"),
    "rotateKey": lambda who, prefix: who.post(f"/v1/keys/{prefix}/rotate", {}),
    "revokeKey": lambda who, prefix: who.post(f"/v1/keys/{prefix}/revoke", None),
}
MEMBERS: dict[str, Attempt] = {
    "getMember": lambda who, id_: who.get(f"/v1/members/{id_}"),
    "changeMember": lambda who, id_: who.ask("PATCH", f"/v1/members/{id_}", {"daily_limit": 5}),
    "removeMember": lambda who, id_: who.ask("DELETE", f"/v1/members/{id_}"),
}
# And at those that cannot: what must not come of them is tested below, one by one.
OTHERS = {
    *("sendMail", "sendMails", "searchMails", "listTemplates", "createTemplate"),
    *("listArticles", "createArticle", "checkContent", "previewContent"),
    *("listContacts", "createContact", "eraseAddress", "listLists", "createList"),
    *("listTopics", "createTopic"),
    *("listSources", "createSource"),
    "postMailJob",  # tests/web/test_mail_jobs_api.py has what becomes of it
    *("listSuppressions", "createSuppression", "restoreAddress"),
    *("checkAudience", "countAudience", "sampleAudience"),
    *("listCampaigns", "createCampaign", "sendCampaign", "searchMessages", "getOverview"),
    *("listDoubts", "listDoubtGroups", "listDeadLetters", "listDeadLetterCauses"),
    *("listHeldSenders", "listHeldStreams", "listSenders", "createSender"),
    *("listAccounts", "createAccount", "listKeys", "createKey", "listMembers", "addMember"),
    *(
        "uploadImport",
        "listImports",
        "exportContacts",
        "sendMailout",
        "pollProgress",
        "listAlerts",
    ),  # have their own
}


def operations() -> set[str]:
    paths = openapi.build_document()["paths"].values()
    return {operation["operationId"] for methods in paths for operation in methods.values()}


def test_every_operation_is_tried_by_charlie() -> None:
    assert operations() == {
        *NAMING,
        *TEMPLATES,
        *ARTICLES,
        *SLICES,
        *CONTACTS,
        *SUBSCRIPTIONS,
        *LISTS,
        *TOPICS,
        *EVENTS,
        *NOTIFICATIONS,
        *TOPIC_SUBSCRIPTIONS,
        *SOURCES,
        *ATTENTION,
        *STREAMS,
        *SENDERS,
        *ACCOUNTS,
        *KEYS,
        *MEMBERS,
        *uploads.NAMING,
        *newsroom.CAMPAIGNS,
        *newsroom.RUNS,
        *OTHERS,
    }


@pytest.mark.parametrize("operation", NAMING)
def test_a_mail_of_acme_is_to_charlie_as_one_that_does_not_exist(
    operation: str, alice: Caller, charlie: Caller
) -> None:
    id_ = alice.send().body["id"]
    random = DeliveryId(DeliveryId.parse(id_).stream_id, 10**15).text()  # type: ignore[union-attr]

    replies = [NAMING[operation](charlie, tried) for tried in (id_, random, str(uuid4()), "x")]

    assert NAMING[operation](alice, id_).status in {200, 204}
    assert {reply.status for reply in replies} == {404}
    bodies = [{**reply.body, "request_id": ""} for reply in replies]
    assert all(body == bodies[0] for body in bodies)


def test_a_try_and_a_campaigns_mail_are_not_found_either(alice: Caller) -> None:
    own = DeliveryId.parse(alice.send().body["id"])
    assert own
    campaign = cast.stream(StreamKind.CAMPAIGN, mails=1)

    for id_ in (DeliveryId(own.stream_id, own.position, 1), DeliveryId(campaign, 0)):
        assert alice.get(f"/v1/email/{id_.text()}").status == 404


def test_charlie_finds_none_of_acmes_mails(alice: Caller, charlie: Caller) -> None:
    alice.send(tags=["receipt"])
    position = DeliveryId.parse(alice.send().body["id"])
    assert position

    for question in ({}, {"to": "alice@example.com"}, {"tag": "receipt"}, {"state": "waiting"}):
        assert charlie.get("/v1/email", **question).body == {"mails": [], "next": None}


def test_charlie_cannot_send_as_acme(alice: Caller, charlie: Caller) -> None:
    for refused in (
        charlie.send(sender="news@acme.example"),
        charlie.batch({}, {"sender": "news@acme.example"}),
    ):
        assert (refused.status, refused.body["errors"][0]["place"]) == (422, "sender")
    assert charlie.get("/v1/email").body["mails"] == []


def test_charlie_and_alice_may_use_the_same_key(alice: Caller, charlie: Caller) -> None:
    assert alice.send("order-5").body["id"] != charlie.send("order-5").body["id"]


def test_charlies_cursor_leads_to_charlies_mails(alice: Caller, charlie: Caller) -> None:
    for _ in range(3):
        alice.send()
    cursor = alice.get("/v1/email", limit="1").body["next"]

    assert charlie.get("/v1/email", cursor=cursor).body["mails"] == []


def assert_not_found(operation: Attempt, charlie: Caller, *tried: str) -> None:
    """Charlie gets the same answer to all of them, and none of these words."""
    replies = [operation(charlie, name) for name in tried]

    assert {reply.status for reply in replies} == {404}
    bodies = [{**reply.body, "request_id": ""} for reply in replies]
    assert all(body == bodies[0] for body in bodies)
    assert bodies[0]["code"] == "not_found"
    assert tried[0] not in bodies[0]["detail"]


@pytest.mark.parametrize("operation", TEMPLATES)
def test_a_template_of_acme_is_to_charlie_as_one_that_does_not_exist(
    operation: str, alice: Caller, charlie: Caller
) -> None:
    alice.post("/v1/templates", {"id": "secret-plan", "name": "Plan"})
    TEMPLATES["addTemplateVersion"](alice, "secret-plan")
    if operation == "restoreTemplate":
        TEMPLATES["archiveTemplate"](alice, "secret-plan")
    before = alice.get("/v1/templates/secret-plan").body

    assert_not_found(TEMPLATES[operation], charlie, "secret-plan", "nothing", "x", str(uuid4()))

    assert alice.get("/v1/templates/secret-plan").body == before
    assert TEMPLATES[operation](alice, "secret-plan").status in {200, 201}


@pytest.mark.parametrize("operation", ARTICLES)
def test_an_article_of_acme_is_to_charlie_as_one_that_does_not_exist(
    operation: str, alice: Caller, charlie: Caller
) -> None:
    alice.post("/v1/articles", {"key": "secret-plan", "title": "Plan"})
    before = alice.get("/v1/articles/secret-plan").body

    assert_not_found(ARTICLES[operation], charlie, "secret-plan", "nothing", "x", str(uuid4()))

    assert alice.get("/v1/articles/secret-plan").body == before
    assert ARTICLES[operation](alice, "secret-plan").status in {200, 201, 204}


@pytest.mark.parametrize("operation", SLICES)
def test_a_slice_of_acme_is_to_charlie_as_one_that_does_not_exist(
    operation: str, alice: Caller, charlie: Caller
) -> None:
    for who in (alice, charlie):
        who.post("/v1/articles", {"key": "plan", "title": "Plan"})
    added = alice.post("/v1/articles/plan/slices", {"title": "Secret"}).body
    number = added["id"]

    # Charlie has an article of this key, too: only the slice is another's.
    assert_not_found(
        SLICES[operation], charlie, f"plan/slices/{number}", "plan/slices/1", "x/slices/1"
    )

    assert alice.get("/v1/articles/plan/slices").body == {"slices": [added]}
    assert SLICES[operation](alice, f"plan/slices/{number}").status in {200, 204}


@pytest.mark.parametrize("kind", ["templates", "articles"])
def test_charlie_lists_nothing_of_acmes_and_may_use_its_keys(
    kind: str, alice: Caller, charlie: Caller
) -> None:
    new = {"templates": {"id": "plan", "name": "Plan"}, "articles": {"key": "plan", "title": "P"}}
    alice.post(f"/v1/{kind}", new[kind])

    listed = charlie.get(f"/v1/{kind}").body[kind]
    own = charlie.post(f"/v1/{kind}", new[kind])

    assert [item for item in listed if not item.get("is_builtin")] == []
    assert own.status == 201
    assert alice.ask("DELETE", "/v1/articles/plan").status == (204 if kind == "articles" else 404)
    assert charlie.get(f"/v1/{kind}/plan").body == own.body


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


def a_topic(who: Caller) -> tuple[str, str]:
    """The ids of an event and of a subscription of its topic `secret-topic`."""
    text = {"locale": "en", "subject": "a", "format": "html", "body": "<p>a</p>"}
    who.post("/v1/templates", {"id": "seat", "name": "Seat"})
    who.post("/v1/templates/seat/versions", {"texts": [text]})
    who.post("/v1/topics", {"key": "secret-topic", "name": "Topic", "template": "seat"})
    published = who.post("/v1/topics/secret-topic/events", {"events": [{"data": {}}]})
    wanted = {"contact_id": int(a_contact(who))}
    subscription = who.post("/v1/topics/secret-topic/subscriptions", wanted)
    return str(published.body["events"][0]["id"]), str(subscription.body["id"])


@pytest.mark.parametrize("operation", TOPICS)
def test_a_topic_of_acme_is_to_charlie_as_one_that_does_not_exist(
    operation: str, alice: Caller, charlie: Caller
) -> None:
    a_topic(alice)
    before = alice.get("/v1/topics/secret-topic").body

    assert_not_found(TOPICS[operation], charlie, "secret-topic", "nothing", "x", str(uuid4()))

    assert alice.get("/v1/topics/secret-topic").body == before
    assert charlie.get("/v1/topics").body == {"topics": [], "next": None}


@pytest.mark.parametrize("operation", EVENTS)
def test_an_event_of_acme_is_to_charlie_as_one_that_does_not_exist(
    operation: str, alice: Caller, charlie: Caller
) -> None:
    id_, _ = a_topic(alice)

    assert_not_found(EVENTS[operation], charlie, id_, str(int(id_) + 1), str(uuid4()), "x")

    assert EVENTS[operation](alice, id_).status == 200


@pytest.mark.parametrize("operation", NOTIFICATIONS)
def test_a_notification_of_acme_is_to_charlie_as_one_that_does_not_exist(
    operation: str, alice: Caller, charlie: Caller
) -> None:
    topic = topics.add_topic(alice.workspace_id)
    id_ = str(queue.pend(topics.event(topic), topics.subscribe(topic, "secret")).pk)

    assert_not_found(NOTIFICATIONS[operation], charlie, id_, str(int(id_) + 1), str(uuid4()), "x")

    assert NOTIFICATIONS["getNotification"](alice, id_).status == 200


@pytest.mark.parametrize("operation", TOPIC_SUBSCRIPTIONS)
def test_a_topic_subscription_of_acme_is_to_charlie_as_one_that_does_not_exist(
    operation: str, alice: Caller, charlie: Caller
) -> None:
    _, id_ = a_topic(alice)
    before = alice.get(f"/v1/topic-subscriptions/{id_}").body

    assert_not_found(
        TOPIC_SUBSCRIPTIONS[operation], charlie, id_, str(int(id_) + 1), str(uuid4()), "x"
    )

    assert alice.get(f"/v1/topic-subscriptions/{id_}").body == before
    assert TOPIC_SUBSCRIPTIONS[operation](alice, id_).status in {200, 204}


def test_a_contact_of_acme_cannot_subscribe_to_charlies_topic(
    alice: Caller, charlie: Caller
) -> None:
    a_topic(charlie)
    wanted = {"contact_id": int(a_contact(alice))}

    assert charlie.post("/v1/topics/secret-topic/subscriptions", wanted).status == 404


@pytest.mark.parametrize("operation", CONTACTS)
def test_a_contact_of_acme_is_to_charlie_as_one_that_does_not_exist(
    operation: str, alice: Caller, charlie: Caller
) -> None:
    id_ = a_contact(alice)
    before = alice.get(f"/v1/contacts/{id_}").body

    assert_not_found(CONTACTS[operation], charlie, id_, str(int(id_) + 1), str(uuid4()), "x")

    assert alice.get(f"/v1/contacts/{id_}").body == before
    assert CONTACTS[operation](alice, id_).status in {200, 204}


@pytest.mark.parametrize("operation", SUBSCRIPTIONS)
def test_a_subscription_of_acme_is_to_charlie_as_one_that_does_not_exist(
    operation: str, alice: Caller, charlie: Caller
) -> None:
    id_ = a_contact(alice)
    own = charlie.post("/v1/contacts", {"address": "r1@acme.example"}).body["id"]
    before = alice.get(f"/v1/contacts/{id_}").body
    both = f"{id_}/subscriptions/secret-plan"

    # Charlie has a contact, too: then only the list is another's; and the other way round.
    assert_not_found(
        SUBSCRIPTIONS[operation],
        charlie,
        both,
        f"{own}/subscriptions/secret-plan",
        f"{own}/subscriptions/nothing",
        f"{id_}/subscriptions/nothing",
    )
    charlie.post("/v1/lists", {"key": "secret-plan", "name": "Charlie's own"})
    assert_not_found(SUBSCRIPTIONS[operation], charlie, both)

    assert alice.get(f"/v1/contacts/{id_}").body == before
    assert [item["key"] for item in charlie.get("/v1/lists").body["lists"]] == ["secret-plan"]
    assert SUBSCRIPTIONS[operation](alice, both).status in {200, 204}


@pytest.mark.parametrize("operation", LISTS)
def test_a_list_of_acme_is_to_charlie_as_one_that_does_not_exist(
    operation: str, alice: Caller, charlie: Caller
) -> None:
    a_contact(alice)
    if operation == "restoreList":
        LISTS["archiveList"](alice, "secret-plan")
    before = alice.get("/v1/lists/secret-plan").body

    assert_not_found(LISTS[operation], charlie, "secret-plan", "nothing", "x", "No List")

    assert alice.get("/v1/lists/secret-plan").body == before
    assert LISTS[operation](alice, "secret-plan").status == 200


def a_source(who: Caller) -> dict[str, object]:
    topics.add_topic(who.workspace_id, key="secret-topic")
    ids = {"id_fields": ["index"], "watched_field": "status"}
    new: dict[str, object] = {"key": "secret-source", "topic": "secret-topic", **ids}
    who.post("/v1/sources", new)
    return new


@pytest.mark.parametrize("operation", SOURCES)
def test_a_source_of_acme_is_to_charlie_as_one_that_does_not_exist(
    operation: str, alice: Caller, charlie: Caller
) -> None:
    a_source(alice)
    before = alice.get("/v1/sources/secret-source").body

    assert_not_found(SOURCES[operation], charlie, "secret-source", "nothing", "x", str(uuid4()))

    assert alice.get("/v1/sources/secret-source").body == before
    assert SOURCES[operation](alice, "secret-source").status == 200


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

    replies = [
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


@pytest.mark.parametrize("operation", newsroom.CAMPAIGNS)
def test_a_campaign_of_acme_is_to_charlie_as_one_that_does_not_exist(
    operation: str, alice: Caller, charlie: Caller, settings: LazySettings
) -> None:
    newsroom.furnish(alice, settings)
    newsroom.furnish(charlie, settings)
    id_ = str(newsroom.make_campaign(alice))
    before = alice.get(f"/v1/campaigns/{id_}").body

    assert_not_found(
        newsroom.CAMPAIGNS[operation], charlie, id_, str(int(id_) + 1), str(uuid4()), "x"
    )

    assert alice.get(f"/v1/campaigns/{id_}").body == before
    assert alice.get(f"/v1/campaigns/{id_}/runs").body["runs"] == []
    assert charlie.get("/v1/campaigns").body == {"campaigns": [], "next": None}
    assert newsroom.CAMPAIGNS[operation](alice, id_).status in {200, 202, 204}


@pytest.mark.parametrize("operation", newsroom.RUNS)
def test_a_run_of_acme_is_to_charlie_as_one_that_does_not_exist(
    operation: str, alice: Caller, charlie: Caller, settings: LazySettings
) -> None:
    newsroom.furnish(alice, settings)
    newsroom.people(alice, 1)
    run_id = newsroom.launched(alice, newsroom.make_campaign(alice))
    newsroom.book(run_id, newsroom.refused)
    before = alice.get(f"/v1/runs/{run_id}").body

    assert_not_found(newsroom.RUNS[operation], charlie, run_id, str(uuid4()), "1", "x")

    assert alice.get(f"/v1/runs/{run_id}").body == before
    assert newsroom.RUNS[operation](alice, run_id).status in {200, 202}


def test_a_contact_and_a_sender_of_acme_are_no_words_of_charlies_campaigns(
    alice: Caller, charlie: Caller
) -> None:
    path = f"/v1/campaigns/{newsroom.make_campaign(charlie)}"

    shown = charlie.post(f"{path}/preview", {"contact_id": int(a_contact(alice))})
    sender = charlie.ask("PATCH", path, {"sender": "news@acme.example"})

    assert shown.status == 404
    assert "Secret" not in str(shown.body)
    assert (sender.status, sender.body["code"]) == (422, "sender_unknown")


@pytest.mark.parametrize("operation", ATTENTION)
def test_a_mail_of_acme_that_needs_a_person_is_not_charlies_to_decide(
    operation: str, alice: Caller, charlie: Caller
) -> None:
    stream_id = cast.stream(mails=1)
    if "Doubt" in operation:
        cast.lose(stream_id)
    else:
        cast.book(stream_id, newsroom.refused)
    cast.stream(workspace="globex", mails=1)
    id_ = DeliveryId(stream_id, 0).text()
    before = cast.states(stream_id)

    nothing = DeliveryId(stream_id, 10**9).text()
    assert_not_found(ATTENTION[operation], charlie, id_, nothing, DeliveryId(1, 0).text())

    assert cast.states(stream_id) == before
    for path, name in (("doubts", "doubts"), ("dead-letters", "dead_letters")):
        assert charlie.get(f"/v1/{path}").body == {name: [], "next": None}
    assert charlie.get("/v1/doubts/groups").body == {"groups": []}
    assert charlie.get("/v1/dead-letters/causes").body == {"causes": []}
    assert ATTENTION[operation](alice, id_).status in {200, 204}


def test_charlie_decides_no_cause_and_no_stream_of_acme(alice: Caller, charlie: Caller) -> None:
    stream_id, doubtful = cast.stream(mails=1), cast.stream(mails=1)
    cast.book(stream_id, newsroom.refused)
    cast.lose(doubtful)
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


def test_charlie_finds_no_hold_of_acme(alice: Caller, charlie: Caller) -> None:
    stream_id = cast.stream(mails=1)
    ledger.hold(stream_id, reason=Reason.PAUSED, actor="test")
    cast.block()

    assert_not_found(STREAMS["releaseStream"], charlie, str(stream_id), "1", str(2**62))

    assert charlie.get("/v1/holds/senders").body == {"senders": []}
    assert charlie.get("/v1/holds/streams").body == {"streams": [], "next": None}
    assert len(alice.get("/v1/holds/senders").body["senders"]) == 1
    assert STREAMS["releaseStream"](alice, str(stream_id)).body == {"is_released": True}


def set_up(who: Caller) -> dict[str, str]:
    """One sender, account, key and member, by the path where they are."""
    shop = who.post("/v1/senders", {"address": "shop@acme.example", "name": "secret-plan"}).body
    account = who.post("/v1/accounts", {"name": "secret-plan", "kind": "sandbox"}).body
    key = who.post("/v1/keys", {"name": "secret-plan", "scopes": ["mail:send"]}).body
    member = who.post("/v1/members", {"email": "bob@acme.example", "role": "viewer"}).body
    return {
        "senders": str(shop["id"]),
        "accounts": str(account["id"]),
        "keys": key["prefix"],
        "members": str(member["id"]),
    }


@pytest.mark.parametrize(
    ("kind", "operation"),
    [
        *(("senders", operation) for operation in SENDERS),
        *(("accounts", operation) for operation in ACCOUNTS),
        *(("keys", operation) for operation in KEYS),
        *(("members", operation) for operation in MEMBERS),
    ],
)
def test_what_acme_has_set_up_is_to_charlie_as_if_it_did_not_exist(
    kind: str, operation: str, alice: Caller, charlie: Caller
) -> None:
    attempt = {**SENDERS, **ACCOUNTS, **KEYS, **MEMBERS}[operation]
    name = set_up(alice)[kind]
    before = alice.get(f"/v1/{kind}/{name}").body

    others = ("pl_live_zzzzzzzz", "x") if kind == "keys" else ("999999999", str(2**70), "x")
    assert_not_found(attempt, charlie, name, *others)

    assert alice.get(f"/v1/{kind}/{name}").body == before
    assert "secret-plan" not in str(charlie.get(f"/v1/{kind}").body)
    assert "bob@acme.example" not in str(charlie.get(f"/v1/{kind}").body)
    assert attempt(alice, name).status in {200, 201, 204}


def test_charlie_attaches_and_grants_nothing_of_acme(alice: Caller, charlie: Caller) -> None:
    names = set_up(alice)
    account = {"account_id": int(names["accounts"])}
    own = charlie.post("/v1/senders", {"address": "c@globex.example"}).body

    replies = [
        charlie.post("/v1/senders", {"address": "d@globex.example", **account}),
        charlie.ask("PATCH", f"/v1/senders/{own['id']}", account),
        charlie.post(
            "/v1/keys", {"name": "k", "scopes": ["mail:send"], "member_id": int(names["members"])}
        ),
    ]

    assert [reply.status for reply in replies] == [404, 404, 422]
    assert charlie.get(f"/v1/senders/{own['id']}").body == own
