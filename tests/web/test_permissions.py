"""Who may do what: each operation by each scope by live key, test key and other workspace.

The operations, their scopes and their requests come from the description of the API. Every
request is undone, so that all of them meet the same world.
"""

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import product
from uuid import uuid4

import pytest
from django import conf
from django.db import connection, transaction
from django.test import override_settings
from pytest_django.plugin import DjangoDbBlocker

from postledger.accounts import keys, provider_accounts, senders
from postledger.accounts.keys import Scope
from postledger.accounts.people import grants, members
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
COMBINATIONS = {
    *(operation.scopes for operation in OPERATIONS),
    *(frozenset(Scope) - operation.scopes for operation in OPERATIONS),
    *(frozenset(pair) for pair in product(Scope, Scope)),
    *(frozenset(Scope) - {scope} for scope in Scope),
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
# Each operation by what a key needs for it.
SCOPES = {
    (Scope.SEND,): "sendMail sendMails cancelMail",
    (Scope.READ,): "searchMails getMail explainWait listAlerts",
    (Scope.CONTENT_READ,): """
        listTemplates getTemplate listTemplateVersions getTemplateVersion previewTemplate
        listArticles getArticle listSlices previewArticle checkContent previewContent
    """,
    (Scope.CONTENT_WRITE,): """
        createTemplate addTemplateVersion archiveTemplate restoreTemplate
        createArticle changeArticle deleteArticle addSlice changeSlice deleteSlice
    """,
    (Scope.CONTACTS_READ,): """
        listContacts getContact listConsents listLists getList listSuppressions
        checkAudience countAudience sampleAudience
        listImports getImport getImportProblems exportContacts
    """,
    (Scope.CONTACTS_WRITE,): """
        createContact changeContact deleteContact putSubscription deleteSubscription
        confirmSubscription unsubscribeContact restoreContact
        createList changeList archiveList restoreList createSuppression restoreAddress
        uploadImport previewImport startImport abandonImport
    """,
    (Scope.CONTACTS_READ, Scope.NOTIFICATIONS_READ): "exportContact",
    (Scope.CONTACTS_ERASE,): "eraseContact eraseAddress",
    (Scope.NOTIFICATIONS_READ,): """
        listTopics getTopic listEvents listTopicSubscriptions getEvent listNotifications
        getTopicSubscription getNotification listSources getSource
    """,
    (Scope.NOTIFICATIONS_WRITE,): """
        createTopic changeTopic archiveTopic restoreTopic subscribeContact
        changeTopicSubscription endTopicSubscription pauseTopicSubscription
        resumeTopicSubscription createSource changeSource archiveSource
    """,
    (Scope.EVENTS_PUBLISH,): "publishEvents postMailJob takeSnapshot",
    (Scope.CAMPAIGNS_READ,): """
        listCampaigns getCampaign previewCampaign forecastCampaign listRuns getRun
        listRunFailures getRunPace pollProgress
    """,
    (Scope.CAMPAIGNS_WRITE,): """
        createCampaign changeCampaign deleteCampaign testCampaign launchCampaign sendCampaign
        pauseRun resumeRun cancelRun retryRun sendRemaining closeRun
    """,
    (Scope.CAMPAIGNS_READ, Scope.CONTACTS_READ): "getRunReport listRunExclusions",
    (Scope.NOTIFICATIONS_READ, Scope.CONTACTS_READ, Scope.EVENTS_PUBLISH): "getMailJob",
    (Scope.READ, Scope.CAMPAIGNS_READ, Scope.CONTACTS_READ): "searchMessages",
    (Scope.READ, Scope.CAMPAIGNS_READ): "getOverview",
    (Scope.DECISIONS_READ,): """
        listDoubts listDoubtGroups listDeadLetters listDeadLetterCauses getDeadLetter
        listHeldSenders listHeldStreams
    """,
    (Scope.DECISIONS_WRITE,): """
        resolveDoubts resolveDoubt requeueDeadLetters discardDeadLetters requeueDeadLetter
        discardDeadLetter releaseSender testSender releaseStream
    """,
    (Scope.SETUP_READ,): "listSenders getSender listAccounts getAccount listKeys getKey",
    (Scope.SETUP_WRITE,): """
        createSender changeSender makeSenderDefault archiveSender restoreSender
        createAccount changeAccount setQuotaSource removeQuotaSource archiveAccount restoreAccount
        createKey rotateKey revokeKey
    """,
    (Scope.MEMBERS_READ,): "listMembers getMember",
    (*grants.READING, Scope.MEMBERS_WRITE): "addMember changeMember removeMember",
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


def test_each_operation_has_its_scopes() -> None:
    described = {item.id: item.scopes for item in OPERATIONS}

    assert described == {
        id_: frozenset(scopes) for scopes, ids in SCOPES.items() for id_ in ids.split()
    }


@pytest.mark.slow
@pytest.mark.sample
def test_each_operation_is_open_to_exactly_the_keys_that_have_its_scopes(world: World) -> None:
    for operation in OPERATIONS:
        nobody = ask(operation, Caller(0, 0, ""), world.live)
        enough = ask(operation, world.program(operation.scopes), world.live)
        others = ask(operation, world.program(set(Scope) - operation.scopes), world.live)
        without = [
            (scope, ask(operation, world.program(set(Scope) - {scope}), world.live))
            for scope in operation.scopes
        ]

        assert nobody.status == 401, operation.id
        assert enough.status < 300, (operation.id, enough.body)
        # No other scope opens it, not even all of them together.
        for reply in (others, *(reply for _, reply in without)):
            assert (reply.status, reply.body["code"]) == (403, "scope_missing"), operation.id
        for scope, reply in without:
            assert scope.value in reply.body["detail"], operation.id
        assert not marks_in([reply.body for _, reply in without]), operation.id


@pytest.mark.slow
@pytest.mark.sample
def test_no_answer_shows_what_another_scope_reads(world: World) -> None:
    for operation in OPERATIONS:
        # Without a scope of its own it is refused, as above.
        for scope in MARKS.keys() - operation.scopes:
            reply = ask(operation, world.program(set(Scope) - {scope}), world.live)
            assert MARKS[scope] not in str(reply.body), operation.id
        if operation.scopes.isdisjoint(MARKS):
            alone = ask(operation, world.program(operation.scopes), world.live)
            assert not marks_in(alone.body), operation.id


def test_a_change_is_made_and_not_shown_for_a_key_that_may_not_read(world: World) -> None:
    for operation in OPERATIONS:
        if not operation.shown_with:
            continue
        unshown = ask(operation, world.program(operation.scopes), world.live)
        shown = ask(operation, world.program({*operation.scopes, operation.shown_with}), world.live)

        assert (unshown.status, unshown.body) == (204, None), operation.id
        assert shown.status < 300, operation.id
        assert shown.body, operation.id


def test_nothing_of_acme_is_there_for_another_workspace(world: World) -> None:
    """The answer is the one to names that nobody has."""
    nobodys = {name: nothing_like(value) for name, value in world.live.items()}
    for operation in OPERATIONS:
        reply, other = (ask(operation, world.charlie, names) for names in (world.live, nobodys))

        names_acmes = "{" in operation.path or operation.id == "resolveDoubts"
        assert (reply.status == 404) == names_acmes, operation.id
        assert not marks_in(reply.body), operation.id
        if names_acmes:
            told, told_of_nothing = ({**each.body, "request_id": ""} for each in (reply, other))
            assert told == told_of_nothing, operation.id
            assert told["code"] == "not_found", operation.id


def nothing_like(value: object) -> object:
    return 2**40 if isinstance(value, int) else value if isinstance(value, dict) else str(uuid4())


def marks_in(answer: object) -> list[str]:
    return [mark for mark in MARKS.values() if mark in str(answer)]


def test_a_test_key_does_what_it_is_for_and_touches_nothing_live(world: World) -> None:
    assert {item.id for item in OPERATIONS if item.is_open_to_test_keys} == FOR_TEST_KEYS
    for operation in OPERATIONS:
        live, tried = (ask(operation, world.tester, names) for names in (world.live, world.tried))

        if not operation.is_open_to_test_keys:
            for reply in (live, tried):
                refusal = (reply.status, reply.body["code"])
                assert refusal == (403, "live_key_required"), operation.id
            continue
        names_mail = {"{id}", "{run_id}"} & set(operation.path.split("/"))
        assert (live.status == 404) == bool(names_mail), operation.id
        assert tried.status < 300, operation.id
        for scope in (Scope.CONTACTS_READ, Scope.READ):
            assert MARKS[scope] not in str(live.body) + str(tried.body), operation.id


def test_a_test_key_sends_no_mailout_and_leaves_a_campaigns_tag_and_an_idempotency_key_free(
    world: World,
) -> None:
    reply = world.tester.post("/send-mailout", {"page_id": "2f1c0d5e7a0b4c0f9d2e3f4a5b6c7d8e"})
    tried, live = world.tester.send("order-5", subject="Other"), world.alice.send("order-5")

    assert (reply.status, reply.body["code"]) == (403, "live_key_required")
    assert (tried.status, live.status) == (202, 202)
    assert world.tester.send("order-5", subject="Other").body["id"] == tried.body["id"]
    assert world.alice.send("order-5").body["id"] == live.body["id"]
    assert world.alice.ask("PATCH", world.campaign, {"tag": "newer"}).status == 200


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


def test_a_preview_of_a_template_or_an_article_takes_the_scope_that_reads_it(world: World) -> None:
    for content in ({"kind": "template", "id": "plan"}, {"kind": "article", "key": "plan"}):
        campaign_id = newsroom.make_campaign(world.alice, content=content, tag=content["kind"])
        path = f"/v1/campaigns/{campaign_id}/preview"

        refused = world.program([Scope.CAMPAIGNS_READ]).post(path, {})
        shown = world.program([Scope.CAMPAIGNS_READ, Scope.CONTENT_READ]).post(path, {})

        assert (refused.status, refused.body["code"]) == (403, "scope_missing"), content
        assert (shown.status, shown.body["subject"]) == (200, MARKS[Scope.CONTENT_READ]), content


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
