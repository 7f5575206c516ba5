"""What a workspace works with beside sending is filled once, sealed, changed, and taken away."""

import json
from functools import partial

import pytest
from django.db import IntegrityError, connection, transaction
from pytest_django import Settings

from postledger.accounts import integrations, sealing, workspaces
from postledger.accounts.integrations import (
    FirstWorkspaceOnlyError,
    IntegrationChangedError,
    IntegrationKind,
    NotionSettings,
    SupabaseSettings,
)
from postledger.accounts.models import AuditEntry, Integration
from postledger.accounts.provider_accounts import InvalidSettingsError
from postledger.lib.secrets import UnsealableError
from tests.races import collide

MAILOUTS = "aaaaaaaa-0000-4000-8000-000000000001"
NOTION = {"token": "ntn_hunter2", "mailouts": MAILOUTS}
SUPABASE = {"url": "https://acme.supabase.example", "api_key": "swordfish"}


def put(workspace_id: int, kind: IntegrationKind, **changes: object) -> None:
    integrations.set_integration(workspace_id, kind, changes=changes, actor="alice")


def fill(workspace_id: int, kind: IntegrationKind, **offered: object) -> tuple[str, ...] | None:
    return integrations.fill_integration(workspace_id, kind, settings=offered, actor="setup")


def test_settings_are_read_as_they_were_set_by_their_own_workspace_only(
    acme: int, globex: int
) -> None:
    put(acme, IntegrationKind.SUPABASE, **SUPABASE)
    put(globex, IntegrationKind.NOTION, **NOTION)

    assert integrations.notion(globex) == NotionSettings(
        token="ntn_hunter2", mailouts=MAILOUTS, errors=""
    )
    assert integrations.supabase(acme) == SupabaseSettings.model_validate(SUPABASE)
    assert integrations.notion(acme) is None
    assert integrations.supabase(globex) is None
    assert integrations.workspaces(IntegrationKind.NOTION) == [globex]
    assert not integrations.remove_integration(acme, IntegrationKind.NOTION, actor="alice")
    assert integrations.notion(globex)
    assert not AuditEntry.objects.filter(action="integration.removed").exists()
    assert integrations.remove_integration(globex, IntegrationKind.NOTION, actor="charlie")
    assert integrations.workspaces(IntegrationKind.NOTION) == []


def test_a_change_keeps_what_it_does_not_name(acme: int) -> None:
    put(acme, IntegrationKind.NOTION, **NOTION)

    put(acme, IntegrationKind.NOTION, errors=MAILOUTS.replace("-", "").upper(), mailouts=None)

    assert integrations.notion(acme) == NotionSettings(token="ntn_hunter2", errors=MAILOUTS)


def test_the_admins_password_admits_itself_and_nothing_else(acme: int) -> None:
    put(acme, IntegrationKind.ADMIN, password="correct horse battery")

    wrong_changes: list[dict[str, object]] = [{"password": None}, {"password_hash": "swordfish"}]
    for change in wrong_changes:
        with pytest.raises(InvalidSettingsError):
            put(acme, IntegrationKind.ADMIN, **change)

    admin = integrations.admin(acme)
    assert admin
    assert admin.admits("correct horse battery")
    for wrong in ("", "correct horse battery ", "Correct horse", "\ud800", admin.password_hash):
        assert not admin.admits(wrong)
    put(acme, IntegrationKind.ADMIN, password="battery staple, correct")
    replaced = integrations.admin(acme)
    assert replaced
    assert replaced.admits("battery staple, correct")
    assert not replaced.admits("correct horse battery")


def test_some_kinds_are_the_first_workspaces_alone(acme: int, globex: int) -> None:
    cases: list[tuple[IntegrationKind, dict[str, str]]] = [
        (IntegrationKind.ADMIN, {"password": "correct horse battery"}),
        (IntegrationKind.SUPABASE, SUPABASE),
    ]
    for kind, given in cases:
        with pytest.raises(FirstWorkspaceOnlyError, match="Only the installation's first"):
            put(globex, kind, **given)

        assert not Integration.objects.exists(), kind


