"""Setting up by command: workspaces, members, accounts, senders, keys, and everything at once."""

import json
import logging
import os
import pwd
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
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
from postledger.cli.management.commands import key as key_command
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
def test_a_workspace_is_made_and_listed() -> None:
    before = run("workspace", "list")
    made = run("workspace", "create", "acme")

    assert before == ["There is no workspace yet; see postledger workspace create."]
    assert made == ['Created workspace "acme".']
    assert run("workspace", "list") == [f"acme  since {datetime.now(UTC):%Y-%m-%d}"]


def test_a_member_is_added_with_a_role_by_the_person_who_typed_it(acme: int) -> None:
    add = ("member", "add", "acme", "alice@acme.example", "--role")

    assert "invalid choice: 'king'" in refusal(*add, "king")
    assert run(*add, "owner") == [
        'Added alice@acme.example to workspace "acme" as owner.',
        "postledger member invite acme alice@acme.example prints a link to join with.",
    ]
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


def test_a_password_is_read_from_a_file_or_from_standard_input(
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


def test_accounts_are_listed_without_their_settings(acme: int, password: Path) -> None:
    assert run("account", "list", "acme") == ["acme has no account; see postledger account create."]
    run(*relay(password))
    run("sender", "create", "acme", "news@acme.example", "--account", "relay")

    (output,) = run("account", "list", "acme")

    assert output.startswith("relay  smtp  senders: 1  changed 20")
    assert "smtp.acme.example" not in output


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


def test_a_sender_is_made_together_with_its_server(acme: int) -> None:
    output = run(
        *("sender", "create", "acme", "news@acme.example", "--name", "Acme"),
        *("--smtp", "127.0.0.1:2525", "--tls", "none"),
    )

    assert output == ['Created sender news@acme.example in workspace "acme".']
    assert run("sender", "list", "acme") == [
        "news@acme.example  “Acme”  through 127.0.0.1:2525  default"
    ]
    (sender,) = queries.senders(acme)
    outgoing = queries.outgoing(sender.id)
    assert outgoing
    assert outgoing.settings == {"host": "127.0.0.1", "port": "2525", "tls": "none"}


def test_senders_share_one_sandbox(acme: int) -> None:
    run("sender", "create", "acme", "news@acme.example", "--sandbox")
    run("sender", "create", "acme", "shop@acme.example", "--sandbox")

    (account,) = queries.accounts(acme)
    assert (account.name, account.kind, account.sender_set.count()) == ("sandbox", "sandbox", 2)


def test_a_sender_without_an_account_waits_until_one_is_attached(acme: int) -> None:
    output = run("sender", "create", "acme", "news@acme.example")

    assert output[1] == (
        "Its mail waits until it has an account:"
        " postledger sender attach acme news@acme.example --account NAME."
    )
    assert run("sender", "list", "acme") == [
        "news@acme.example  no account: its mail waits  default"
    ]
    run("account", "create", "acme", "box", "--kind", "sandbox")
    assert run("sender", "attach", "acme", "NEWS@acme.example", "--account", "box") == [
        'Mail of news@acme.example is now sent through account "box".'
    ]
    assert run("sender", "list", "acme") == ["news@acme.example  through box  default"]


def test_a_refused_sender_leaves_no_account_behind(acme: int) -> None:
    assert "is not an email address" in refusal(
        *("sender", "create", "acme", "news", "--smtp", "127.0.0.1:2525", "--tls", "none")
    )

    assert not ProviderAccount.objects.exists()


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


USUAL = " ".join(sorted(keys.USUAL_SCOPES))


def test_a_key_is_listed_rotated_and_revoked(acme: int) -> None:
    assert run("key", "list", "acme") == ["acme has no API key; see postledger key create."]
    (old,) = run("key", "create", "acme", "--name", "shop")
    prefix = old.partition(".")[0]

    out, err = both("key", "rotate", prefix, "--overlap", "1h")
    new = out.strip()
    listed = run("key", "list", "acme")

    now = datetime.now(UTC)
    assert keys.recognise(old, now=now)
    assert keys.recognise(old, now=now + timedelta(hours=1)) is None
    assert keys.recognise(new, now=now + timedelta(hours=1))
    assert f"{prefix} is valid until 20" in err
    assert listed[0].startswith(f"{prefix}  shop  {USUAL}  valid until 20")
    assert listed[1] == f"{new.partition('.')[0]}  shop  {USUAL}  valid  never used"

    assert run("key", "revoke", new) == [f"Revoked API key {new.partition('.')[0]}."]
    assert run("key", "revoke", new) == [f"API key {new.partition('.')[0]} was already revoked."]
    assert keys.recognise(new, now=now) is None
    assert "  revoked 20" in run("key", "list", "acme")[1]


def test_a_key_whose_overlap_is_over_is_listed_as_ended(acme: int) -> None:
    (token,) = run("key", "create", "acme", "--name", "shop")
    run("key", "rotate", token, "--overlap", "0h")

    old, _ = queries.keys(acme)

    assert key_command.describe_validity(old, datetime.now(UTC)).startswith("expired 20")


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
def test_setup_of_an_installation_that_is_set_up_says_so(settings: Settings) -> None:
    settings.FROM_EMAIL, settings.FROM_NAME = "hello@acme.example", "Acme"

    output = run("setup")

    assert output[:2] == [
        "The tables were up to date.",
        "Partitions for the coming months already exist.",
    ]
    assert output[2] == (
        'Created workspace "default" with sender hello@acme.example, which sends at most 5 mails a'
        " second (postledger sender limit); attach an account with postledger sender attach."
    )
    assert run("setup")[2] == (
        "There is a workspace already, which was not changed: FROM_EMAIL, FROM_NAME counted only"
        " when the first was created. Change these on the dashboard, or by postledger workspace and"
        " postledger sender."
    )
    settings.FROM_EMAIL = settings.FROM_NAME = ""
    assert run("setup")[2] == "There is a workspace already, which was not changed."
    assert run("sender", "list", "default") == [
        "hello@acme.example  “Acme”  no account: its mail waits  default  at most 5 a second"
    ]


@pytest.mark.django_db
def test_setup_without_a_sender_makes_a_workspace_and_with_a_wrong_one_none(
    settings: Settings,
) -> None:
    settings.FROM_NAME, settings.FROM_EMAIL = "", "hello"
    refused = refusal("setup")
    settings.FROM_EMAIL = ""

    assert refused == (
        "The first workspace was not created: 'hello' is not an email address."
        " Correct the environment and run postledger setup again."
    )
    assert run("setup")[2] == 'Created workspace "default".'


@pytest.mark.django_db
def test_setup_gives_the_first_workspace_the_footer_of_the_environment(settings: Settings) -> None:
    settings.ORG_NAME, settings.ORG_ADDRESS = "Acme Ltd", "1 Main Street"
    settings.UNSUBSCRIBE_BASE_URL = "https://mail.acme.example/unsubscribe"
    run("setup")
    settings.ORG_NAME = "Somebody else"
    run("setup")

    workspace = queries.workspace_named("default")

    assert workspace
    assert queries.organisation(workspace.id) == Organisation(
        "Acme Ltd", "1 Main Street", "https://mail.acme.example/unsubscribe", is_first=True
    )


@pytest.mark.django_db
def test_setup_gives_the_first_workspace_the_addresses_for_tests_of_the_environment(
    settings: Settings,
) -> None:
    settings.TEST_EMAILS = "a@acme.example; b@acme.example"
    run("setup")
    settings.TEST_EMAILS = "c@acme.example"
    run("setup")

    assert run("workspace", "tests", "default") == ["a@acme.example", "b@acme.example"]


def test_addresses_for_tests_are_set_shown_and_taken_away(acme: int) -> None:
    before = run("workspace", "tests", "acme")
    output = run(
        "workspace", "tests", "acme", "a@acme.example nobody,A@acme.example;b@acme.example"
    )
    shown = run("workspace", "tests", "acme")
    refused = refusal("workspace", "tests", "acme", "nobody, @")
    kept = queries.test_emails(acme)
    run("workspace", "tests", "acme", "")

    assert before == ['Workspace "acme" has no recipients of test sends.']
    assert output == shown == ["a@acme.example", "b@acme.example"]
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


def start_setup(address: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [Path(sys.executable).with_name("postledger"), "setup"],
        env={
            **os.environ,
            "DEBUG": "true",
            "DATABASE_URL": address,
            "FROM_EMAIL": "hello@acme.example",
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


@contextmanager
def setting_up(address: str) -> Iterator[psycopg.Connection]:
    """Somebody else who is in the middle of it."""
    with psycopg.connect(address) as other:
        other.execute("SELECT pg_advisory_xact_lock(hashtext('postledger_setup'))")
        yield other


def wait_for_waiters(database: psycopg.Connection, count: int) -> None:
    until = time.monotonic() + 600
    waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
    here = " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
    while database.execute(waiting + here).fetchone() != (count,):
        assert time.monotonic() < until, "they do not wait for one another"
        time.sleep(0.05)


@pytest.mark.slow
def test_containers_that_start_together_set_up_an_empty_database_once(empty_database: str) -> None:
    with setting_up(empty_database) as other:
        started = [start_setup(empty_database) for _ in range(2)]
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
