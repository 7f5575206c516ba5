"""Setting up by command: workspaces, members, accounts, senders, keys, and everything at once."""

import json
import logging
import os
import pwd
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest
from django.core.management import CommandError, call_command, execute_from_command_line
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder
from psycopg import sql
from pytest_django import Settings

from postledger.accounts import keys, queries, sealing
from postledger.accounts.keys import Scope
from postledger.accounts.models import AuditEntry, ProviderAccount, Workspace
from postledger.accounts.queries import Organisation
from postledger.config import env

TABLES = (
    *("workspace", "member", "apikey", "provideraccount", "sender", "integration", "auditentry"),
)


def run(*arguments: str) -> list[str]:
    return both(*arguments)[0].splitlines()


def both(*arguments: str) -> tuple[str, str]:
    out, err = StringIO(), StringIO()
    call_command(*arguments, stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


def refusal(*arguments: str) -> str:
    with pytest.raises(CommandError) as refused:
        run(*arguments)
    return str(refused.value)


def everything_stored() -> str:
    """All that stands in the tables of this package, bytes in hexadecimal."""
    rows: list[str] = []
    with connection.cursor() as cursor:
        for table in TABLES:
            cursor.execute(f"SELECT row_to_json(t)::text FROM accounts_{table} AS t")
            rows += [row for (row,) in cursor.fetchall()]
    return "\n".join(rows)


@pytest.fixture
def acme(db: None) -> int:
    run("workspace", "create", "acme")
    workspace = queries.workspace_named("acme")
    assert workspace
    return workspace.id


@pytest.fixture
def password(tmp_path: Path) -> Path:
    file = tmp_path / "password"
    file.write_text("hunter2\n")
    return file


def relay(password: Path) -> list[str]:
    return [
        *("account", "create", "acme", "relay", "--kind", "smtp", "--set"),
        *("host=smtp.acme.example", "--set", "username=alice"),
        *("--secret", f"password={password}"),
    ]


@pytest.mark.django_db
def test_workspaces_and_members_are_made_by_the_person_who_typed_it() -> None:
    made = run("workspace", "create", "acme")
    add = ("member", "add", "acme", "alice@acme.example", "--role")

    assert made == ['Created workspace "acme".']
    assert run("workspace", "list") == [f"acme  since {datetime.now(UTC):%Y-%m-%d}"]
    assert "invalid choice: 'king'" in refusal(*add, "king")
    assert run(*add, "owner")[0] == 'Added alice@acme.example to workspace "acme" as owner.'
    name = pwd.getpwuid(os.getuid()).pw_name
    actors = set(AuditEntry.objects.values_list("actor", flat=True))
    assert actors == {f"command line ({name})"}


def test_an_operator_who_moves_an_account_may_move_it_inside(acme: int, password: Path) -> None:
    run(*relay(password), "--set", "public_only=true")
    account = ProviderAccount.objects.get()

    run("account", "update", "acme", "relay", "--set", "username=bob")
    account.refresh_from_db()
    renamed = sealing.unseal_settings(account)
    run("account", "update", "acme", "relay", "--set", "host=10.0.0.7")
    account.refresh_from_db()
    moved = sealing.unseal_settings(account)

    assert renamed["public_only"] == "true"
    assert "public_only" not in moved


def test_a_password_is_read_from_a_file_or_from_standard_input_and_not_listed(
    acme: int, password: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = run(*relay(password))
    settings = sealing.unseal_settings(ProviderAccount.objects.get())
    monkeypatch.setattr(sys, "stdin", StringIO("swordfish\n"))
    changed = run(
        *("account", "update", "acme", "relay", "--secret", "password=-", "--unset", "username"),
        *("--set", "timeouts.answer=300", "--set", "timeouts.quit=1"),
    )

    assert made == ['Created account "relay" (smtp) in workspace "acme".']
    host = {"host": "smtp.acme.example"}
    assert settings == {**host, "username": "alice", "password": "hunter2"}
    assert changed == ['Updated account "relay" in workspace "acme"; its next mail uses it.']
    assert sealing.unseal_settings(ProviderAccount.objects.get()) == {
        **host,
        "password": "swordfish",
        "timeouts": {"answer": "300", "quit": "1"},
    }
    [listed] = run("account", "list", "acme")
    assert listed.startswith("relay  smtp  senders: 0  changed 20")
    assert "smtp.acme.example" not in listed


def test_a_setting_that_cannot_be_used_is_named_and_not_repeated(acme: int) -> None:
    for *arguments, message in (
        ("--set", "password=hunter2", "password is a secret, and other users can see a command"),
        ("--set", "hunter2", "use the form NAME=VALUE, such as host=smtp.example.com"),
        ("--secret", "hunter2", "use the form NAME=VALUE"),
        ("--secret", "password=/nowhere/hunter2", "password cannot be read (FileNotFoundError)"),
        ("--set", "port=hunter2", "host: this is required; port: write a whole number"),
    ):
        output = refusal("account", "create", "acme", "relay", "--kind", "smtp", *arguments)
        assert message in output
        assert "hunter2" not in output
    assert not ProviderAccount.objects.exists()


def test_a_sender_is_made_with_its_server_or_with_the_sandbox_or_waits_for_an_account(
    acme: int,
) -> None:
    server = ("--smtp", "127.0.0.1:2525", "--tls", "none")
    assert "is not an email address" in refusal("sender", "create", "acme", "news", *server)
    assert not ProviderAccount.objects.exists()

    run("sender", "create", "acme", "news@acme.example", "--name", "Acme", *server)
    run("sender", "create", "acme", "a@acme.example", "--sandbox")
    run("sender", "create", "acme", "b@acme.example", "--sandbox")
    waiting = run("sender", "create", "acme", "c@acme.example")

    assert waiting[1] == (
        "Its mail waits until it has an account:"
        " postledger sender attach acme c@acme.example --account NAME."
    )
    assert sorted(run("sender", "list", "acme")) == [
        "a@acme.example  through sandbox",
        "b@acme.example  through sandbox",
        "c@acme.example  no account: its mail waits",
        "news@acme.example  “Acme”  through 127.0.0.1:2525  default",
    ]
    news = next(sender for sender in queries.senders(acme) if sender.name)
    outgoing = queries.outgoing(news.id)
    assert outgoing
    assert outgoing.settings == {"host": "127.0.0.1", "port": "2525", "tls": "none"}
    assert run("sender", "attach", "acme", "C@acme.example", "--account", "sandbox") == [
        'Mail of c@acme.example is now sent through account "sandbox".'
    ]
    assert "c@acme.example  through sandbox" in run("sender", "list", "acme")


def test_a_refusal_says_what_to_do(acme: int) -> None:
    create = "sender create acme news@acme.example"
    for line, message in {
        "workspace create ACME": "already a workspace “ACME” (case is ignored)",
        "member add acmee a@b.example": "There is no workspace “acmee”; see postledger",
        "account list acmee": "see postledger workspace list.",
        "sender list acmee": "There is no workspace “acmee”",
        "key list acmee": "There is no workspace “acmee”",
        f"{create} --account relay": "no account “relay”; see postledger account list acme.",
        "sender attach acme news@acme.example --account relay": (
            "acme has no sender news@acme.example; see postledger sender list acme."
        ),
        f"{create} --tls none": "--tls requires --smtp HOST:PORT.",
        f"{create} --smtp localhost": "'localhost' is not HOST:PORT; use the form 127.0.0.1:2525",
        "account update acme relay": "acme has no account “relay”",
        "key revoke pl_live_aaaaaaaa": "There is no API key 'pl_live_aaaaaaaa'; see postledger",
        "key rotate pl_live_aaaaaaaa": "see postledger key list WORKSPACE.",
        "key rotate x --overlap 3w": "'3w' is not a duration: use the form",
        "key create acme --name x --scope all": "invalid choice: 'all'",
    }.items():
        assert message in refusal(*line.split()), line


def test_a_token_stands_alone_on_standard_output(acme: int) -> None:
    out, err = both("key", "create", "acme", "--name", "shop", "--scope", "mail:send")
    (test_token,) = run("key", "create", "acme", "--name", "shop", "--test")

    now = datetime.now(UTC)
    caller, test_caller = keys.recognise(out.strip(), now=now), keys.recognise(test_token, now=now)
    assert caller
    assert (set(caller.scopes), caller.is_test) == ({"mail:send"}, False)
    assert 'Created API key "shop" in workspace "acme": mail:send. Store the token:' in err
    assert test_caller
    assert (test_caller.scopes, test_caller.is_test) == (keys.USUAL_SCOPES, True)
    assert Scope.SETUP_WRITE not in test_caller.scopes


def test_a_key_is_listed_rotated_and_revoked(acme: int) -> None:
    (old,) = run("key", "create", "acme", "--name", "shop")
    prefix = old.partition(".")[0]

    out, err = both("key", "rotate", prefix, "--overlap", "1h")
    new = out.strip()
    listed = run("key", "list", "acme")

    now = datetime.now(UTC)
    usual = " ".join(sorted(keys.USUAL_SCOPES))
    assert keys.recognise(old, now=now)
    assert keys.recognise(old, now=now + timedelta(hours=1)) is None
    assert keys.recognise(new, now=now + timedelta(hours=1))
    assert f"{prefix} is valid until 20" in err
    assert listed[0].startswith(f"{prefix}  shop  {usual}  valid until 20")
    assert listed[1] == f"{new.partition('.')[0]}  shop  {usual}  valid  never used"

    assert run("key", "revoke", new) == [f"Revoked API key {new.partition('.')[0]}."]
    assert run("key", "revoke", new) == [f"API key {new.partition('.')[0]} was already revoked."]
    assert keys.recognise(new, now=now) is None
    assert "  revoked 20" in run("key", "list", "acme")[1]


def test_no_secret_is_stored_logged_or_shown_twice(
    acme: int, password: Path, caplog: pytest.LogCaptureFixture
) -> None:
    output: list[str] = []
    with caplog.at_level(logging.DEBUG):
        output += both(*relay(password))
        output += both("account", "update", "acme", "relay", "--secret", f"password={password}")
        output += both("account", "reseal")
        output += both("account", "list", "acme")
        out, _ = pair = both("key", "create", "acme", "--name", "shop")
        token = out.strip()
        output += [*pair, *both("key", "rotate", token)]
        output += [*both("key", "list", "acme"), *both("key", "revoke", token)]
        output.append(refusal("key", "rotate", token))

    secret = token.partition(".")[2]
    shown, kept = "\n".join(output), everything_stored()
    assert shown.count(secret) == 1
    assert "hunter2" not in shown
    for hidden in (secret, "hunter2"):
        assert hidden not in kept
        assert hidden.encode().hex() not in kept
        assert hidden not in caplog.text
        assert hidden not in json.dumps(list(AuditEntry.objects.values("subject", "data")))


@pytest.mark.django_db
def test_setup_fills_the_first_workspace_from_the_environment_once(settings: Settings) -> None:
    settings.FROM_NAME, settings.FROM_EMAIL = "Acme", "hello"
    settings.ORG_NAME, settings.ORG_ADDRESS = "Acme Ltd", "1 Main Street"
    settings.UNSUBSCRIBE_BASE_URL = "https://mail.acme.example/unsubscribe"
    settings.TEST_EMAILS = "a@acme.example; b@acme.example"
    refused = refusal("setup")
    settings.FROM_EMAIL = "hello@acme.example"
    output = run("setup")
    settings.ORG_NAME, settings.TEST_EMAILS = "Somebody else", "c@acme.example"
    again = run("setup")

    assert refused == (
        "The first workspace was not created: 'hello' is not an email address."
        " Correct the environment and run postledger setup again."
    )
    assert output[:2] == [
        "The tables were up to date.",
        "Partitions for the coming months already exist.",
    ]
    assert output[2].startswith('Created workspace "default" with sender hello@acme.example,')
    assert again[2].startswith("There is a workspace already, which was not changed: FROM_EMAIL,")
    assert run("sender", "list", "default") == [
        "hello@acme.example  “Acme”  no account: its mail waits  default  at most 5 a second"
    ]
    assert run("workspace", "tests", "default") == ["a@acme.example", "b@acme.example"]
    workspace = queries.workspace_named("default")
    assert workspace
    assert queries.organisation(workspace.id) == Organisation(
        "Acme Ltd", "1 Main Street", "https://mail.acme.example/unsubscribe", is_first=True
    )


def test_addresses_for_tests_are_set_shown_and_taken_away(acme: int) -> None:
    tests = ("workspace", "tests", "acme")
    output = run(*tests, "a@acme.example nobody,A@acme.example;b@acme.example")
    refused = refusal(*tests, "nobody, @")
    kept = queries.test_emails(acme)
    run(*tests, "")

    assert output == ["a@acme.example", "b@acme.example"]
    assert "no address to send a test to" in refused
    assert (kept, queries.test_emails(acme)) == ("a@acme.example, b@acme.example", "")
    noted = AuditEntry.objects.filter(action="workspace.tests_changed")
    assert noted.count() == 2
    assert "acme.example" not in str(list(noted.values_list("data", flat=True)))


def test_a_time_zone_is_one_that_the_iana_names(acme: int) -> None:
    [shown] = run("workspace", "zone", "acme", "Europe/Lisbon")
    assert "without a time zone of their own use Europe/Lisbon" in shown

    for wrong in ("Lisbon", "", "../etc/passwd", "UTC+1"):
        assert "is not a time zone" in refusal("workspace", "zone", "acme", wrong)

    assert queries.time_zone(acme) == "Europe/Lisbon"
    assert AuditEntry.objects.filter(action="workspace.zone_changed").count() == 1


@pytest.mark.django_db
def test_a_footer_is_changed_line_by_line_and_never_to_what_would_break_mail() -> None:
    run("workspace", "create", "acme")
    run("workspace", "footer", "acme", "--org-name", "Acme")
    output = run("workspace", "footer", "acme", "--unsubscribe-url", "https://acme.example/u")

    assert output == ["Acme — no address", "Unsubscribe: https://acme.example/u"]
    for wrong in (
        ("--unsubscribe-url", "javascript:alert(1)"),
        ("--unsubscribe-url", "https://acme.example/u?a=b"),
        ("--unsubscribe-url", "https://acme.example/u\r\nBcc: x"),
        ("--unsubscribe-url", "https://acme.example/" + "a" * 500),
        ("--org-name", "Acme\nLtd"),
        ("--org-name", "{{ name }}"),
        ("--org-address", "a" * 201),
    ):
        assert "cannot" in refusal("workspace", "footer", "acme", *wrong), wrong


@pytest.mark.django_db
def test_setup_refuses_a_database_with_migrations_that_it_does_not_know() -> None:
    recorder = MigrationRecorder(connection)
    recorder.record_applied("somebody_elses", "0001_initial")
    recorder.record_applied("accounts", "0002_keys_and_accounts")

    refused = refusal("setup")
    workspaces = Workspace.objects.count()
    recorder.record_unapplied("accounts", "0002_keys_and_accounts")

    assert "does not know 1 of the migrations" in refused
    assert "the first is accounts.0002_keys_and_accounts" in refused
    assert "name another database in DATABASE_URL" in refused
    assert workspaces == 0
    assert run("setup")[0] == "The tables were up to date."  # whatever other programs migrated


@pytest.fixture
def empty_database() -> Iterator[str]:
    """The address of a database of its own, without a table."""
    here = urlsplit(env.load().database_url.get_secret_value())
    name = f"{here.path.strip('/')}_empty"
    drop = sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name))
    with psycopg.connect(here.geturl(), dbname="postgres", autocommit=True) as admin:
        admin.execute(drop)
        admin.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        yield here._replace(path=f"/{name}").geturl()
        admin.execute(drop)


