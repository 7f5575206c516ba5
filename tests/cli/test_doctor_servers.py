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

# Where Redis is looked for: the finding's subject, Django's setting, and the variable it is from.
REDIS_SERVERS = [
    ("redis", "REDIS_URL", "REDIS_URL"),
    ("broker", "CELERY_BROKER_URL", "BROKER_URL"),
]


@pytest.mark.django_db
def test_a_dead_broker_is_to_be_started(settings: Settings) -> None:
    settings.CELERY_BROKER_URL = installations.broker_url(port=1)

    report = doctor()

    assert report.level("broker") == "warning"
    assert "mail is sent some seconds later" in report.text("broker")
    assert "Start RabbitMQ, or correct BROKER_URL." in report.text("broker")


@pytest.mark.django_db
def test_a_wrong_broker_password_is_named_but_not_shown(settings: Settings) -> None:
    settings.CELERY_BROKER_URL = installations.broker_url(login="guest:hunter2")

    report = doctor()

    assert report.level("broker") == "warning"
    assert "Correct user and password in BROKER_URL." in report.text("broker")
    assert "hunter2" not in report.output


@pytest.mark.django_db
def test_an_unknown_virtual_host_is_to_be_made(settings: Settings) -> None:
    settings.CELERY_BROKER_URL = installations.broker_url(host="nowhere")

    report = doctor()

    assert report.level("broker") == "warning"
    assert "rabbitmqctl add_vhost nowhere" in report.text("broker")


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


@pytest.mark.django_db
@pytest.mark.parametrize(("subject", "setting", "variable"), REDIS_SERVERS)
def test_a_dead_redis_is_to_be_started(
    subject: str, setting: str, variable: str, settings: Settings
) -> None:
    setattr(settings, setting, f"redis://{DEAD}/0")

    report = doctor()

    assert report.level(subject) == "warning"
    assert ": mail is sent" in report.text(subject)
    assert f"Start Redis, or correct {variable}." in report.text(subject)


@pytest.mark.django_db
def test_a_redis_that_is_the_broker_too_is_named_by_its_own_variable(settings: Settings) -> None:
    settings.REDIS_URL = settings.CELERY_BROKER_URL = f"redis://{DEAD}/0"

    report = doctor()

    for subject in ("redis", "broker"):
        assert "Start Redis, or correct REDIS_URL." in report.text(subject)


@pytest.mark.django_db
@pytest.mark.parametrize(("subject", "setting", "variable"), REDIS_SERVERS)
def test_a_redis_that_evicts_is_to_be_told_not_to(
    subject: str, setting: str, variable: str, settings: Settings, tmp_path: Path
) -> None:
    evicting = ["--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"]
    with installations.redis(tmp_path, *evicting) as url:
        setattr(settings, setting, url)
        report = doctor()

    # The broker's Redis has wake-ups alone, and without them mail is only sent later.
    assert report.level(subject) == ("problem" if subject == "redis" else "warning")
    assert "allkeys-lru" in report.text(subject)
    assert "redis-cli config set maxmemory-policy noeviction" in report.text(subject)


@pytest.mark.django_db
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
