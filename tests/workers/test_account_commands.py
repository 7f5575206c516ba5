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
from psycopg import sql
from pytest_django import Settings

from postledger.accounts import keys, queries
from postledger.accounts.keys import Scope
from postledger.accounts.models import AuditEntry, ProviderAccount
from postledger.accounts.queries import Organisation
from postledger.config import env
from postledger.workers.management.commands import key as key_command

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
    found: list[str] = []
    with connection.cursor() as cursor:
        for table in TABLES:
            cursor.execute(f"SELECT row_to_json(t)::text FROM accounts_{table} AS t")
            found += [row for (row,) in cursor.fetchall()]
    return "\n".join(found)


@pytest.fixture
def acme(db: None) -> int:
    run("workspace", "create", "acme")
    found = queries.workspace_named("acme")
    assert found
    return found.id


@pytest.fixture
def password(tmp_path: Path) -> Path:
    file = tmp_path / "password"
    file.write_text("hunter2\n")
    return file


def relay(password: Path) -> list[str]:
    return [
        *(
            "account",
            "create",
            "acme",
            "relay",
            "--kind",
            "smtp",
            "--set",
            "host=smtp.acme.example",
        ),
        *("--set", "username=alice", "--secret", f"password={password}"),
    ]


@pytest.mark.django_db
def test_a_workspace_is_made_and_listed() -> None:
    assert run("workspace", "list") == [
        "There is no workspace yet; postledger workspace create makes one."
    ]

    assert run("workspace", "create", "acme") == ["Created the workspace acme."]

    assert run("workspace", "list") == [f"acme  since {datetime.now(UTC):%Y-%m-%d}"]


def test_a_command_signs_as_the_person_who_typed_it(acme: int) -> None:
    run("member", "add", "acme", "alice@acme.example", "--role", "owner")

    name = pwd.getpwuid(os.getuid()).pw_name
    actors = set(AuditEntry.objects.values_list("actor", flat=True))
    assert actors == {f"command line ({name})"}


def test_a_member_is_added_with_a_role(acme: int) -> None:
    told = run("member", "add", "acme", "alice@acme.example", "--role", "owner")

    assert told == ["Added alice@acme.example to acme as owner."]
    assert "invalid choice: 'king'" in refusal(
        "member", "add", "acme", "bob@acme.example", "--role", "king"
    )


def test_an_account_is_made_with_a_password_from_a_file(acme: int, password: Path) -> None:
    told = run(*relay(password))

    assert told == ["Created the account relay (smtp) of acme."]
    assert queries.provider_settings(ProviderAccount.objects.get()) == {
        "host": "smtp.acme.example",
        "username": "alice",
        "password": "hunter2",
    }


def test_a_password_is_read_from_standard_input(
    acme: int, password: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(*relay(password))
    monkeypatch.setattr(sys, "stdin", StringIO("swordfish\n"))

    told = run(
        *("account", "update", "acme", "relay", "--secret", "password=-", "--unset", "username"),
        *("--set", "timeouts.answer=300", "--set", "timeouts.quit=1"),
    )

    assert told == ["Updated the account relay of acme; its next mail uses it."]
    assert queries.provider_settings(ProviderAccount.objects.get()) == {
        "host": "smtp.acme.example",
        "password": "swordfish",
        "timeouts": {"answer": "300", "quit": "1"},
    }


def test_accounts_are_listed_without_their_settings(acme: int, password: Path) -> None:
    assert run("account", "list", "acme") == [
        "acme has no account; postledger account create makes one."
    ]
    run(*relay(password))
    run("sender", "create", "acme", "news@acme.example", "--account", "relay")

    (told,) = run("account", "list", "acme")

    assert told.startswith("relay  smtp  senders: 1  changed 20")
    assert "smtp.acme.example" not in told


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["--set", "password=hunter2"],
            "password is a secret, and a command line is seen and remembered: give it with --",
        ),
        (["--set", "hunter2"], "write a setting as NAME=VALUE, such as host=smtp.example.com"),
        (["--secret", "hunter2"], "write a setting as NAME=VALUE"),
        (
            ["--secret", "password=/nowhere/hunter2"],
            "the file for password cannot be read (FileNotFoundError): give the path",
        ),
        (["--set", "port=hunter2"], "host: Field required; port: Input should be a valid integer"),
    ],
)
def test_a_setting_that_cannot_be_used_is_named_and_not_repeated(
    acme: int, arguments: list[str], said: str
) -> None:
    told = refusal("account", "create", "acme", "relay", "--kind", "smtp", *arguments)

    assert said in told
    assert "hunter2" not in told
    assert not ProviderAccount.objects.exists()


