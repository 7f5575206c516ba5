"""The environment fills the first workspace's integrations once; a command changes them."""

import logging
import sys
from io import StringIO
from pathlib import Path

import pytest
from pytest_django import Settings

from postledger.accounts import integrations, workspaces
from postledger.accounts.integrations import NotionSettings, SupabaseSettings
from postledger.accounts.models import Integration
from tests.cli import command_line

MAILOUTS = "aaaaaaaa-0000-4000-8000-000000000001"
ERRORS = "aaaaaaaa-0000-4000-8000-000000000002"
SECRETS = ("ntn_hunter2", "swordfish", "correct horse battery", "ntn_other")


@pytest.fixture
def environment(db: None, settings: Settings) -> Settings:
    settings.NOTION_TOKEN = "ntn_hunter2"
    settings.NOTION_DB_MAILOUTS, settings.NOTION_DB_ERRORS = MAILOUTS, ""
    settings.SUPABASE_URL = "https://acme.supabase.example"
    settings.SUPABASE_SERVICE_ROLE_KEY = "swordfish"
    settings.ADMIN_PASSWORD = "correct horse battery"
    return settings


@pytest.fixture
def acme(db: None) -> int:
    return workspaces.create_workspace("acme", actor="alice")


@pytest.fixture
def token(tmp_path: Path) -> Path:
    file = tmp_path / "token"
    file.write_text("ntn_hunter2\n")
    return file


def set_up() -> list[str]:
    """What setup says after the tables, the room and the workspace."""
    return command_line.run("setup")[3:]


def first() -> int:
    return min(Integration.objects.values_list("workspace_id", flat=True))


def test_setup_takes_what_the_environment_has_and_says_that_the_row_counts(
    environment: Settings,
) -> None:
    output = set_up()

    counts = "from now on the database counts, and postledger integration set default"
    assert output == [
        f'Created integration "{kind}" from {variables}; {counts} {kind} changes it.'
        for kind, variables in (
            ("notion", "NOTION_TOKEN, NOTION_DB_MAILOUTS"),
            ("supabase", "SUPABASE_URL, SUPABASE_SERVICE_ROLE_KEY"),
            ("admin", "ADMIN_PASSWORD"),
        )
    ]
    assert integrations.notion(first()) == NotionSettings(token="ntn_hunter2", mailouts=MAILOUTS)
    assert integrations.supabase(first()) == SupabaseSettings(
        url="https://acme.supabase.example", api_key="swordfish"
    )
    admin = integrations.admin(first())
    assert admin
    assert admin.admits("correct horse battery")


def test_a_variable_that_is_added_later_is_taken_at_the_next_setup(environment: Settings) -> None:
    environment.NOTION_TOKEN = environment.NOTION_DB_MAILOUTS = environment.ADMIN_PASSWORD = ""
    environment.SUPABASE_URL = environment.SUPABASE_SERVICE_ROLE_KEY = ""
    before, filled = set_up(), Integration.objects.exists()
    environment.NOTION_TOKEN = "ntn_hunter2"

    after = set_up()

    assert (before, filled) == ([], False)
    assert [line.partition(";")[0] for line in after] == [
        'Created integration "notion" from NOTION_TOKEN'
    ]


def test_an_environment_that_differs_changes_nothing_and_is_named(environment: Settings) -> None:
    set_up()
    same = set_up()
    environment.NOTION_TOKEN = environment.SUPABASE_SERVICE_ROLE_KEY = ""
    gone = set_up()
    environment.NOTION_TOKEN, environment.NOTION_DB_ERRORS = "ntn_other", ERRORS
    environment.ADMIN_PASSWORD = "a swordfish of steel"

    output = set_up()

    differs = "the database has other values. postledger integration set default"
    assert same == gone == []
    assert output == [
        f"Ignored NOTION_TOKEN, NOTION_DB_ERRORS: {differs} notion changes them.",
        f"Ignored ADMIN_PASSWORD: {differs} admin changes them.",
    ]
    assert integrations.notion(first()) == NotionSettings(token="ntn_hunter2", mailouts=MAILOUTS)

    command_line.run("integration", "remove", "default", "notion")
    environment.NOTION_TOKEN, environment.NOTION_DB_ERRORS = "ntn_hunter2", ""
    assert (
        set_up()[0] == f"Ignored NOTION_TOKEN, NOTION_DB_MAILOUTS: {differs} notion changes them."
    )
    assert integrations.notion(first()) is None


