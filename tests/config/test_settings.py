"""The settings file as a process sees it, started with a given environment."""

import json
import os
import subprocess
import sys
from typing import Any

import pytest

pytestmark = pytest.mark.slow

READ = """
import json
from postledger.config import settings
names = (
    "DEBUG", "SECRET_KEY", "SECRET_KEY_FALLBACKS", "ALLOWED_HOSTS", "DATABASES",
    "CELERY_BROKER_URL", "FROM_EMAIL", "FROM_NAME", "SEND_RATE_PER_SEC",
)
values = {name: getattr(settings, name) for name in names}
values["largest_window"] = settings.DISPATCH_OPTIONS.largest_window
print(json.dumps(values, default=str))
"""


def read(**variables: str) -> dict[str, Any]:
    output = run([sys.executable, "-c", READ], **variables)
    return dict(json.loads(output.stdout))


def run(command: list[str], **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": os.environ["PATH"], "POSTLEDGER_ENV": "", **variables}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_the_environment_reaches_the_settings() -> None:
    settings = read(
        SECRET_KEY="a key",
        SECRET_KEY_PREVIOUS=" older, ,oldest,",
        ALLOWED_HOSTS="mail.acme.example",
        DATABASE_URL="postgresql://alice@db:6432/books?sslmode=require",
        DATABASE_POOL_SIZE="8",
        REDIS_URL="redis://cache:6379/3",
        BROKER_URL="redis://broker",
        BATCH_SIZE="7",
        SEND_RATE_PER_SEC="14",
        FROM_EMAIL="hello@acme.example",
        FROM_NAME="Acme",
    )

    database = settings["DATABASES"]["default"]
    assert settings["SECRET_KEY"] == "a key"
    assert settings["SECRET_KEY_FALLBACKS"] == ["older", "oldest"]
    assert settings["ALLOWED_HOSTS"] == ["mail.acme.example"]
    assert settings["CELERY_BROKER_URL"] == "redis://broker"
    assert (settings["largest_window"], settings["SEND_RATE_PER_SEC"]) == (7, 14)
    assert (settings["FROM_EMAIL"], settings["FROM_NAME"]) == ("hello@acme.example", "Acme")
    assert (database["USER"], database["HOST"], database["PORT"]) == ("alice", "db", "6432")
    assert database["NAME"] == "books"
    assert database["OPTIONS"]["sslmode"] == "require"
    assert database["OPTIONS"]["pool"]["max_size"] == 8


def test_without_an_environment_there_is_no_key_no_pool_and_redis_is_the_broker() -> None:
    settings = read(REDIS_URL="redis://cache:6379/3")

    assert (settings["SECRET_KEY"], settings["SECRET_KEY_FALLBACKS"]) == ("", [])
    assert settings["CELERY_BROKER_URL"] == "redis://cache:6379/3"
    assert "pool" not in settings["DATABASES"]["default"]["OPTIONS"]
    assert read(DEBUG="true")["SECRET_KEY"], "development has one of its own"


@pytest.mark.parametrize(
    ("given", "hosts"),
    [
        ({}, ["localhost", "127.0.0.1", "[::1]"]),
        ({"PUBLIC_URL": "https://mail.acme.example:8443/x"}, ["mail.acme.example"]),
        ({"PUBLIC_URL": "http://[::1]:8000"}, ["localhost", "127.0.0.1", "[::1]"]),
        (
            {"ALLOWED_HOSTS": "a.example,b.example", "PUBLIC_URL": "https://c.example"},
            ["a.example", "b.example", "c.example"],
        ),
    ],
)
def test_the_host_of_the_public_url_is_served_without_being_listed(
    given: dict[str, str], hosts: list[str]
) -> None:
    assert read(SECRET_KEY="a key", **given)["ALLOWED_HOSTS"] == hosts


@pytest.mark.parametrize(
    ("query", "options"),
    [
        ("", "-c jit=off -c synchronous_commit=on"),
        ("?options=-c%20work_mem%3D8MB", "-c jit=off -c work_mem=8MB -c synchronous_commit=on"),
        (
            "?options=-c%20synchronous_commit%3Doff",
            "-c jit=off -c synchronous_commit=off -c synchronous_commit=on",
        ),
    ],
)
def test_every_connection_asks_for_commits_that_last_and_compiles_nothing(
    query: str, options: str
) -> None:
    database = read(DATABASE_URL=f"postgresql://alice@db/books{query}")["DATABASES"]["default"]

    assert database["OPTIONS"]["options"] == options


def test_the_command_refuses_a_bad_environment_without_a_traceback() -> None:
    command = [sys.executable, "-c", "from postledger.config.main import main; main()", "check"]

    result = run(command, DEBUG="perhaps", DATABASE_URL="sqlite:///books.db")

    assert result.returncode == 1
    assert "DEBUG:" in result.stderr
    assert "DATABASE_URL:" in result.stderr
    assert "Traceback" not in result.stderr
