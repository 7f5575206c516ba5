"""The settings of a workspace, and its integrations."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.conf import LazySettings

from postledger.accounts import integrations
from postledger.accounts.integrations import IntegrationKind
from postledger.accounts.models import AuditEntry, Workspace
from postledger.accounts.people.roles import Role
from tests.fakes import notion as fake_notion
from tests.fakes.notion import FakeNotion
from tests.web.dashboard.reading import read
from tests.web.dashboard.visitors import Person, person

pytestmark = pytest.mark.django_db

TOKEN = "ntn_secret-of-notion"
DATABASE = "1f3d6a0e-5b7c-4d2e-9a8b-0c1d2e3f4a5b"
ACME = {
    "name": "acme",
    "time_zone": "UTC",
    "unsubscribe_base_url": "",
    "test_emails": "",
}


@pytest.fixture
def alice() -> Person:
    return person(name="alice")


def save(alice: Person, **changes: str) -> Any:
    return alice.client.post(alice.url("settings/"), {**ACME, **changes})


def actions_of(who: Person) -> list[str]:
    rows = AuditEntry.objects.filter(actor=f"user {who.user.pk}").order_by("pk")
    return list(rows.values_list("action", flat=True))


def test_what_was_changed_is_stored_and_audited_and_nothing_else(alice: Person) -> None:
    answer = save(
        alice,
        name="Acme Post",
        time_zone="Europe/Lisbon",
        unsubscribe_base_url="https://acme.example/stop",
        test_emails="a@example.com,  B@example.com",
    )

    assert answer.status_code == 302
    stored = Workspace.objects.get(pk=alice.workspace.pk)
    assert (stored.name, stored.time_zone) == ("Acme Post", "Europe/Lisbon")
    assert stored.unsubscribe_base_url == "https://acme.example/stop"
    assert "a@example.com" in stored.test_emails
    assert actions_of(alice) == [
        "workspace.renamed",
        "workspace.zone_changed",
        "workspace.unsubscribe_page_changed",
        "workspace.tests_changed",
    ]
    page = stored.unsubscribe_base_url
    save(alice, name="Acme Post", time_zone="Europe/Lisbon", unsubscribe_base_url=page)
    assert actions_of(alice)[4:] == ["workspace.tests_changed"]


def test_what_is_wrong_is_said_and_stores_nothing_of_the_rest(alice: Person) -> None:
    person(workspace="globex")

    for name, value, words in (
        ("name", "GLOBEX", "Another workspace has this name."),
        ("name", "acme\u202e", "Use printable characters only."),
        ("time_zone", "Mars/Olympus", "Mars/Olympus"),
        ("unsubscribe_base_url", "ftp://x", "cannot be the base of unsubscribe links"),
        ("test_emails", "a@example.com, nobody", "Not an email address: nobody"),
        ("test_emails", "a@example.com, b@museum", "Not an email address: b@museum"),
    ):
        answer = save(alice, **{"time_zone": "Europe/Lisbon", name: value})
        assert answer.status_code == 422, value
        assert words in read(answer)
    stored = Workspace.objects.get(pk=alice.workspace.pk)
    assert (stored.name, stored.time_zone) == ("acme", "UTC")
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
    dora.client.post(f"{url}remove/")
    assert integrations.notion(dora.workspace.pk) is None
    assert actions_of(dora) == ["integration.set", "integration.set", "integration.removed"]
    assert TOKEN not in str(list(AuditEntry.objects.values_list("data", flat=True)))


@pytest.fixture
def notion(settings: LazySettings) -> Iterator[FakeNotion]:
    with fake_notion.running() as running:
        settings.NOTION_URL = running.url
        yield running


def test_a_token_that_notion_refuses_is_refused_and_one_that_it_could_not_be_asked_about_is_kept(
    alice: Person, notion: FakeNotion
) -> None:
    url = alice.url("settings/integrations/notion/")
    link = f"https://www.notion.so/acme/Mailouts-{DATABASE.replace('-', '')}?v={'1' * 32}"

    refused = alice.client.post(url, {"token": "ntn_of-nobody"})
    notion.fail(1, status=502)
    untried = alice.client.post(url, {"token": TOKEN}, follow=True)
    kept = integrations.notion(alice.workspace.pk)
    taken = alice.client.post(url, {"token": notion.token, "mailouts": link})

    assert (refused.status_code, taken.status_code) == (422, 302)
    assert "Notion does not accept the token." in str(refused.context["form"].errors["token"])
    assert "Notion could not be asked" in read(untried)
    stored = integrations.notion(alice.workspace.pk)
    assert kept is not None
    assert stored is not None
    assert kept.token == TOKEN
    assert (stored.token, stored.mailouts) == (notion.token, DATABASE), "a link is taken as its id"


def test_a_wrong_integration_is_refused_in_words(alice: Person) -> None:
    for kind, values, words in (
        ("notion", {"token": ""}, "This field is required."),
        ("notion", {"token": "x", "mailouts": "no id"}, "Paste the link of the database"),
        ("notion", {"token": "x", "mailouts": "https://acme.example/a"}, "Paste the link"),
        ("admin", {"password": "short"}, "16"),
        ("admin", {"password": "passwordpassword"}, "too common"),
    ):
        answer = alice.client.post(alice.url(f"settings/integrations/{kind}/"), values)

        assert answer.status_code == 422, values
        assert words in read(answer)
    assert integrations.list_integrations(alice.workspace.pk) == []


def test_only_the_first_workspace_has_an_admin_password_stored_without_spaces_around_it(
    alice: Person,
) -> None:
    stranger = person(workspace="globex")
    values = {"password": " long enough to be one \n"}

    first = alice.client.post(alice.url("settings/integrations/admin/"), values)
    second = stranger.client.post(stranger.url("settings/integrations/admin/"), values)

    assert (first.status_code, second.status_code) == (302, 422)
    assert integrations.workspaces(IntegrationKind.ADMIN) == [alice.workspace.pk]
    stored = integrations.admin(alice.workspace.pk)
    assert stored is not None
    assert stored.admits("long enough to be one")
