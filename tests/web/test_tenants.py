"""Charlie belongs to globex, and finds nothing of acme at any address of the API."""

from collections.abc import Callable
from uuid import uuid4

import pytest
from django.conf import LazySettings

from postledger.accounts import actions
from postledger.accounts.queries import Organisation
from postledger.deliveries.entries import Kind
from postledger.lib.ids import DeliveryId
from postledger.web.api import openapi
from tests import cast
from tests.web.callers import Caller, Reply

type Attempt = Callable[[Caller, str], Reply]

# What charlie tries at each operation that can name something of acme.
NAMING: dict[str, Attempt] = {
    "getMail": lambda charlie, id_: charlie.get(f"/v1/email/{id_}"),
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
# And at those that cannot: what must not come of them is tested below, one by one.
OTHERS = {
    *("sendMail", "sendMails", "searchMails", "listTemplates", "createTemplate"),
    *("listArticles", "createArticle", "checkContent", "previewContent"),
}


def operations() -> set[str]:
    paths = openapi.described()["paths"].values()
    return {operation["operationId"] for methods in paths for operation in methods.values()}


def test_every_operation_is_tried_by_charlie() -> None:
    assert operations() == {*NAMING, *TEMPLATES, *ARTICLES, *SLICES, *OTHERS}


@pytest.mark.parametrize("operation", NAMING)
def test_a_mail_of_acme_is_to_charlie_as_one_that_does_not_exist(
    operation: str, alice: Caller, charlie: Caller
) -> None:
    id_ = alice.send().body["id"]
    random = DeliveryId(DeliveryId.parse(id_).stream_id, 10**15).text()  # type: ignore[union-attr]

    replies = [NAMING[operation](charlie, tried) for tried in (id_, random, str(uuid4()), "x")]

    assert NAMING[operation](alice, id_).status == 200
    assert {reply.status for reply in replies} == {404}
    bodies = [{**reply.body, "request_id": ""} for reply in replies]
    assert all(body == bodies[0] for body in bodies)


def test_a_try_and_a_campaigns_mail_are_not_found_either(alice: Caller) -> None:
    own = DeliveryId.parse(alice.send().body["id"])
    assert own
    campaign = cast.stream(Kind.CAMPAIGN, mails=1)

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
    assert tried[0] not in str(bodies[0])


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

    assert [found for found in listed if not found.get("is_builtin")] == []
    assert own.status == 201
    assert alice.ask("DELETE", "/v1/articles/plan").status == (204 if kind == "articles" else 404)
    assert charlie.get(f"/v1/{kind}/plan").body == own.body


def test_charlies_content_has_charlies_footer(
    alice: Caller, charlie: Caller, settings: LazySettings
) -> None:
    settings.UNSUBSCRIBE_SECRET = "a secret of the tests"
    for who, name in ((alice, "Acme"), (charlie, "Globex")):
        page = f"https://{name.lower()}.example/leave"
        actions.set_organisation(who.workspace_id, Organisation(name, "1 Road", page), actor="test")
    words = {"subject": "a", "format": "markdown", "body": "b", "has_footer": True}

    shown = charlie.post("/v1/content/preview", words).body
    checked = charlie.post("/v1/content/check", words).body

    assert "Globex — 1 Road" in shown["text"]
    assert "Acme" not in str(shown) + str(checked)
