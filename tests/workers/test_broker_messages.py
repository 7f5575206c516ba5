"""Whatever stands in its queues, a worker goes on, and its log does not repeat it."""

import json
import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.conf import settings
from kombu import Connection
from kombu.message import Message
from redis import Redis

from postledger.dispatch.models import Worker
from postledger.workers import broker_messages
from tests.workers import brokers
from tests.workers.worker_processes import child, end_process, within, worker

SECRET = "hunter2"
TASKS = frozenset({"postledger.wake", "postledger.tick"})
NO_EMBEDDED = {"callbacks": None, "errbacks": None, "chain": None, "chord": None}
WAKE = [[1], {}, NO_EMBEDDED]


def headers(**changes: object) -> dict[str, Any]:
    usual = {"task": "postledger.wake", "id": str(uuid4()), "lang": "py", "retries": 0}
    return {**usual, **changes}


def call(secret: str = SECRET) -> dict[str, object]:
    return {"task": "postledger.tick", "args": [secret], "kwargs": {}}


BODIES: list[Any] = [
    {"not": "a list", SECRET: 1},
    {"args": [SECRET]},
    {"args": 5, "kwargs": 5},
    *(SECRET, 5, None, [], [1], [[1], {}], [[1], [], {}], [1, {}, {}], [[1], {}, SECRET]),
    *([[SECRET], {}, {}], [[1, 2], {}, {}], [[-1], {}, {}], [[2**70], {}, {}]),
    *([[True], {}, {}], [[1.5], {}, {}], [[], {}, {}], [[1], {"stream_id": 1}, {}]),
    [[1], {}, {**NO_EMBEDDED, "callbacks": [call()]}],
    [[1], {}, {**NO_EMBEDDED, "chain": [call()]}],
    [[1], {}, {**NO_EMBEDDED, "chord": call()}],
]
# The body, its content type, and the headers.
MALFORMED: list[tuple[bytes, str, dict[str, Any]]] = [
    *((json.dumps(body).encode(), "application/json", headers()) for body in BODIES),
    *(
        (json.dumps(WAKE).encode(), "application/json", given)
        for given in (
            {},
            {"task": "postledger.wake"},
            {"task": None, "id": "1"},
            {"task": ["postledger.wake"], "id": "1"},
            headers(task="os.system"),
            headers(task="celery.map"),
            headers(task="postledger.nosuch"),
            headers(id=5),
            headers(id=SECRET * 100),
            headers(expires=5),
            headers(expires={"a": SECRET}),
            headers(expires=SECRET),
            headers(eta=SECRET),
            headers(eta="9999-99-99"),
            headers(timelimit=SECRET),
            headers(timelimit=[1, 1]),
            headers(shadow=SECRET),
            headers(compression="zlib"),
            headers(stamps={"a": SECRET}),
        )
    ),
    (b"{", "application/json", headers()),
    (b"\xff\xfe", "application/json", headers()),
    (b"[" * 5_000, "application/json", headers()),
    (json.dumps([[1], {}, {"x": SECRET * 5_000}]).encode(), "application/json", headers()),
    (pickle.dumps(WAKE), "application/x-python-serialize", headers()),
    (b"!!python/object/apply:os.system ['true']", "application/x-yaml", headers()),
    (SECRET.encode(), "text/plain", headers()),
    (SECRET.encode(), "application/data", headers()),
    (b"", "application/json", headers()),
]


def test_a_message_that_is_none_of_ours_has_a_fault() -> None:
    for body, content_type, given in MALFORMED:
        message = Message(
            body,  # type: ignore[arg-type]  # bytes indeed
            content_type=content_type,
            content_encoding="utf-8",
            headers=given,
        )

        fault = broker_messages.find_fault(message, TASKS)

        assert fault, (body, content_type, given)
        assert SECRET not in fault


@contextmanager
def queues_at(broker: str) -> Iterator[tuple[str, str]]:
    """The URL of a broker, and a prefix for queues of the test's own there."""
    if broker == "RabbitMQ":
        with brokers.own_queues() as prefix:
            yield settings.CELERY_BROKER_URL, prefix
        return
    prefix = f"postledger-test-{uuid4().hex[:12]}"
    with Redis.from_url(settings.REDIS_URL) as redis:
        try:
            yield settings.REDIS_URL, prefix
        finally:
            redis.delete(*redis.keys(f"*{prefix}*"), "unacked", "unacked_index", "unacked_mutex")


def publish_malformed(url: str, prefix: str) -> None:
    # Without its confirms, RabbitMQ may lose the last message of a connection that is closed.
    with Connection(url, transport_options={"confirm_publish": True}) as connection:
        producer = connection.Producer()
        for body, content_type, given in MALFORMED:
            producer.publish(
                body,
                exchange=prefix,
                routing_key=f"{prefix}.wake-ups",
                content_type=content_type,
                content_encoding="utf-8",
                headers=given,
            )
    if url.startswith("redis"):
        with Redis.from_url(url) as redis:
            for item in (b"", b"\xff", b"{", b"5", b"{}", b'{"properties": {}}', b'{"body": 5}'):
                redis.lpush(f"{prefix}.wake-ups", item)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("broker", ["RabbitMQ", "Redis"])
@pytest.mark.slow
def test_a_worker_drops_malformed_messages_goes_on_and_writes_json_alone(
    broker: str, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    with (
        queues_at(broker) as (url, prefix),
        worker(log, prefix=prefix, broker=url) as process,
    ):
        assert within(120, lambda: b" ready." in log.read_bytes())
        before = child(process)
        publish_malformed(url, prefix)
        app = brokers.celery_app(prefix, url)
        published_at = datetime.now(UTC)

        def has_ticked() -> bool:
            app.send_task("postledger.tick", expires=60)
            return Worker.objects.filter(ticked_at__gt=published_at).exists()

        has_gone_on = within(120, has_ticked)
        drops = within(
            60,
            lambda: log.read_bytes().count(b"message of the broker was dropped") >= len(MALFORMED),
        )
        after = child(process)
        code = end_process(process)
        app.close()

    written = log.read_text()
    events = [json.loads(line)["event"] for line in written.splitlines()]
    assert has_gone_on
    assert drops, written[-3_000:]
    assert after == before
    assert code == 0
    assert SECRET not in written
    assert [event for event in events if event.endswith(" ready.")], "a line of Celery"
    assert "dispatcher stopped" in events