def wait_for_waiters(database: psycopg.Connection, count: int) -> None:
    until = time.monotonic() + 600
    waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
    here = " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
    while database.execute(waiting + here).fetchone() != (count,):
        assert time.monotonic() < until, "they do not wait for one another"
        time.sleep(0.05)


@pytest.mark.slow
def test_containers_that_start_together_set_up_an_empty_database_once(empty_database: str) -> None:
    environment = {"DATABASE_URL": empty_database, "FROM_EMAIL": "hello@acme.example"}
    with psycopg.connect(empty_database) as other:  # somebody else who is in the middle of it
        other.execute("SELECT pg_advisory_xact_lock(hashtext('postledger_setup'))")
        started = [
            subprocess.Popen(
                [Path(sys.executable).with_name("postledger"), "setup"],
                env={**os.environ, "DEBUG": "true", **environment},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            for _ in range(2)
        ]
        wait_for_waiters(other, 2)
        assert other.execute("SELECT to_regclass('accounts_workspace')").fetchone() == (None,)

    output = sorted(process.communicate(timeout=600)[0] for process in started)

    assert [process.returncode for process in started] == [0, 0], output
    assert output[0].startswith("Brought the tables up to date; migrations applied: ")
    assert "\nCreated partitions for 20" in output[0]
    assert 'Created workspace "default" with sender hello@acme.example,' in output[0]
    assert output[1].startswith("The tables were up to date.")


@pytest.mark.django_db(transaction=True)
def test_a_real_command_line_reaches_the_same_commands(
    password: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Django takes options such as --settings out of a command line that `call_command` has not."""
    for line in (
        ["workspace", "create", "acme"],
        relay(password),
        ["sender", "create", "acme", "news@acme.example", "--account", "relay"],
        ["key", "create", "acme", "--name", "shop"],
    ):
        execute_from_command_line(["postledger", *line])

    output = capsys.readouterr().out.splitlines()
    assert output[:3] == [
        'Created workspace "acme".',
        'Created account "relay" (smtp) in workspace "acme".',
        'Created sender news@acme.example in workspace "acme".',
    ]
    assert keys.recognise(output[3], now=datetime.now(UTC))
