"""Every task has a schedule or a caller, and every task's queue is consumed."""

import re
from pathlib import Path

from postledger.workers import celery_settings, tasks

SOURCE = Path(__file__).parents[2] / "src" / "postledger"
TASKS = set(
    re.findall(r'@shared_task\(name="([^"]+)"\)', (SOURCE / "workers" / "tasks.py").read_text())
)


def test_every_task_has_a_schedule_or_a_caller() -> None:
    sent = re.findall(r'send_task\(\s*"([^"]+)"', (SOURCE / "workers" / "tasks.py").read_text())
    scheduled = [entry["task"] for entry in tasks.SCHEDULE.values()]

    assert sorted([*sent, *map(str, scheduled)]) == sorted(TASKS)


def test_every_queue_a_task_goes_to_is_consumed() -> None:
    settings = celery_settings.settings("amqp://", "postledger")
    routes, queues = settings["task_routes"], settings["task_queues"]
    assert isinstance(routes, dict)
    assert isinstance(queues, list)

    wanted = {settings["task_default_queue"], *(route["queue"] for route in routes.values())}

    assert wanted == {queue.name for queue in queues}
    assert set(routes) <= TASKS


def test_only_the_outermost_packages_know_celery() -> None:
    """Time and retries live in the ledger: nothing below sends, delays or retries a task."""
    assert importers("celery") == {"config", "workers"}
    # The doctor looks at the queues that workers declare. Workers check messages before Celery.
    assert importers("kombu") == {"cli", "lib", "workers"}


def importers(library: str) -> set[str]:
    return {
        path.relative_to(SOURCE).parts[0]
        for path in SOURCE.rglob("*.py")
        if re.search(rf"^\s*(?:from|import) {library}\b", path.read_text(), re.MULTILINE)
    }