def test_no_secret_stands_readable_in_the_database_or_is_shown(acme: int) -> None:
    put(acme, IntegrationKind.NOTION, **NOTION)
    put(acme, IntegrationKind.SUPABASE, **SUPABASE)
    put(acme, IntegrationKind.ADMIN, password="correct horse battery")

    with connection.cursor() as cursor:
        cursor.execute("SELECT row_to_json(i)::text FROM accounts_integration AS i")
        kept = "\n".join(row for (row,) in cursor.fetchall())
    admin = integrations.admin(acme)

    assert admin
    for hidden in ("ntn_hunter2", "swordfish", "correct horse battery", admin.password_hash):
        assert hidden not in kept
        assert hidden.encode().hex() not in kept
    stored = [sealing.unseal_settings(row) for row in Integration.objects.all()]
    assert "correct horse battery" not in json.dumps(stored)
    shown = repr([integrations.notion(acme), integrations.supabase(acme), admin])
    for hidden in ("ntn_hunter2", "swordfish", "correct horse battery", admin.password_hash):
        assert hidden not in shown


def test_a_row_copied_to_another_workspace_does_not_open(acme: int, globex: int) -> None:
    put(acme, IntegrationKind.NOTION, **NOTION)
    sealed = Integration.objects.get().sealed_settings
    Integration.objects.create(workspace_id=globex, kind="notion", sealed_settings=sealed)

    with pytest.raises(UnsealableError, match="The integration settings cannot be unsealed"):
        integrations.notion(globex)


def test_settings_that_cannot_work_are_named_and_not_repeated(acme: int) -> None:
    notion, supabase, admin = IntegrationKind
    short = "password: at least 16 characters are required"
    unknown = "there is no such setting: leave it out"
    cases: list[tuple[IntegrationKind, dict[str, object], str]] = [
        (notion, {}, "integration notion: token: this is required"),
        (notion, {"token": ""}, "token: this must not be empty"),
        (notion, {"token": "t", "errors": "zz-99"}, "errors: paste the link of the database"),
        (notion, {"token": "t", "tokn": "zz-99"}, f"tokn: {unknown}"),
        (supabase, {"url": "https://acme.example"}, "api_key: this is required"),
        (supabase, {"url": "ftp://zz-99", "api_key": "k"}, "url: String should match"),
        (admin, {}, short),
        (admin, {"password": "zz-99-zz-99-zz-"}, short),
        (admin, {"password": "p" * 16, "name": "zz-99"}, f"name: {unknown}"),
    ]
    for kind, wrong, message in cases:
        with pytest.raises(InvalidSettingsError) as refused:
            put(acme, kind, **wrong)

        assert message in str(refused.value)
        assert "zz-99" not in str(refused.value)
        assert refused.value.__cause__ is None
        assert refused.value.__context__ is None
        assert not Integration.objects.exists(), kind


def test_what_has_no_row_is_taken_from_the_environment_and_afterwards_the_row_wins(
    acme: int,
) -> None:
    assert fill(acme, IntegrationKind.NOTION, **NOTION) is None
    same = fill(acme, IntegrationKind.NOTION, **NOTION)
    other = fill(acme, IntegrationKind.NOTION, token="ntn_hunter2", mailouts="", errors=MAILOUTS)

    assert same == ()
    assert other == ("mailouts", "errors"), "what differs is named"
    assert integrations.notion(acme) == NotionSettings.model_validate(NOTION)
    fill(acme, IntegrationKind.ADMIN, password="correct horse battery")
    assert fill(acme, IntegrationKind.ADMIN, password="correct horse battery") == ()
    assert fill(acme, IntegrationKind.ADMIN, password="battery staple, correct") == ("password",)
    # What was taken away is not brought back, and can be set anew.
    assert integrations.remove_integration(acme, IntegrationKind.NOTION, actor="alice")
    assert fill(acme, IntegrationKind.NOTION, **NOTION) == ("token", "mailouts")
    assert integrations.notion(acme) is None
    assert Integration.objects.get(kind="notion").sealed_settings is None
    put(acme, IntegrationKind.NOTION, token="ntn_new")
    assert integrations.notion(acme) == NotionSettings(token="ntn_new")


def test_settings_whose_key_is_lost_are_entered_anew(acme: int, settings: Settings) -> None:
    put(acme, IntegrationKind.NOTION, **NOTION)
    settings.SECRET_KEY = "new" * 20

    with pytest.raises(UnsealableError):
        put(acme, IntegrationKind.NOTION, token="ntn_new")
    integrations.set_integration(
        acme, IntegrationKind.NOTION, changes={"token": "ntn_new"}, is_anew=True, actor="bob"
    )

    assert integrations.notion(acme) == NotionSettings(token="ntn_new")


