"""The settings of a workspace, its integrations and its audit log."""

import html
import re
from typing import Any

import pytest
from django.conf import LazySettings
from django.db import connection

from postledger.accounts import integrations, trail
from postledger.accounts.integrations import IntegrationKind
from postledger.accounts.models import AuditEntry, Workspace
from postledger.accounts.people.roles import Role
from postledger.deliveries import partitions
from postledger.lib import ids
from tests.web.dashboard.people import Person, person

pytestmark = pytest.mark.django_db

TOKEN = "ntn_secret-of-notion"
DATABASE = "1f3d6a0e-5b7c-4d2e-9a8b-0c1d2e3f4a5b"
ACME = {
    "name": "acme",
    "time_zone": "UTC",
    "org_name": "",
    "org_address": "",
    "unsubscribe_base_url": "",
    "test_emails": "",
}


@pytest.fixture
def alice() -> Person:
    return person(name="alice")


def read(response: Any) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", response.content.decode()))


def save(alice: Person, **changes: str) -> Any:
    return alice.client.post(alice.url("settings/"), {**ACME, **changes})


def actions_of(who: Person) -> list[str]:
    rows = AuditEntry.objects.filter(actor=f"user {who.user.pk}").order_by("pk")
    return list(rows.values_list("action", flat=True))


def test_what_the_operator_sets_is_shown_with_where_it_is_set(
    alice: Person, settings: LazySettings
) -> None:
    settings.DEFAULT_LOCALE = "pt-BR"

    page = alice.client.get(alice.url("settings/")).content.decode()

    assert "<b>pt-BR</b>" in page
    assert "DEFAULT_LOCALE" in page
    assert f"Since {ids.month_name(partitions.find_oldest_month())}. Whole months" in page


def test_what_was_changed_is_stored_and_audited_and_nothing_else(alice: Person) -> None:
    answer = save(
        alice,
        name="Acme Post",
        time_zone="Europe/Lisbon",
        org_address="1 Main St",
        test_emails="a@example.com,  B@example.com",
    )

    assert answer.status_code == 302
    stored = Workspace.objects.get(pk=alice.workspace.pk)
    assert (stored.name, stored.time_zone) == ("Acme Post", "Europe/Lisbon")
    assert (stored.org_name, stored.org_address) == ("", "1 Main St")
    assert "a@example.com" in stored.test_emails
    assert actions_of(alice) == [
        "workspace.renamed",
        "workspace.zone_changed",
        "workspace.organisation_changed",
        "workspace.tests_changed",
    ]
    save(alice, name="Acme Post", time_zone="Europe/Lisbon", org_address="1 Main St")
    assert actions_of(alice)[4:] == ["workspace.tests_changed"]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"name": "GLOBEX"}, "Another workspace has this name."),
        ({"name": "acme\u202e"}, "Use printable characters only."),
        ({"time_zone": "Mars/Olympus"}, "Mars/Olympus"),
        ({"unsubscribe_base_url": "ftp://x"}, "cannot be the base of unsubscribe links"),
        ({"org_name": "{{ x }}"}, "without braces"),
        ({"test_emails": "a@example.com, nobody"}, "Not an email address: nobody"),
    ],
)
def test_what_is_wrong_is_said_and_stores_nothing_of_the_rest(
    alice: Person, changes: dict[str, str], words: str
) -> None:
    person(workspace="globex")

    answer = save(alice, **{"org_address": "1 Main St", **changes})

    assert answer.status_code == 422
    assert words in read(answer)
    assert "1 Main St" in answer.content.decode()
    stored = Workspace.objects.get(pk=alice.workspace.pk)
    assert (stored.name, stored.org_address) == ("acme", "")
    assert actions_of(alice) == []


def test_notion_is_connected_changed_and_disconnected_and_its_token_never_shown() -> None:
    dora = person(Role.DEVELOPER, name="dora")
    url = dora.url("settings/integrations/notion/")

    first = dora.client.post(url, {"token": TOKEN, "mailouts": DATABASE})
    assert first.status_code == 302, read(first)
    page = dora.client.get(url).content.decode()
    assert TOKEN not in page
    assert DATABASE.replace("-", "") in page.replace("-", "")
    dora.client.post(url, {"token": "", "mailouts": "", "errors_database": DATABASE})

    stored = integrations.notion(dora.workspace.pk)
    assert stored is not None
    assert (stored.token, stored.mailouts) == (TOKEN, "")
    assert stored.errors
    listing = dora.client.get(dora.url("settings/integrations/"))
    assert "Notion" in read(listing)
    assert "Connected" in read(listing)
    assert "Disconnect Notion?" in read(dora.client.get(f"{url}remove/"))
    dora.client.post(f"{url}remove/")
    assert integrations.notion(dora.workspace.pk) is None
    assert actions_of(dora) == ["integration.set", "integration.set", "integration.removed"]
    assert TOKEN not in str(list(AuditEntry.objects.values_list("data", flat=True)))


