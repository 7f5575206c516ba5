"""The doctor on integrations that cannot be opened, or that the environment has and nobody took."""

import pytest
from pytest_django import Settings

from postledger.accounts import integrations, workspaces
from postledger.accounts.integrations import IntegrationKind
from tests.cli import command_line
from tests.cli.installations import doctor

pytestmark = pytest.mark.django_db


@pytest.fixture
def acme() -> int:
    return workspaces.create_workspace("acme", actor="alice")


def test_what_the_environment_has_and_nobody_took_is_to_be_set_up(
    acme: int, settings: Settings
) -> None:
    without = doctor()
    globex = workspaces.create_workspace("globex", actor="alice")
    integrations.set_integration(
        globex, IntegrationKind.NOTION, changes={"token": "ntn_other"}, actor="alice"
    )
    settings.NOTION_TOKEN = "ntn_hunter2"
    settings.NOTION_DB_ERRORS = "aaaaaaaa-0000-4000-8000-000000000002"

    before = doctor()
    command_line.run("setup")
    after = doctor()
    integrations.remove_integration(acme, IntegrationKind.NOTION, actor="alice")
    removed = doctor()

    assert before.level("integrations") == "warning"
    assert "NOTION_TOKEN, NOTION_DB_ERRORS" in before.text("integrations")
    assert "Run postledger setup" in before.text("integrations")
    assert "hunter2" not in before.output
    assert {report.level("integrations") for report in (without, after, removed)} == {"ok"}


def test_what_was_sealed_under_a_lost_key_is_named_with_the_command_that_mends_it(
    acme: int, settings: Settings
) -> None:
    integrations.set_integration(
        acme, IntegrationKind.ADMIN, changes={"password": "a swordfish of steel"}, actor="alice"
    )
    previous, settings.SECRET_KEY = settings.SECRET_KEY, "new" * 20

    lost = doctor()
    settings.SECRET_KEY_FALLBACKS = [previous]
    unsealed = doctor()

    assert lost.level("integrations") == "warning"
    assert "admin of acme cannot be unsealed" in lost.text("integrations")
    assert "postledger account reseal" in lost.text("integrations")
    assert "postledger integration set acme admin --anew" in lost.text("integrations")
    assert unsealed.level("integrations") == "ok"
