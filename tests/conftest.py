"""What every test stands on: a made-up secret key, RabbitMQ, and a database without a pool."""

import gc
import os
import re
from collections import defaultdict
from collections.abc import Generator, Iterator
from pathlib import Path

import hypothesis
import pytest
from django.conf import settings
from pytest_django.plugin import DjangoDbBlocker

from postledger.accounts import hash_key
from postledger.deliveries import partitions
from tests import flushing, middleware_chain

# How long an example takes says how busy the machine is, and nothing about the claim.
hypothesis.settings.register_profile("unhurried", deadline=None)
hypothesis.settings.load_profile("unhurried")

_NONE_IS_QUICK = re.compile(r"^pytestmark = .*mark\.(?:django_db|race|server|slow)\b", re.MULTILINE)
# Seconds.
SLOW = 2.0
# The default broker is Redis; the tests use what larger installations use.
_RABBITMQ = "amqp://guest:guest@127.0.0.1:5672//"


def pytest_configure() -> None:
    settings.SECRET_KEY = "only-for-tests-" + "x" * 50
    settings.CELERY_BROKER_URL = os.environ.setdefault("BROKER_URL", _RABBITMQ)
    # No command that a test starts reads a file that happens to lie here.
    os.environ["POSTLEDGER_ENV"] = ""
    # Redis counts for all tests.
    settings.API_RATE = "1000000/minute"
    settings.FORM_MAILS_OF_ONE = settings.PROVIDER_CHECKS_OF_ONE = "1000000/minute"
    settings.LINK_CHECKS_OF_ONE = "1000000/minute"
    for kind in ("KEYS_OF_ONE", "KEYS_OF_ALL", "PASSWORDS_OF_ONE", "PASSWORDS_OF_ALL"):
        setattr(settings, f"WRONG_{kind}", "1000000/minute")
    # A pool holds connections open, and PostgreSQL drops no database that is in use.
    for database in settings.DATABASES.values():
        options = database["OPTIONS"]
        assert isinstance(options, dict)
        options.pop("pool", None)
    middleware_chain.use()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Does not even load a file of tests that are all slow or need a server, for `just quick`."""
    if config.option.markexpr != "not server and not slow" or collection_path.suffix != ".py":
        return None
    return bool(_NONE_IS_QUICK.search(collection_path.read_text("utf-8"))) or None


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Nothing that is collected goes before the end: looking for garbage in it takes seconds."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Iterator[None]:
    """Marks what needs PostgreSQL; what needs another server says so itself."""
    for item in items:
        if {"django_db", "race"} & {marker.name for marker in item.iter_markers()} or (
            {"db", "transactional_db"} & set(getattr(item, "fixturenames", ()))
        ):
            item.add_marker("server")
    yield  # `-m` chooses here
    _deal_slow_ones(items, int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Names the tests that everybody waits for before a commit and that nobody marked as slow."""
    reports = [report for report in terminalreporter.getreports("passed") if report.when == "call"]
    for report in sorted(reports, key=lambda report: -report.duration):
        if report.duration > SLOW and "slow" not in report.keywords:
            terminalreporter.write_line(f"not marked slow: {report.duration:.1f} s {report.nodeid}")


def _deal_slow_ones(items: list[pytest.Item], worker_count: int) -> None:
    """Every worker begins with its share of the slow files: nobody waits for one at the end.

    Workers get equal parts of the list, in its order.
    """
    slow: dict[Path, list[pytest.Item]] = defaultdict(list)
    fast: list[pytest.Item] = []
    for item in items:
        (slow[item.path] if item.get_closest_marker("slow") else fast).append(item)
    files, share = list(slow.values()), -(-len(fast) // worker_count)
    items[:] = [
        item
        for number in range(worker_count)
        for group in (*files[number::worker_count], fast[number * share :][:share])
        for item in group
    ]


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> None:
    """Makes the months and reads the hash key once: tests would do it again and again, and those
    that count statements would count it where they come first.
    """
    flushing.use()
    with django_db_blocker.unblock():
        partitions.create_missing()
        hash_key.read()