@pytest.mark.parametrize(
    ("kind", "values", "words"),
    [
        ("notion", {"token": ""}, "This field is required."),
        ("notion", {"token": "x", "mailouts": "no id"}, "mailouts"),
        ("admin", {"password": "short"}, "16"),
    ],
)
def test_a_wrong_integration_is_refused_in_words(
    alice: Person, kind: str, values: dict[str, str], words: str
) -> None:
    answer = alice.client.post(alice.url(f"settings/integrations/{kind}/"), values)

    assert answer.status_code == 422
    assert words in read(answer)
    assert integrations.list_integrations(alice.workspace.pk) == []


def test_a_developer_who_may_launch_nothing_sets_no_admin_password() -> None:
    dora = person(Role.DEVELOPER)
    url = dora.url("settings/integrations/admin/")

    answer = dora.client.post(url, {"password": "long enough to be one"})

    assert answer.status_code == 403
    assert url not in read(dora.client.get(dora.url("settings/integrations/")))


def test_only_the_first_workspace_has_an_admin_password(alice: Person) -> None:
    stranger = person(workspace="globex")
    values = {"password": "long enough to be one"}

    first = alice.client.post(alice.url("settings/integrations/admin/"), values)
    second = stranger.client.post(stranger.url("settings/integrations/admin/"), values)

    assert first.status_code == 302
    assert integrations.workspaces(IntegrationKind.ADMIN) == [alice.workspace.pk]
    assert second.status_code == 422
    assert "first workspace" in read(second)


def test_nobody_gives_the_address_of_a_server_on_a_page(alice: Person) -> None:
    assert alice.client.get(alice.url("settings/integrations/supabase/")).status_code == 404
    assert "postledger integration set" in read(
        alice.client.get(alice.url("settings/integrations/"))
    )


def note(who: Person, number: int, action: str = "key.created", actor: str = "") -> None:
    trail.note(
        who.workspace.pk,
        actor=actor or f"user {who.user.pk}",
        action=action,
        subject=f"key {number}",
        data={"name": f"n{number}", "scopes": ["mail:read", "mail:send"], "member": None},
    )


def subjects(page: str) -> list[int]:
    return [int(number) for number in re.findall(r">key (\d+)<", page)]


def test_the_audit_log_names_people_and_pages_back_without_a_gap(alice: Person) -> None:
    stranger = person(workspace="globex")
    note(stranger, 999)
    for number in range(60):
        note(alice, number)

    newest = alice.client.get(alice.url("settings/audit/"))
    [older] = re.findall(r'href="([^"]*before=\d+)"', newest.content.decode())
    rest = alice.client.get(older).content.decode()

    assert "Alice" in read(newest)
    assert "scopes mail:read, mail:send" in read(newest)
    assert subjects(newest.content.decode()) == list(range(59, 9, -1))
    assert subjects(rest) == list(range(9, -1, -1))
    assert "before=" not in rest


def test_the_audit_log_is_searched_by_action_subject_and_person(alice: Person) -> None:
    bob = person(Role.VIEWER, name="bob")
    note(alice, 1)
    note(alice, 2, action="member.added")
    note(alice, 3, actor="cli root")
    note(bob, 4)

    def find(**query: str) -> list[int]:
        return subjects(bob.client.get(bob.url("settings/audit/"), query).content.decode())

    assert find(q="member.") == [2]
    assert find(q="key 3") == [3]
    assert find(who=f"user {bob.user.pk}") == [4]
    assert find(q="key.", who=f"user {alice.user.pk}") == [1]
    assert find(q="nothing") == []


def test_entries_alike_in_a_row_are_one_line(alice: Person) -> None:
    for number in (7, 7, 8):
        note(alice, number, action="key.changed")

    page = alice.client.get(alice.url("settings/audit/")).content.decode()

    assert subjects(page)[:2] == [8, 7]
    assert page.count("\N{MULTIPLICATION SIGN}2") == 1


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


@pytest.mark.parametrize(
    ("role", "path"),
    [
        (Role.OWNER, "settings/"),
        (Role.DEVELOPER, "settings/integrations/"),
        (Role.VIEWER, "settings/audit/"),
    ],
)
def test_settings_begin_with_what_the_role_may_open(role: Role, path: str) -> None:
    who = person(role)
    page = who.client.get(who.url()).content.decode()

    [nav] = re.findall(r'<a href="([^"]*)"[^>]*><svg[^>]*><use[^>]*></svg>Settings', page)

    assert nav == who.url(path)
    assert who.client.get(nav).status_code == 200
