"""Everything that a worker writes is JSON, the lines of Celery and of its libraries too."""

import json
from pathlib import Path

import pytest

from tests.workers.test_broker_messages import queues_at
from tests.workers.worker_processes import end_process, within, worker

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]


@pytest.mark.parametrize("broker", ["RabbitMQ", "Redis"])
def test_every_line_of_a_worker_is_json(broker: str, tmp_path: Path) -> None:
    log = tmp_path / "log"
    with (
        queues_at(broker) as (url, prefix),
        worker(log, "--beat", prefix=prefix, broker=url) as process,
    ):
        assert within(600, lambda: b" ready." in log.read_bytes())
        end_process(process)

    events = [json.loads(line)["event"] for line in log.read_text().splitlines()]
    assert [event for event in events if event.endswith(" ready.")]
    assert "dispatcher stopped" in events