def test_a_sender_is_made_together_with_its_server(acme: int) -> None:
    told = run(
        *("sender", "create", "acme", "news@acme.example", "--name", "Acme"),
        *("--smtp", "127.0.0.1:2525", "--tls", "none"),
    )

    assert told == ["Created the sender news@acme.example of acme."]
    assert run("sender", "list", "acme") == ["news@acme.example  “Acme”  through 127.0.0.1:2525"]
    (sender,) = queries.senders(acme)
    outgoing = queries.outgoing(sender.id)
    assert outgoing
    assert outgoing.settings == {"host": "127.0.0.1", "port": "2525", "tls": "none"}


def test_senders_share_one_sandbox(acme: int) -> None:
    run("sender", "create", "acme", "news@acme.example", "--sandbox")
    run("sender", "create", "acme", "shop@acme.example", "--sandbox")

    (account,) = queries.accounts(acme)
    assert (account.name, account.kind, account.sender_count) == ("sandbox", "sandbox", 2)


def test_a_sender_without_an_account_waits_until_one_is_attached(acme: int) -> None:
    told = run("sender", "create", "acme", "news@acme.example")

    assert told[1] == (
        "Its mail waits until it has an account:"
        " postledger sender attach acme news@acme.example --account NAME."
    )
    assert run("sender", "list", "acme") == ["news@acme.example  no account: its mail waits"]
    run("account", "create", "acme", "box", "--kind", "sandbox")
    assert run("sender", "attach", "acme", "NEWS@acme.example", "--account", "box") == [
        "The mail of news@acme.example now goes through box."
    ]
    assert run("sender", "list", "acme") == ["news@acme.example  through box"]


def test_a_refused_sender_leaves_no_account_behind(acme: int) -> None:
    assert "is not an email address" in refusal(
        *("sender", "create", "acme", "news", "--smtp", "127.0.0.1:2525", "--tls", "none")
    )

    assert not ProviderAccount.objects.exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["workspace", "create", "ACME"], "a workspace “ACME” already, and capitals make no"),
        (["member", "add", "acmee", "a@b.example"], "There is no workspace “acmee”; postledger"),
        (["account", "list", "acmee"], "postledger workspace list shows them."),
        (["sender", "list", "acmee"], "There is no workspace “acmee”"),
        (["key", "list", "acmee"], "There is no workspace “acmee”"),
        (
            ["sender", "create", "acme", "news@acme.example", "--account", "relay"],
            "acme has no account “relay”; postledger account list acme shows them.",
        ),
        (
            ["sender", "attach", "acme", "news@acme.example", "--account", "relay"],
            "acme has no sender news@acme.example; postledger sender list acme shows them.",
        ),
        (
            ["sender", "create", "acme", "news@acme.example", "--tls", "none"],
            "--tls belongs to --smtp HOST:PORT: give both, or neither.",
        ),
        (
            ["sender", "create", "acme", "news@acme.example", "--smtp", "localhost"],
            "'localhost' is not HOST:PORT; write it as 127.0.0.1:2525",
        ),
        (["account", "update", "acme", "relay"], "acme has no account “relay”"),
        (["key", "revoke", "pl_live_aaaaaaaa"], "There is no key 'pl_live_aaaaaaaa'; postledger"),
        (["key", "rotate", "pl_live_aaaaaaaa"], "postledger key list WORKSPACE shows a workspace"),
        (["key", "rotate", "x", "--overlap", "3w"], "'3w' is not a length of time: write it as"),
        (["key", "create", "acme", "--name", "x", "--scope", "all"], "invalid choice: 'all'"),
    ],
)
def test_a_refusal_says_what_to_do(acme: int, arguments: list[str], said: str) -> None:
    assert said in refusal(*arguments)


