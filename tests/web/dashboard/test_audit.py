"""The audit log: sentences about what people, programs and the system did."""

import html
import re
from typing import Any, get_args

import pytest
from django.db import connection

from postledger.accounts import keys, trail
from postledger.accounts.keys import Scope
from postledger.accounts.models import AuditEntry
from postledger.accounts.people import members
from postledger.accounts.people.roles import Role
from postledger.accounts.trail import Action
from postledger.contacts import segments
from postledger.contacts.actions import bulk
from postledger.contacts.consent import Origin
from postledger.contacts.models import List
from postledger.lib.ids import DeliveryId
from postledger.web.dashboard.settings.deeds import SENTENCES
from tests import cast
from tests.contacts import people
from tests.contacts.people import NOW
from tests.web.dashboard.reading import read
from tests.web.dashboard.visitors import Person, person

pytestmark = pytest.mark.django_db


@pytest.fixture
def alice() -> Person:
    return person(name="alice")


def note(who: Person, number: int, action: Action = "key.created", actor: str = "") -> None:
    trail.note(
        who.workspace.pk,
        actor=actor or f"user {who.user.pk}",
        action=action,
        subject=f"key {number}",
        data={"name": f"n{number}", "scopes": ["mail:read", "mail:send"], "member": None},
    )


def subjects(page: str) -> list[int]:
    return [int(number) for number in re.findall(r"· key (\d+) ·", page)]


def test_the_audit_log_names_people_and_pages_back_without_a_gap(alice: Person) -> None:
    stranger = person(workspace="globex")
    note(stranger, 999)
    for number in range(60):
        note(alice, number)

    newest = alice.client.get(alice.url("settings/audit/"))
    [older] = re.findall(r'href="([^"]*before=\d+)"', newest.content.decode())
    rest = alice.client.get(older).content.decode()

    assert "Alice" in read(newest)
    assert "· scopes mail:read, mail:send" in read(newest)
    assert subjects(newest.content.decode()) == list(range(59, 9, -1))
    assert subjects(rest) == list(range(9, -1, -1))
    assert "before=" not in rest


def test_the_audit_log_is_searched_by_action_subject_and_person_also_a_removed_one(
    alice: Person,
) -> None:
    bob, vera = (person(Role.VIEWER, name=name) for name in ("bob", "vera"))
    note(alice, 1)
    note(alice, 2, action="member.added")
    note(alice, 3, actor="cli root")
    note(bob, 4)
    members.remove_member(alice.workspace.pk, member_id=bob.member.pk, now=NOW, actor="alice")

    def find(**query: str) -> list[int]:
        page = vera.client.get(vera.url("settings/audit/"), query).content.decode()
        assert f'<option value="user {bob.user.pk}"' in page
        return subjects(page)

    assert find(q="member.added") == [2]
    assert find(q="key 3") == [3]
    assert find(who=f"user {bob.user.pk}") == [4]
    assert find(q="key.", who=f"user {alice.user.pk}") == [1]
    assert find(q="nothing") == []


def test_what_people_wrote_is_shown_as_it_is(alice: Person) -> None:
    """Entries never change: one that cannot be shown would hide those around it for good."""
    texts = (
        "soon",
        "2026-07-20T00:15:04+00:00",
        "2026-99-99T99:99:99+00:00",
        "0001-01-01T00:00:00+00:00",
        "9999-12-31T23:59:59+00:00",
        "2026-01-01T00:00:00+99:99",
        "2026-01-01T00:00:00",
        "%(who)s %s %",
    )
    facts = ("name", "title", "email", "address", "reason", "detail", "organisation")
    for number, text in enumerate(texts):
        for fact in facts:
            trail.note(
                alice.workspace.pk,
                actor="a",
                action="branding.changed",
                subject=f"branding {number}",
                data={fact: [text] if fact == "organisation" else text},
            )

    for zone in ("America/New_York", "Asia/Tokyo"):
        type(alice.workspace).objects.update(time_zone=zone)
        for number, text in enumerate(texts):
            page = read(alice.client.get(alice.url("settings/audit/"), {"q": f"branding {number}"}))
            for fact in ("reason", "detail", "organisation"):
                assert f"· {fact} {text}" in page, (zone, text)


