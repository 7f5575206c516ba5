"""System checks: each bad setting is found by its id, with a hint."""

from collections.abc import Sequence

import pytest
from django.core.checks import CheckMessage, run_checks
from django.core.checks.registry import registry
from django.db import connections
from pytest_django import DjangoDbBlocker, Settings

from postledger.config import checks
from postledger.config.command_line import CommandLine
from postledger.lib.check_results import SETTINGS_TAG


def ids(messages: Sequence[CheckMessage]) -> list[str | None]:
    assert all(message.hint for message in messages)
    return [message.id for message in messages]


@pytest.mark.parametrize(
    ("key", "expected"),
    [("", ["postledger.E001"]), ("x" * 49, ["postledger.E002"]), ("x" * 50, [])],
)
def test_a_missing_or_short_secret_key_is_found(
    key: str, expected: list[str], settings: Settings
) -> None:
    settings.SECRET_KEY = key

    assert ids(checks.secret_key()) == expected


def test_development_needs_no_secret_key(settings: Settings) -> None:
    settings.DEBUG = True
    settings.SECRET_KEY = ""

    assert checks.secret_key() == []


def test_an_unknown_broker_and_an_unknown_redis_are_found(settings: Settings) -> None:
    broker, redis = settings.CELERY_BROKER_URL, settings.REDIS_URL
    for url in ("", "sqs://", "http://127.0.0.1", "127.0.0.1:5672"):
        settings.CELERY_BROKER_URL = url
        assert ids(checks.addresses()) == ["postledger.E004"], url
    settings.CELERY_BROKER_URL = broker
    for url in ("", "amqp://127.0.0.1", "127.0.0.1:6379"):
        settings.REDIS_URL = url
        assert ids(checks.addresses()) == ["postledger.E005"], url
    settings.REDIS_URL = redis
    for scheme in ("amqp", "amqps", "redis", "rediss"):
        settings.CELERY_BROKER_URL = f"{scheme}://127.0.0.1"
        assert checks.addresses() == [], scheme


def test_an_old_server_is_found() -> None:
    for version, expected in (
        (14, ["postledger.E007"]),
        (15, []),
        (18, []),
    ):
        assert ids(checks.version_problems(version)) == expected, version


def test_a_server_without_btree_gist_is_found() -> None:
    assert ids(checks.extension_problems({"plpgsql"})) == ["postledger.E008"]
    assert checks.extension_problems({"plpgsql", "btree_gist"}) == []


@pytest.mark.django_db
def test_this_server_passes() -> None:
    assert checks.database_server(databases=["default"]) == []


def test_a_server_that_does_not_answer_is_found(django_db_blocker: DjangoDbBlocker) -> None:
    lost = connections["default"].copy()
    lost.settings_dict = {**lost.settings_dict, "HOST": "127.0.0.1", "PORT": "1"}
    with django_db_blocker.unblock():
        problems = checks.connection_problems(lost)

    assert ids(problems) == ["postledger.E006"]


def test_without_named_databases_no_server_is_asked() -> None:
    assert checks.database_server(databases=None) == []


@pytest.mark.slow
def test_django_runs_the_checks(settings: Settings) -> None:
    settings.SECRET_KEY = ""
    settings.CELERY_BROKER_URL = "sqs://"

    ids_ = {message.id for message in run_checks()}

    assert {"postledger.E001", "postledger.E004"} <= ids_
    assert checks.addresses in registry.get_checks()


def test_our_commands_check_the_settings_and_load_no_url_for_it() -> None:
    for name in (
        "key",
        "setup",
        "up",
    ):
        assert CommandLine().fetch_command(name).requires_system_checks == (SETTINGS_TAG,), name


@pytest.mark.django_db
def test_django_runs_the_server_check_when_a_database_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(checks, "OLDEST_POSTGRESQL", 99)

    ids_ = {message.id for message in run_checks(databases=["default"])}

    assert "postledger.E007" in ids_