def test_a_token_stands_alone_on_standard_output(acme: int) -> None:
    out, err = both("key", "create", "acme", "--name", "shop", "--scope", "mail:send")

    caller = keys.recognise(out.strip(), now=datetime.now(UTC))
    assert caller
    assert caller.scopes == {"mail:send"}
    assert "Created a key of acme for shop: mail:send. Keep the token: it is shown this" in err


def test_a_test_key_says_so(acme: int) -> None:
    (token,) = run("key", "create", "acme", "--name", "shop", "--test")

    caller = keys.recognise(token, now=datetime.now(UTC))
    assert caller
    assert caller.is_test
    assert caller.scopes == set(Scope)


EVERYTHING = " ".join(sorted(Scope))


def test_a_key_is_listed_rotated_and_revoked(acme: int) -> None:
    assert run("key", "list", "acme") == ["acme has no key; postledger key create makes one."]
    (old,) = run("key", "create", "acme", "--name", "shop")
    prefix = old.partition(".")[0]

    out, err = both("key", "rotate", prefix, "--overlap", "1h")
    new = out.strip()
    listed = run("key", "list", "acme")

    now = datetime.now(UTC)
    assert keys.recognise(old, now=now)
    assert keys.recognise(old, now=now + timedelta(hours=1)) is None
    assert keys.recognise(new, now=now + timedelta(hours=1))
    assert f"{prefix} works on until 20" in err
    assert listed[0].startswith(f"{prefix}  shop  {EVERYTHING}  works until 20")
    assert listed[1] == f"{new.partition('.')[0]}  shop  {EVERYTHING}  works  never used"

    assert run("key", "revoke", new) == [
        f"Revoked {new.partition('.')[0]}; it is refused from now on."
    ]
    assert run("key", "revoke", new) == [f"{new.partition('.')[0]} was revoked before."]
    assert keys.recognise(new, now=now) is None
    assert "  revoked 20" in run("key", "list", "acme")[1]


def test_a_key_whose_overlap_is_over_is_listed_as_ended(acme: int) -> None:
    (token,) = run("key", "create", "acme", "--name", "shop")
    run("key", "rotate", token, "--overlap", "0h")

    old, _ = queries.keys(acme)

    assert key_command.standing(old, datetime.now(UTC)).startswith("ended 20")


def test_no_secret_is_stored_logged_or_shown_twice(
    acme: int, password: Path, caplog: pytest.LogCaptureFixture
) -> None:
    told: list[str] = []
    with caplog.at_level(logging.DEBUG):
        told += both(*relay(password))
        told += both("account", "update", "acme", "relay", "--secret", f"password={password}")
        told += both("account", "reseal")
        told += both("account", "list", "acme")
        out, _ = pair = both("key", "create", "acme", "--name", "shop")
        token = out.strip()
        told += [*pair, *both("key", "rotate", token)]
        told += [*both("key", "list", "acme"), *both("key", "revoke", token)]
        told.append(refusal("key", "rotate", token))

    secret = token.partition(".")[2]
    shown, kept = "\n".join(told), everything_stored()
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

    told = run("setup")

    assert told[:2] == ["The tables were up to date.", "There was room for the coming months."]
    assert told[2] == (
        "Created the workspace default with the sender hello@acme.example;"
        " postledger sender attach names the account that takes its mail."
    )
    assert run("setup")[2] == (
        "There was a workspace already; FROM_EMAIL, ORG_NAME and others were not looked at."
    )
    assert run("sender", "list", "default") == [
        "hello@acme.example  “Acme”  no account: its mail waits"
    ]


@pytest.mark.django_db
def test_setup_without_a_sender_says_how_to_make_one(settings: Settings) -> None:
    settings.FROM_EMAIL = settings.FROM_NAME = ""

    assert run("setup")[2] == (
        "Created the workspace default; postledger sender create gives it a sender."
    )


