"""The doctor and broken brokers and Redis servers: each is found, with its remedy."""

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from kombu import Connection, Queue
from pytest_django import Settings

from postledger.cli.doctor import broker
from postledger.lib.check_results import Level
from tests.cli import installations
from tests.cli.installations import DEAD, doctor

pytestmark = pytest.mark.django_db


@pytest.mark.slow
def test_a_broker_that_does_not_let_in_is_told_with_its_remedy(settings: Settings) -> None:
    for broker_url, words in (
        (installations.broker_url(port=1), "Start RabbitMQ, or correct BROKER_URL."),
        (installations.broker_url(port=1), "mail is sent some seconds later"),
        (
            installations.broker_url(login="guest:hunter2"),
            "Correct user and password in BROKER_URL.",
        ),
        (installations.broker_url(host="nowhere"), "rabbitmqctl add_vhost nowhere"),
    ):
        settings.CELERY_BROKER_URL = broker_url
        report = doctor()
        assert report.level("broker") == "warning", words
        assert words in report.text("broker")
        assert "hunter2" not in report.output


@pytest.fixture
def rabbitmq() -> Iterator[Connection]:
    with Connection(installations.broker_url(), connect_timeout=3) as connected:
        yield connected


def test_looking_at_a_queue_that_is_not_there_makes_none(rabbitmq: Connection) -> None:
    queue = Queue(f"doctor-{uuid4().hex}", durable=True)

    for _ in range(2):
        [finding] = broker._check_queue(rabbitmq, queue)
        assert finding.level is Level.WARNING
        assert "Start a worker" in finding.remedy


def test_a_queue_of_another_kind_is_to_be_deleted(rabbitmq: Connection) -> None:
    name = f"doctor-{uuid4().hex}"
    quorum = Queue(name, durable=True, queue_arguments={"x-queue-type": "quorum"})
    classic = Queue(name, durable=True)
    declared = classic.bind(rabbitmq.channel())
    declared.queue_declare()
    try:
        [finding] = broker._check_queue(rabbitmq, quorum)
        assert list(broker._check_queue(rabbitmq, classic)) == []
    finally:
        classic.bind(rabbitmq.channel()).delete()

    assert finding.level is Level.PROBLEM
    assert f"rabbitmqctl delete_queue {name}" in finding.remedy


def test_a_dead_redis_is_to_be_started_and_named_by_its_own_variable(settings: Settings) -> None:
    living = settings.REDIS_URL
    settings.REDIS_URL = settings.CELERY_BROKER_URL = f"redis://{DEAD}/0"
    both = doctor()
    settings.REDIS_URL = living
    broker_alone = doctor()

    for subject in ("redis", "broker"):
        assert both.level(subject) == "warning"
        assert ": mail is sent" in both.text(subject)
        assert "Start Redis, or correct REDIS_URL." in both.text(subject)
    assert "Start Redis, or correct BROKER_URL." in broker_alone.text("broker")


def test_a_redis_that_evicts_is_to_be_told_not_to(settings: Settings, tmp_path: Path) -> None:
    evicting = ["--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"]
    with installations.redis(tmp_path, *evicting) as url:
        settings.REDIS_URL = settings.CELERY_BROKER_URL = url
        report = doctor()

    # The broker's Redis has wake-ups alone, and without them mail is only sent later.
    assert (report.level("redis"), report.level("broker")) == ("problem", "warning")
    for subject in ("redis", "broker"):
        assert "allkeys-lru" in report.text(subject)
        assert "redis-cli config set maxmemory-policy noeviction" in report.text(subject)


def test_a_redis_that_wants_another_password_is_named(tmp_path: Path, settings: Settings) -> None:
    with installations.redis(tmp_path, "--requirepass", "right") as url:
        settings.REDIS_URL = url.replace("//", "//:hunter2@")
        report = doctor()

    assert report.level("redis") == "warning"
    assert "Correct user and password in REDIS_URL." in report.text("redis")
    assert "hunter2" not in report.output


def test_a_policy_that_cannot_evict_yet_is_a_warning() -> None:
    assert broker.judge_eviction("redis", "volatile-ttl", 0).level is Level.WARNING
    assert broker.judge_eviction("redis", "noeviction", 100).level is Level.OK
