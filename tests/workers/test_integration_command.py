"""The environment fills the first workspace's integrations once; a command changes them."""

import logging
import sys
from io import StringIO
from pathlib import Path

import pytest
from pytest_django import Settings

from postledger.accounts import actions, integrations
from postledger.accounts.integrations import Notion, Supabase
from postledger.accounts.models import Integration
from tests.workers import desk

MAILOUTS = "aaaaaaaa-0000-4000-8000-000000000001"
ERRORS = "aaaaaaaa-0000-4000-8000-000000000002"
SECRETS = ("ntn_hunter2", "swordfish", "correct horse", "ntn_other")


@pytest.fixture
def environment(db: None, settings: Settings) -> Settings:
    settings.NOTION_TOKEN = "ntn_hunter2"
    settings.NOTION_DB_MAILOUTS, settings.NOTION_DB_ERRORS = MAILOUTS, ""
    settings.SUPABASE_URL = "https://acme.supabase.example"
    settings.SUPABASE_SERVICE_ROLE_KEY = "swordfish"
    settings.ADMIN_PASSWORD = "correct horse"
    return settings


@pytest.fixture
def acme(db: None) -> int:
    return actions.create_workspace("acme", actor="alice")


@pytest.fixture
def token(tmp_path: Path) -> Path:
    file = tmp_path / "token"
    file.write_text("ntn_hunter2\n")
    return file


def set_up() -> list[str]:
    """What setup says after the tables, the room and the workspace."""
    return desk.run("setup")[3:]


def first() -> int:
    return min(Integration.objects.values_list("workspace_id", flat=True))


def test_setup_takes_what_the_environment_has_and_says_that_the_row_counts(
    environment: Settings,
) -> None:
    told = set_up()

    counts = "for default; from now on the database's row counts, and postledger integration set"
    assert told == [
        f"Took NOTION_TOKEN, NOTION_DB_MAILOUTS {counts} default notion changes it.",
        f"Took SUPABASE_URL, SUPABASE_SERVICE_ROLE_KEY {counts} default supabase changes it.",
        f"Took ADMIN_PASSWORD {counts} default admin changes it.",
    ]
    assert integrations.notion(first()) == Notion(token="ntn_hunter2", mailouts=MAILOUTS)
    assert integrations.supabase(first()) == Supabase(
        url="https://acme.supabase.example", api_key="swordfish"
    )
    admin = integrations.admin(first())
    assert admin
    assert admin.admits("correct horse")


def test_without_any_of_these_variables_setup_fills_nothing(environment: Settings) -> None:
    environment.NOTION_TOKEN = environment.NOTION_DB_MAILOUTS = environment.ADMIN_PASSWORD = ""
    environment.SUPABASE_URL = environment.SUPABASE_SERVICE_ROLE_KEY = ""

    assert set_up() == []

    assert not Integration.objects.exists()


def test_setup_repeated_with_the_same_environment_has_nothing_to_say(
    environment: Settings,
) -> None:
    set_up()

    assert set_up() == []


def test_a_variable_that_is_added_later_is_taken_at_the_next_setup(environment: Settings) -> None:
    token, environment.NOTION_TOKEN, environment.NOTION_DB_MAILOUTS = "ntn_hunter2", "", ""
    before = set_up()
    environment.NOTION_TOKEN = token

    after = set_up()

    assert not any("NOTION" in line for line in before)
    assert [line.partition(" for ")[0] for line in after] == ["Took NOTION_TOKEN"]


def test_an_environment_that_differs_changes_nothing_and_is_named(environment: Settings) -> None:
    set_up()
    environment.NOTION_TOKEN, environment.NOTION_DB_ERRORS = "ntn_other", ERRORS
    environment.ADMIN_PASSWORD = "swordfish"

    told = set_up()

    differs = "Not looked at, because default has a row that differs from it:"
    assert told == [
        (
            f"{differs} NOTION_TOKEN, NOTION_DB_ERRORS."
            " postledger integration set default notion changes the row."
        ),
        f"{differs} ADMIN_PASSWORD. postledger integration set default admin changes the row.",
    ]
    assert integrations.notion(first()) == Notion(token="ntn_hunter2", mailouts=MAILOUTS)


def test_a_secret_may_leave_the_environment_once_it_was_taken(environment: Settings) -> None:
    set_up()
    environment.NOTION_TOKEN = environment.SUPABASE_SERVICE_ROLE_KEY = ""

    assert set_up() == []

    assert integrations.notion(first()) == Notion(token="ntn_hunter2", mailouts=MAILOUTS)