@pytest.mark.django_db
def test_setup_with_a_wrong_address_names_its_variable(settings: Settings) -> None:
    settings.FROM_EMAIL = "hello"

    assert refusal("setup") == (
        "No workspace was made of the environment's variables: 'hello' is not an email address."
        " Correct them and run postledger setup again."
    )


@pytest.mark.django_db
def test_setup_gives_the_first_workspace_the_footer_of_the_environment(settings: Settings) -> None:
    settings.ORG_NAME, settings.ORG_ADDRESS = "Acme Ltd", "1 Main Street"
    settings.UNSUBSCRIBE_BASE_URL = "https://mail.acme.example/unsubscribe"
    run("setup")
    settings.ORG_NAME = "Somebody else"
    run("setup")

    found = queries.workspace_named("default")

    assert found
    assert queries.organisation(found.id) == Organisation(
        "Acme Ltd", "1 Main Street", "https://mail.acme.example/unsubscribe", is_default=True
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
    told = run("workspace", "tests", "acme", "a@acme.example nobody,A@acme.example;b@acme.example")
    shown = run("workspace", "tests", "acme")
    refused = refusal("workspace", "tests", "acme", "nobody, @")
    kept = queries.test_emails(acme)
    run("workspace", "tests", "acme", "")

    assert before == ["Tests of campaigns have no addresses of their own here."]
    assert told == shown == ["a@acme.example", "b@acme.example"]
    assert "no address that a test could go to" in refused
    assert (kept, queries.test_emails(acme)) == ("a@acme.example, b@acme.example", "")
    noted = AuditEntry.objects.filter(action="workspace.tests_changed")
    assert noted.count() == 2
    assert "acme.example" not in str(list(noted.values_list("data", flat=True)))


def test_a_time_zone_is_one_that_the_iana_names(acme: int) -> None:
    assert run("workspace", "zone", "acme", "Europe/Lisbon")[0].endswith("are in Europe/Lisbon.")

    for wrong in ("Lisbon", "", "../etc/passwd", "UTC+1"):
        assert "is no time zone" in refusal("workspace", "zone", "acme", wrong)

    assert queries.time_zone(acme) == "Europe/Lisbon"
    assert AuditEntry.objects.filter(action="workspace.zone_changed").count() == 1


@pytest.mark.django_db
def test_a_footer_is_changed_line_by_line() -> None:
    run("workspace", "create", "acme")
    run("workspace", "footer", "acme", "--org-name", "Acme")

    told = run("workspace", "footer", "acme", "--unsubscribe-url", "https://acme.example/u")

    assert told == ["Acme — no address", "Unsubscribe: https://acme.example/u"]


@pytest.mark.parametrize(
    "wrong",
    [
        ("--unsubscribe-url", "javascript:alert(1)"),
        ("--unsubscribe-url", "https://acme.example/u?a=b"),
        ("--unsubscribe-url", "https://acme.example/u\r\nBcc: x"),
        ("--unsubscribe-url", "https://acme.example/" + "a" * 500),
        ("--org-name", "Acme\nLtd"),
        ("--org-name", "{{ name }}"),
        ("--org-address", "a" * 201),
    ],
)
@pytest.mark.django_db
def test_a_footer_that_would_break_mail_is_refused(wrong: tuple[str, str]) -> None:
    run("workspace", "create", "acme")

    assert "cannot" in refusal("workspace", "footer", "acme", *wrong)


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
    until = time.monotonic() + 60
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

    told = sorted(process.communicate(timeout=120)[0] for process in started)

    assert [process.returncode for process in started] == [0, 0], told
    assert told[0].startswith("Brought the tables up to date; migrations applied: ")
    assert "\nMade room for 20" in told[0]
    assert "Created the workspace default with the sender hello@acme.example;" in told[0]
    assert told[1].startswith("The tables were up to date.")


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

    told = capsys.readouterr().out.splitlines()
    assert told[:3] == [
        "Created the workspace acme.",
        "Created the account relay (smtp) of acme.",
        "Created the sender news@acme.example of acme.",
    ]
    assert keys.recognise(told[3], now=datetime.now(UTC))
