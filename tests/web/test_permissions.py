"""Who may do what: each operation by each scope by live key, test key and other workspace.

The operations, their scopes and their requests come from the description of the API. Every
request is undone, so that all of them meet the same world.
"""

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import product

import pytest
from django import conf
from django.db import connection, transaction
from django.test import override_settings
from pytest_django.plugin import DjangoDbBlocker

from postledger.accounts import keys, provider_accounts, senders
from postledger.accounts.keys import Scope
from postledger.accounts.people import members
from postledger.accounts.people.roles import Role
from postledger.deliveries import entries, ledger
from postledger.deliveries.attention import holds
from postledger.deliveries.entries import StreamKind
from postledger.deliveries.reasons import Reason
from postledger.lib.ids import DeliveryId
from tests import cast
from tests.notifications import cast as topics
from tests.notifications import queue
from tests.web import newsroom, uploads
from tests.web.callers import MAIL, Caller, Reply, caller
from tests.web.described import Operation, operations

pytestmark = pytest.mark.django_db

OPERATIONS = operations()
CHANGES = [operation for operation in OPERATIONS if operation.shown_with]
COMBINATIONS = {
    *(operation.scopes for operation in OPERATIONS),
    *(frozenset(Scope) - operation.scopes for operation in OPERATIONS),
    *(frozenset(pair) for pair in product(Scope, Scope)),
    *(frozenset(Scope) - {scope} for scope in Scope),
    *(frozenset(operation.scopes) for operation in OPERATIONS),
}
# By the scope that reads it, a word that stands in everything that acme has of it.
MARKS = {
    Scope.CONTACTS_READ: "secret-person",
    Scope.CONTENT_READ: "secret-content",
    Scope.CAMPAIGNS_READ: "secret-campaign",
    Scope.READ: "secret-mail",
    Scope.NOTIFICATIONS_READ: "secret-event",
    Scope.SETUP_READ: "secret-setup",
    Scope.MEMBERS_READ: "secret-member",
}
FILE = b"Mail,name,=city\nsecret-person@example.com,Ann,Porto\n"
# What a test key is for; everything else is refused to it.
FOR_TEST_KEYS = {
    *("sendMail", "sendMails", "searchMails", "getMail", "cancelMail"),
    *("listTemplates", "getTemplate", "listTemplateVersions", "getTemplateVersion"),
    *("checkContent", "previewContent", "previewTemplate", "previewArticle", "previewCampaign"),
    *("testCampaign", "launchCampaign", "listRuns", "getRun", "listRunFailures"),
}


@dataclass(frozen=True)
class World:
    """Acme with one of everything, by the names of the parameters that name it, and callers."""

    alice: Caller
    tester: Caller
    charlie: Caller
    live: Mapping[str, object]
    tried: Mapping[str, object]  # the same, with the mail and the run of a test key
    programs: Mapping[frozenset[Scope], Caller]

    def program(self, scopes: Collection[Scope]) -> Caller:
        """A live key of acme with these scopes."""
        return self.programs[frozenset(scopes)]

    @property
    def campaign(self) -> str:
        return f"/v1/campaigns/{self.live['campaign_id']}"