def test_what_was_removed_is_not_brought_back_by_the_next_start(environment: Settings) -> None:
    set_up()
    told = desk.run("integration", "remove", "default", "notion")

    again = set_up()

    assert told == [
        "Removed the integration notion of default; the environment does not bring it back."
    ]
    assert [line.partition(":")[2] for line in again] == [
        (
            " NOTION_TOKEN, NOTION_DB_MAILOUTS."
            " postledger integration set default notion changes the row."
        )
    ]
    assert integrations.notion(first()) is None


def test_half_of_an_integration_is_not_taken_and_stops_no_setup(environment: Settings) -> None:
    environment.SUPABASE_SERVICE_ROLE_KEY = environment.NOTION_TOKEN = ""

    told = set_up()

    assert told[:2] == [
        (
            "Not taken: NOTION_DB_MAILOUTS. These settings do not make the integration notion:"
            " token: Field required. Correct them and try again."
        ),
        (
            "Not taken: SUPABASE_URL. These settings do not make the integration supabase:"
            " api_key: Field required. Correct them and try again."
        ),
    ]
    assert told[2].startswith("Took ADMIN_PASSWORD")


def test_rows_whose_key_is_lost_stop_no_setup_and_are_named(environment: Settings) -> None:
    set_up()
    environment.SECRET_KEY = "new" * 20

    told = set_up()

    assert told[0].startswith(
        "Not taken: NOTION_TOKEN, NOTION_DB_MAILOUTS. The integration settings cannot be opened:"
    )
    assert len(told) == 3


def test_the_first_workspace_is_filled_whatever_it_is_called(environment: Settings) -> None:
    desk.run("workspace", "create", "Zebra & Co")
    desk.run("workspace", "create", "acme")

    told = set_up()

    assert told[2].endswith("postledger integration set 'Zebra & Co' admin changes it.")
    assert set(Integration.objects.values_list("workspace__name", flat=True)) == {"Zebra & Co"}


def test_any_workspace_is_connected_by_a_command(acme: int, token: Path) -> None:
    told = desk.run(
        *("integration", "set", "acme", "notion", "--secret", f"token={token}"),
        *("--set", f"mailouts={MAILOUTS}"),
    )
    desk.run("integration", "set", "acme", "notion", "--set", f"errors={ERRORS}")
    desk.run("integration", "set", "acme", "notion", "--unset", "mailouts")

    assert told == ["Set the integration notion of acme; its next use reads it."]
    assert integrations.notion(acme) == Notion(token="ntn_hunter2", errors=ERRORS)


def test_the_admins_password_is_read_from_standard_input(
    acme: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", StringIO("correct horse\n"))

    desk.run("integration", "set", "acme", "admin", "--secret", "password=-")

    admin = integrations.admin(acme)
    assert admin
    assert admin.admits("correct horse")


@pytest.mark.parametrize(
    ("kind", "name"), [("notion", "token"), ("supabase", "api_key"), ("admin", "password")]
)
def test_no_secret_is_taken_from_the_command_line(acme: int, kind: str, name: str) -> None:
    told = desk.refusal("integration", "set", "acme", kind, "--set", f"{name}=swordfish")

    assert f"{name} is a secret, and a command line is seen and remembered" in told
    assert "swordfish" not in told
    assert not Integration.objects.exists()


def test_integrations_are_listed_without_their_settings(acme: int, token: Path) -> None:
    before = desk.run("integration", "list", "acme")
    none = desk.run("integration", "remove", "acme", "notion")
    for kind, rest in (("notion", []), ("supabase", ["--set", "url=https://acme.example"])):
        secret = "token" if kind == "notion" else "api_key"
        desk.run("integration", "set", "acme", kind, "--secret", f"{secret}={token}", *rest)
    desk.run("integration", "remove", "acme", "supabase")

    told = desk.run("integration", "list", "acme")

    assert before == ["acme has no integration; postledger integration set makes one."]
    assert none == ["acme has no integration notion."]
    assert [line[:18] for line in told] == ["notion  changed 20", "supabase  removed "]


def test_no_secret_is_shown_or_logged(
    environment: Settings, token: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        told = desk.run("setup")
        environment.NOTION_TOKEN = "ntn_other"
        told += desk.run("setup")
        told += desk.run("integration", "set", "default", "notion", "--secret", f"token={token}")
        told += desk.run("integration", "list", "default")
        told += desk.run("integration", "remove", "default", "notion")
        told += desk.run("setup")

    shown = "\n".join(told) + str(desk.trail())
    for secret in SECRETS:
        assert secret not in shown
        assert secret not in caplog.text