def test_half_of_an_integration_is_not_taken_and_stops_no_setup(environment: Settings) -> None:
    environment.SUPABASE_SERVICE_ROLE_KEY = environment.NOTION_TOKEN = ""

    output = set_up()

    assert output[:2] == [
        (
            "Ignored NOTION_DB_MAILOUTS. Invalid settings for the integration notion:"
            " token: this is required. Correct them and try again."
        ),
        (
            "Ignored SUPABASE_URL. Invalid settings for the integration supabase:"
            " api_key: this is required. Correct them and try again."
        ),
    ]
    assert output[2].startswith('Created integration "admin" from ADMIN_PASSWORD')


def test_rows_whose_key_is_lost_stop_no_setup_and_are_named(environment: Settings) -> None:
    set_up()
    environment.SECRET_KEY = "new" * 20

    output = set_up()

    assert output[0].startswith(
        "Ignored NOTION_TOKEN, NOTION_DB_MAILOUTS. The integration settings cannot be unsealed:"
    )
    assert len(output) == 3


def test_the_first_workspace_is_filled_whatever_it_is_called(environment: Settings) -> None:
    command_line.run("workspace", "create", "Zebra & Co")
    command_line.run("workspace", "create", "acme")

    output = set_up()

    assert output[2].endswith("postledger integration set 'Zebra & Co' admin changes it.")
    assert set(Integration.objects.values_list("workspace__name", flat=True)) == {"Zebra & Co"}


def test_any_workspace_is_connected_by_a_command_and_no_settings_are_listed(
    acme: int, token: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    none = command_line.run("integration", "remove", "acme", "notion")
    output = command_line.run(
        *("integration", "set", "acme", "notion", "--secret", f"token={token}"),
        *("--set", f"mailouts={MAILOUTS}"),
    )
    command_line.run("integration", "set", "acme", "notion", "--set", f"errors={ERRORS}")
    command_line.run("integration", "set", "acme", "notion", "--unset", "mailouts")
    monkeypatch.setattr(sys, "stdin", StringIO("correct horse battery\n"))
    command_line.run("integration", "set", "acme", "admin", "--secret", "password=-")

    assert none == ['Workspace "acme" has no integration "notion".']
    assert output == ['Set integration "notion" of workspace "acme".']
    assert integrations.notion(acme) == NotionSettings(token="ntn_hunter2", errors=ERRORS)
    admin = integrations.admin(acme)
    assert admin
    assert admin.admits("correct horse battery")
    command_line.run("integration", "remove", "acme", "admin")
    listed = sorted(line[:16] for line in command_line.run("integration", "list", "acme"))
    assert listed == ["admin  removed 2", "notion  changed "]


def test_no_secret_is_taken_from_the_command_line(acme: int) -> None:
    for kind, name in (("notion", "token"), ("supabase", "api_key"), ("admin", "password")):
        output = command_line.refusal(
            "integration", "set", "acme", kind, "--set", f"{name}=swordfish"
        )
        assert f"{name} is a secret, and other users can see a command line" in output
        assert "swordfish" not in output
    assert not Integration.objects.exists()


def test_no_secret_is_shown_or_logged(
    environment: Settings, token: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        output = command_line.run("setup")
        environment.NOTION_TOKEN = "ntn_other"
        output += command_line.run("setup")
        output += command_line.run(
            "integration", "set", "default", "notion", "--secret", f"token={token}"
        )
        output += command_line.run("integration", "list", "default")
        output += command_line.run("integration", "remove", "default", "notion")
        output += command_line.run("setup")

    shown = "\n".join(output) + str(command_line.trail())
    for secret in SECRETS:
        assert secret not in shown
        assert secret not in caplog.text