@pytest.fixture(scope="module")
def world(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[World]:
    with (
        django_db_blocker.unblock(),
        override_settings(API_RATE="1000000/second"),
        transaction.atomic(),
    ):
        yield make_world()
        transaction.set_rollback(True)


def make_world() -> World:
    alice, tester = caller("acme"), caller("acme", is_test=True)
    charlie = caller("globex")
    for who in (alice, charlie):
        newsroom.furnish(who, conf.settings)
    live = belongings(alice)
    launched = tester.post(f"/v1/campaigns/{live['campaign_id']}/launch", None)
    tried = {**live, "id": tester.send().body["id"], "run_id": launched.body["run_id"]}
    charlie.send()  # opens the stream, which a process remembers
    programs = {scopes: caller("acme", scopes=scopes) for scopes in COMBINATIONS}
    return World(alice, tester, charlie, live, tried, programs)


def belongings(alice: Caller) -> Mapping[str, object]:
    person, content, campaign, mail, *_ = MARKS.values()
    alice.post("/v1/lists", {"key": "news", "name": person})
    alice.post("/v1/lists", {"key": "old-news", "name": person})
    alice.post("/v1/lists/old-news/archive", None)
    contact = {"address": f"{person}@example.com", "name": person, "lists": ["news"]}
    contact_id = alice.post("/v1/contacts", contact).body["id"]
    alice.post("/v1/contacts", {"address": f"{person}-2@example.com"})
    alice.post("/v1/suppressions", {"address": f"{person}-3@example.com"})
    alice.post("/v1/templates", {"id": "plan", "name": content})
    text = {"locale": "en", "subject": content, "format": "html", "body": f"<p>{content}</p>"}
    alice.post("/v1/templates/plan/versions", {"texts": [text], "fallback_locale": "en"})
    alice.post("/v1/templates", {"id": "old-plan", "name": content})
    alice.post("/v1/templates/old-plan/archive", None)
    alice.post("/v1/articles", {"key": "plan", "title": content})
    piece = {"title": content, "body_md": content, "is_published": True}
    slice_id = alice.post("/v1/articles/plan/slices", piece).body["id"]
    run_id = newsroom.launched(alice, newsroom.make_campaign(alice, tag="old", name=campaign))
    quoted = f"<{person}@example.com> is full"
    newsroom.book(run_id, lambda at: entries.refused(at, code="550 5.1.1", detail=quoted))
    return {
        **things_of_topics(alice, contact_id),
        "source_key": a_source(alice),
        **things_of_jobs(alice),
        **things_for_people(newsroom.stream_of(run_id)),
        "contact_id": contact_id,
        "list_key": "news",
        "template_id": "plan",
        "number": 1,
        "slice_id": slice_id,
        "run_id": run_id,
        "id": alice.send(subject=mail).body["id"],
        "campaign_id": newsroom.make_campaign(alice, tag="new", name=campaign),
        "import_id": uploads.bring_import(alice, FILE),
    }


def things_of_topics(alice: Caller, contact_id: int) -> Mapping[str, object]:
    """A topic, an event and a subscription to it."""
    mark = MARKS[Scope.NOTIFICATIONS_READ]
    topic = {"key": "alerts", "name": "Alerts", "template": "plan", "match_fields": ["place"]}
    alice.post("/v1/topics", topic)
    wanted = {"contact_id": contact_id, "match": {"place": mark}}
    subscription = alice.post("/v1/topics/alerts/subscriptions", wanted).body
    published = alice.post("/v1/topics/alerts/events", {"events": [{"data": {"place": mark}}]})
    return {
        "topic": "alerts",
        "event_id": published.body["events"][0]["id"],
        "subscription_id": subscription["id"],
    }


def a_source(alice: Caller) -> str:
    """Of a topic of its own."""
    topics.add_topic(alice.workspace_id, key="notices")
    wanted = {"id_fields": ["index"], "watched_field": "status"}
    new = {"key": "registrar", "topic": "notices", **wanted}
    assert alice.post("/v1/sources", new).status == 201
    return "registrar"


def things_of_jobs(alice: Caller) -> Mapping[str, object]:
    """A notification that waits for its mail job, and the job."""
    topic = topics.add_topic(alice.workspace_id, is_by_job=True)
    row = queue.pend(topics.event(topic), topics.subscribe(topic, "erin"))
    job = alice.get(f"/v1/notifications/{row.pk}/job").body
    return {"notification_id": row.pk, "mail_job": job}


@contextmanager
def taken_back() -> Iterator[None]:
    """Undoes what a request changed."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


def things_for_people(stream_id: int) -> Mapping[str, object]:
    """What acme has that needs a person, and who and what is set up there."""
    owner = cast.sender("acme").workspace_id
    letter = DeliveryId(stream_id, 0).text()
    doubtful = cast.stream(StreamKind.TOPIC, mails=1)
    cast.lose(doubtful)
    holds.hold_stream(owner, doubtful, actor="test")
    account_id = provider_accounts.create_account(
        owner, name=MARKS[Scope.SETUP_READ], kind="sandbox", settings={}, actor="test"
    )
    sender_id = senders.create_sender(
        owner, address=f"{MARKS[Scope.SETUP_READ]}@acme.example", actor="test"
    )
    key = keys.create_key(
        owner, name=MARKS[Scope.SETUP_READ], scopes=[Scope.SETUP_WRITE], actor="test"
    )
    email = f"{MARKS[Scope.MEMBERS_READ]}@acme.example"
    member_id = members.add_member(owner, email=email, role=Role.VIEWER, actor="test")
    return {
        "letter_id": letter,
        "doubt_id": DeliveryId(doubtful, 0).text(),
        "stream_id": doubtful,
        "account_id": account_id,
        "sender_id": sender_id,
        "prefix": key.prefix,
        "member_id": member_id,
    }


def count_changes() -> int:
    """How many rows this transaction has written, but for when a key was last used."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT sum(n_tup_ins + n_tup_upd + n_tup_del) FROM pg_stat_xact_user_tables"
            " WHERE relname <> 'accounts_apikey'"
        )
        [(count,)] = cursor.fetchall()
    return int(count)