def test_resealing_takes_integrations_along(acme: int, globex: int, settings: Settings) -> None:
    put(acme, IntegrationKind.NOTION, **NOTION)
    put(acme, IntegrationKind.ADMIN, password="correct horse battery")
    put(globex, IntegrationKind.NOTION, **NOTION)
    integrations.remove_integration(globex, IntegrationKind.NOTION, actor="charlie")
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "new" * 20, [settings.SECRET_KEY]

    assert sealing.reseal_all(actor="bob") == 2

    settings.SECRET_KEY_FALLBACKS = []
    admin = integrations.admin(acme)
    assert integrations.notion(acme) == NotionSettings.model_validate(NOTION)
    assert admin
    assert admin.admits("correct horse battery")
    assert integrations.notion(globex) is None


def test_resealing_with_a_key_missing_changes_nothing_and_names_the_integration(
    acme: int, globex: int, settings: Settings
) -> None:
    old = settings.SECRET_KEY
    put(acme, IntegrationKind.SUPABASE, **SUPABASE)
    settings.SECRET_KEY = "lost" * 20
    put(globex, IntegrationKind.NOTION, **NOTION)
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "new" * 20, [old]

    with pytest.raises(UnsealableError, match=r"Nothing was resealed: notion of globex\. The"):
        sealing.reseal_all(actor="bob")

    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = old, []
    assert integrations.supabase(acme) == SupabaseSettings.model_validate(SUPABASE)


def test_the_trail_names_settings_and_holds_no_value(acme: int) -> None:
    fill(acme, IntegrationKind.NOTION, **NOTION)
    put(acme, IntegrationKind.NOTION, token="ntn_new")
    put(acme, IntegrationKind.ADMIN, password="correct horse battery")
    integrations.remove_integration(acme, IntegrationKind.ADMIN, actor="bob")
    sealing.reseal_all(actor="bob")

    entries = AuditEntry.objects.exclude(action="workspace.created").order_by("pk")

    assert list(entries.values_list("actor", "action", "subject", "data")) == [
        (
            "setup",
            "integration.filled",
            "integration notion",
            {"settings": ["mailouts", "token"]},
        ),
        ("alice", "integration.set", "integration notion", {"settings": ["token"]}),
        ("alice", "integration.set", "integration admin", {"settings": ["password"]}),
        ("bob", "integration.removed", "integration admin", {}),
        ("bob", "integration.resealed", "integration notion", {}),
    ]


def test_the_table_lets_in_no_other_kind_and_nobody_but_its_owner(acme: int) -> None:
    with pytest.raises(IntegrityError, match="accounts_integration_kind"), transaction.atomic():
        Integration.objects.create(workspace_id=acme, kind="pigeon")
    for kind in IntegrationKind:
        Integration.objects.create(workspace_id=acme, kind=kind.value)
    with connection.cursor() as cursor:
        cursor.execute("SELECT relrowsecurity FROM pg_class WHERE relname = 'accounts_integration'")
        assert cursor.fetchall() == [(True,)]


@pytest.mark.race
@pytest.mark.django_db(transaction=True)
def test_of_two_changes_at_once_the_second_is_refused() -> None:
    acme = workspaces.create_workspace("acme", actor="alice")
    put(acme, IntegrationKind.NOTION, **NOTION)

    with collide.uncommitted(partial(put, acme, IntegrationKind.NOTION, token="first")) as first:
        second = collide.start(partial(put, acme, IntegrationKind.NOTION, token="second"))
        second.must_wait()
        first.answer()

        with pytest.raises(IntegrationChangedError, match="integration notion was changed at the"):
            second.answer()

    notion = integrations.notion(acme)
    assert notion
    assert notion.token == "first"


@pytest.mark.race
@pytest.mark.django_db(transaction=True)
def test_what_a_person_sets_while_the_environment_is_looked_at_stays() -> None:
    acme = workspaces.create_workspace("acme", actor="alice")

    with collide.uncommitted(partial(put, acme, IntegrationKind.NOTION, token="typed")) as person:
        environment = collide.start(partial(fill, acme, IntegrationKind.NOTION, token="offered"))
        environment.must_wait()
        person.answer()

        with pytest.raises(IntegrationChangedError):
            environment.answer()

    notion = integrations.notion(acme)
    assert notion
    assert notion.token == "typed"
