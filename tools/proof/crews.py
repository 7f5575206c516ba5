"""What the proofs of campaigns share: their size, a workspace that sends, dispatchers at work.

Each is a test that is small in continuous integration. With PROOF=full in the environment it has
its full size and real worker processes, and `pytest -s -n 0` shows the figures.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from django.conf import settings

from postledger.accounts import workspaces
from postledger.accounts.queries import Organisation
from postledger.workers import tasks
from tests.dispatch import office
from tests.journeys import rig, stage

IS_FULL = os.environ.get("PROOF") == "full"
SECRET = "only-for-tests, and long enough here"

type Beat = Callable[[], None]


def workspace(name: str, kind: str = "sandbox", **account: object) -> int:
    """A workspace with a footer and one sender."""
    settings.UNSUBSCRIBE_SECRET = SECRET
    owner = stage.sender(name, kind, **account)
    footer = Organisation("Acme", "1 Main St", "https://acme.example/unsubscribe")
    workspaces.set_organisation(owner.workspace_id, footer, actor="proof")
    return owner.workspace_id


@contextmanager
def at_work(folder: Path, *, count: int = 2) -> Iterator[Beat]:
    """Dispatchers of the proof's size; who waits for them calls what is given, as beat would."""
    crew = _in_processes(folder, count) if IS_FULL else in_threads(count)
    with crew as beat:
        yield beat


@contextmanager
def in_threads(count: int) -> Iterator[Beat]:
    with ExitStack() as stack:
        pool = [
            stack.enter_context(office.dispatching(name=f"worker-{number}"))
            for number in range(count)
        ]

        def beat() -> None:
            for task in (tasks.sweep, tasks.drain, tasks.plan, tasks.fold):
                task()
            for dispatcher in pool:
                dispatcher.tick()

        yield beat


@contextmanager
def _in_processes(folder: Path, count: int) -> Iterator[Beat]:
    extra = {"UNSUBSCRIBE_SECRET": SECRET, "LOG_LEVEL": "WARNING"}
    with rig.installation(folder, stage.database(), **extra) as installed:
        for _ in range(count):
            installed.worker("--beat")
        yield lambda: None


def wait(beat: Beat, *stream_ids: int, seconds: float = 60.0) -> float:
    """Waits until no mail of the streams waits, and returns how long that took."""

    def is_done() -> bool:
        beat()
        return not office.waiting(*stream_ids)

    return rig.until(is_done, seconds=seconds)