def test_a_search_of_the_audit_log_ends_and_says_where(alice: Person) -> None:
    note(alice, 1, action="member.added")
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO accounts_auditentry (workspace_id, actor, action, subject, data)"
            " SELECT %s, 'cli', 'key.created', 'key 9', '{}' FROM generate_series(1, %s)",
            [alice.workspace.pk, trail.MOST_READ],
        )

    page = alice.client.get(alice.url("settings/audit/"), {"q": "member."}).content.decode()
    [older] = re.findall(r'href="([^"]*before=\d+)"', page)
    further = alice.client.get(html.unescape(older)).content.decode()

    assert "Searched back to" in page
    assert subjects(page) == []
    assert subjects(further) == [1]
    assert "Searched back to" not in further


def test_every_action_of_the_trail_has_a_sentence_that_finds_its_facts() -> None:
    """A place that is no fact would show the code instead."""
    facts = {"requeued", "contacts", "count", "waiting", "version", "from", "to", "zone"}
    values = dict.fromkeys(facts, 2) | dict.fromkeys(("who", "what", "number"), "")

    assert set(SENTENCES) == set(get_args(Action.__value__))
    assert all(str(sentence % values) for sentence in SENTENCES.values())


def entries(who: Person, **query: str) -> list[str]:
    """The sentences, with their links."""
    page = who.client.get(who.url("settings/audit/"), query).content.decode()
    heads = re.findall(r'<th scope="row" role="rowheader">(.*?)<span class="sub">', page)
    return [re.sub(r"</?b>", "", head) for head in heads]


def test_an_entry_says_who_did_what_with_what_and_leads_there(alice: Person) -> None:
    people.news(alice.workspace.pk, "customers")
    List.objects.update(name="Customers <3")
    ids = [people.contact(alice.workspace.pk, f"c{number}@x.example") for number in range(2)]
    origin = Origin("a form", f"user {alice.user.pk}")
    bulk.add_to_list(alice.workspace.pk, ids, list_key="customers", origin=origin, now=NOW)

    [newest, *_] = entries(alice)

    url = alice.url("lists/customers/")
    assert newest == f'Alice added 2 contacts to the list <a href="{url}">Customers &lt;3</a>.'


def test_what_is_gone_foreign_or_not_for_the_reader_is_named_without_a_link(alice: Person) -> None:
    workspace_id = alice.workspace.pk
    vera = person(Role.VIEWER, name="vera")
    key = keys.create_key(workspace_id, name="shop", scopes=[Scope.SEND], actor="key x")
    segment = segments.create_segment(
        workspace_id, name="Lapsed", stored={"plan": "plus"}, actor="alice", now=NOW
    )
    segments.delete_segment(workspace_id, segment, actor="alice")
    people.news(person(workspace="globex").workspace.pk, "secret")
    List.objects.update(name="Secret plans")
    trail.note(workspace_id, actor="alice", action="list.created", subject="list secret")
    AuditEntry.objects.create(
        workspace_id=workspace_id, actor="alice", action="moon.landed", subject="moon 1"
    )

    assert entries(vera, q=f"key {key.prefix}") == ["The API key key x created the API key shop."]
    assert 'href="' in entries(alice, q=f"key {key.prefix}")[0]
    assert entries(alice, q="segment.deleted") == ["alice deleted the segment Lapsed."]
    assert entries(alice, q="list.created") == ["alice created the list secret."]
    assert entries(alice, q="moon") == ["alice: moon.landed, 1."]


def test_a_page_with_things_of_every_kind_needs_few_queries(
    alice: Person, django_assert_max_num_queries: Any
) -> None:
    stream_id = cast.stream(mails=1)
    email = DeliveryId(stream_id, 0).uuid()
    numbered = ("account", "contact", "import", "member", "segment", "sender")
    named = ("article", "campaign", "key", "list", "template", "topic")
    subjects = [
        *(f"{kind} {number}" for kind in numbered for number in (1, 2)),
        *(f"{kind} {name}" for kind in named for name in ("may", "june")),
        *(f"stream {stream_id}", f"delivery {email}", f"run {email}", "integration notion"),
    ]
    for subject in subjects:
        trail.note(alice.workspace.pk, actor="alice", action="list.changed", subject=subject)

    with django_assert_max_num_queries(30):
        shown = entries(alice)

    assert len(shown) == len(subjects)
    assert f'<a href="{alice.url(f"messages/{email}/")}">' in " ".join(shown)