def ask(operation: Operation, who: Caller, names: Mapping[str, object]) -> Reply:
    """The answer; a request that is forbidden, or finds nothing, has written nothing."""
    key = "news" if operation.path.startswith("/v1/lists") else "plan"
    archived = "old-" if operation.id in {"restoreList", "restoreTemplate"} else ""
    named = {**names, "key": f"{archived}{key}", "template_id": f"{archived}plan"}
    if operation.id == "resolveDoubts":
        body = {"decision": "count_as_sent", "stream_id": names["stream_id"]}
        operation = replace(operation, body=body)
    if operation.id == "postMailJob":
        operation = replace(operation, body=names["mail_job"])
    if operation.id == "subscribeContact":
        operation = replace(operation, body={"contact_id": names["contact_id"]})
    with taken_back():
        before = count_changes()
        reply = operation.ask(who, named)
        assert reply.status not in {401, 403, 404} or count_changes() == before
    return reply


def by_operation(chosen: list[Operation]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("operation", chosen, ids=[item.id for item in chosen])


@by_operation(OPERATIONS)
def test_each_operation_is_open_to_exactly_the_keys_that_have_its_scopes(
    operation: Operation, world: World
) -> None:
    nobody = ask(operation, Caller(0, 0, ""), world.live)
    enough = ask(operation, world.program(operation.scopes), world.live)
    others = ask(operation, world.program(set(Scope) - operation.scopes), world.live)
    without = [
        ask(operation, world.program(set(Scope) - {scope}), world.live)
        for scope in operation.scopes
    ]

    assert nobody.status == 401
    assert enough.status < 300, enough.body
    # No other scope opens it, not even all of them together.
    assert {(reply.status, reply.body["code"]) for reply in (others, *without)} == {
        (403, "scope_missing")
    }
    assert not [mark for mark in MARKS.values() if mark in str([reply.body for reply in without])]


@by_operation(OPERATIONS)
def test_no_answer_shows_what_another_scope_reads(operation: Operation, world: World) -> None:
    # Without a scope of its own it is refused, as above.
    for scope in MARKS.keys() - operation.scopes:
        reply = ask(operation, world.program(set(Scope) - {scope}), world.live)
        assert MARKS[scope] not in str(reply.body)
    if operation.scopes.isdisjoint(MARKS):
        alone = ask(operation, world.program(operation.scopes), world.live)
        assert not [mark for mark in MARKS.values() if mark in str(alone.body)]


@by_operation(CHANGES)
def test_a_change_is_made_and_not_shown_for_a_key_that_may_not_read(
    operation: Operation, world: World
) -> None:
    assert operation.shown_with
    unshown = ask(operation, world.program(operation.scopes), world.live)
    shown = ask(operation, world.program({*operation.scopes, operation.shown_with}), world.live)

    assert (unshown.status, unshown.body) == (204, None)
    assert shown.status < 300
    assert shown.body


@by_operation(OPERATIONS)
def test_nothing_of_acme_is_there_for_another_workspace(operation: Operation, world: World) -> None:
    reply = ask(operation, world.charlie, world.live)

    names_acmes = "{" in operation.path or operation.id == "resolveDoubts"
    assert (reply.status == 404) == names_acmes
    assert not [mark for mark in MARKS.values() if mark in str(reply.body)]


def test_a_test_key_may_do_what_it_is_for_and_nothing_else() -> None:
    assert {item.id for item in OPERATIONS if item.is_open_to_test_keys} == FOR_TEST_KEYS


@by_operation(OPERATIONS)
def test_a_test_key_touches_nothing_live(operation: Operation, world: World) -> None:
    live, tried = (ask(operation, world.tester, names) for names in (world.live, world.tried))

    if not operation.is_open_to_test_keys:
        assert {(reply.status, reply.body["code"]) for reply in (live, tried)} == {
            (403, "live_key_required")
        }
        return
    names_mail = {"{id}", "{run_id}"} & set(operation.path.split("/"))
    assert (live.status == 404) == bool(names_mail)
    assert tried.status < 300
    for scope in (Scope.CONTACTS_READ, Scope.READ):
        assert MARKS[scope] not in str(live.body) + str(tried.body)


def test_a_test_key_sends_no_mailout(world: World) -> None:
    reply = world.tester.post("/send-mailout", {"page_id": "2f1c0d5e7a0b4c0f9d2e3f4a5b6c7d8e"})

    assert (reply.status, reply.body["code"]) == (403, "live_key_required")


def test_a_test_key_lists_only_mail_and_runs_of_test_keys(world: World) -> None:
    world.alice.post(f"{world.campaign}/test", {"addresses": ["a@example.com"]})

    runs, mails = f"{world.campaign}/runs", "/v1/email"

    assert [run["run_id"] for run in world.tester.get(runs).body["runs"]] == [world.tried["run_id"]]
    assert [mail["id"] for mail in world.tester.get(mails).body["mails"]] == [world.tried["id"]]
    assert len(world.alice.get(runs).body["runs"]) == 2
    assert len(world.alice.get(mails).body["mails"]) == 2


def test_a_preview_shows_a_contact_only_to_a_live_key_that_may_read_contacts(
    world: World,
) -> None:
    programs = [
        world.program([Scope.CAMPAIGNS_READ]),
        world.tester,
        world.program([Scope.CAMPAIGNS_READ, Scope.CONTACTS_READ]),
    ]

    body = {"contact_id": world.live["contact_id"]}
    replies = [program.post(f"{world.campaign}/preview", body) for program in programs]

    assert [reply.status for reply in replies] == [403, 403, 200]
    assert [reply.body["code"] for reply in replies[:2]] == ["scope_missing", "live_key_required"]
    assert MARKS[Scope.CONTACTS_READ] in replies[2].body["html"]


@pytest.mark.parametrize(
    "content", [{"kind": "template", "id": "plan"}, {"kind": "article", "key": "plan"}]
)
def test_a_preview_of_a_template_or_an_article_takes_the_scope_that_reads_it(
    content: Mapping[str, str], world: World
) -> None:
    path = f"/v1/campaigns/{newsroom.make_campaign(world.alice, content=content)}/preview"

    refused = world.program([Scope.CAMPAIGNS_READ]).post(path, {})
    shown = world.program([Scope.CAMPAIGNS_READ, Scope.CONTENT_READ]).post(path, {})

    assert (refused.status, refused.body["code"]) == (403, "scope_missing")
    assert (shown.status, shown.body["subject"]) == (200, MARKS[Scope.CONTENT_READ])


def test_a_hold_quotes_no_recipient_to_a_key_that_may_not_read_contacts(world: World) -> None:
    run_id = str(world.live["run_id"])
    quoted = f"{MARKS[Scope.CONTACTS_READ]}@example.com"
    stream_id = newsroom.stream_of(run_id)
    ledger.hold(stream_id, reason=Reason.PAUSED, actor="test", detail=f"of {quoted}")

    program = world.program([Scope.CAMPAIGNS_READ])

    assert program.get(f"/v1/runs/{run_id}").body["hold"]["detail"] == "of s***@example.com"
    assert world.alice.get(f"/v1/runs/{run_id}").body["hold"]["detail"] == f"of {quoted}"


def test_a_test_key_cannot_ask_who_is_a_contact_by_sending(world: World) -> None:
    contact = world.alice.post("/v1/contacts", {"address": MAIL["to"]}).body

    replies = [
        world.tester.send(recipient={"id": id_, "email": MAIL["to"]})
        for id_ in (contact["id"], contact["id"] + 1)
    ]

    assert [reply.status for reply in replies] == [202, 202]
    mails = [world.tester.get(f"/v1/email/{reply.body['id']}").body for reply in replies]
    assert [mail["recipient_id"] for mail in mails] == [None, None]


def test_an_idempotency_key_of_a_test_key_is_still_free_for_a_live_one(world: World) -> None:
    tried, live = world.tester.send("order-5", subject="Other"), world.alice.send("order-5")

    assert (tried.status, live.status) == (202, 202)
    assert world.tester.send("order-5", subject="Other").body["id"] == tried.body["id"]
    assert world.alice.send("order-5").body["id"] == live.body["id"]


def test_a_test_keys_run_leaves_the_campaigns_tag_free(world: World) -> None:
    assert world.alice.ask("PATCH", world.campaign, {"tag": "newer"}).status == 200
