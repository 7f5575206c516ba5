"""The dispatcher inside a Celery worker: one event loop in a thread of its own."""

import asyncio
import os
import socket
import threading
import time
from collections.abc import Callable
from typing import Any, override

import structlog
import uvloop
from celery.bootsteps import StartStopStep
from celery.worker import WorkController
from django.conf import settings

from postledger.deliveries.ledger import Swept
from postledger.dispatch.dispatcher import Dispatcher
from postledger.observability import metrics
from postledger.workers import supervisor

_log = structlog.get_logger(__name__)
_dispatcher: Dispatcher | None = None
_ticked_at = time.monotonic()


def ring(stream_id: int) -> None:
    if _dispatcher is not None:
        _dispatcher.wake(stream_id)


def tick() -> None:
    global _ticked_at  # noqa: PLW0603  what this process heard, whichever thread asks
    _ticked_at = time.monotonic()
    if _dispatcher is not None:
        _dispatcher.tick()


def seconds_since_tick() -> float:
    """Since this process last heard a tick; counted from its start when it never did."""
    return time.monotonic() - _ticked_at


def look() -> None:
    if _dispatcher is not None:
        _dispatcher.poll()


def swept(found: Swept) -> None:
    _log.warning(
        "lost leases were taken away",
        batches=found.given_back,
        in_doubt=found.in_doubt,
        halved=found.halved,
        poisoned=found.poisoned,
    )
    metrics.NEW_DOUBTS.add(found.in_doubt, cause="worker_lost")
    look()


class DispatchStep(StartStopStep):
    """Starts the dispatcher with the worker, before it consumes; stops it when it is to end.

    Celery's own tasks only ring it: a worker whose broker is away goes on sending.
    """

    requires = ("celery.worker.components:Pool",)

    def __init__(self, parent: WorkController, **kwargs: Any) -> None:
        super().__init__(parent, **kwargs)
        self._thread: threading.Thread | None = None

    @override
    def start(self, parent: WorkController) -> None:
        global _dispatcher  # noqa: PLW0603  one dispatcher for each process, rung by its tasks
        name = f"{socket.gethostname()}:{os.getpid()}"
        _dispatcher = Dispatcher(name, settings.DISPATCH_OPTIONS)
        # Not a daemon: an interpreter that ends waits for the calls under way.
        self._thread = threading.Thread(target=_run, args=(_dispatcher,), name="dispatcher")
        self._thread.start()
        _log.info("dispatcher started", worker=name)

    @override
    def stop(self, parent: WorkController) -> None:
        if _dispatcher is not None:
            _dispatcher.stop()
        if self._thread is not None:
            self._thread.join()
            _log.info("dispatcher stopped")

    @override
    def terminate(self, parent: WorkController) -> None:
        self.stop(parent)


def _run(dispatcher: Dispatcher) -> None:
    try:
        uvloop.run(_run_beating(dispatcher, supervisor.heartbeat()))
    except Exception:  # noqa: BLE001  the task's edge: a worker without its heart must not live on
        _log.exception("the dispatcher broke down; the worker ends, for its supervisor to restart")
        os._exit(1)  # not through Celery, whose end would count as a success


async def _run_beating(dispatcher: Dispatcher, beat: Callable[[], None]) -> None:
    """Beats from the dispatcher's own loop: also while the dispatcher waits for the database."""
    loop = asyncio.get_running_loop()

    def beat_again() -> None:
        beat()
        loop.call_later(supervisor.BEAT_EVERY, beat_again)

    beat_again()
    await dispatcher.run()
