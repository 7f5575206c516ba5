"""The dispatcher inside a Celery worker: one event loop in a thread of its own."""

import os
import socket
import threading
from typing import Any, override

import structlog
import uvloop
from celery.bootsteps import StartStopStep
from celery.worker import WorkController
from django.conf import settings

from postledger.deliveries.ledger import Swept
from postledger.dispatch.loop import Dispatcher
from postledger.workers import watch

_log = structlog.get_logger(__name__)
_dispatcher: Dispatcher | None = None


def ring(stream_id: int) -> None:
    if _dispatcher is not None:
        _dispatcher.ring(stream_id)


def tick() -> None:
    if _dispatcher is not None:
        _dispatcher.tick()


def look() -> None:
    if _dispatcher is not None:
        _dispatcher.look()


def swept(found: Swept) -> None:
    _log.warning(
        "lost leases were taken away",
        batches=found.given_back,
        in_doubt=found.in_doubt,
        halved=found.halved,
        poisoned=found.poisoned,
    )
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
        _dispatcher = Dispatcher(name, settings.DISPATCH_RULES)
        # Not a daemon: an interpreter that ends waits for the calls under way.
        self._thread = threading.Thread(target=_run, args=(_dispatcher,), name="dispatcher")
        self._thread.start()
        watch.start(_dispatcher)
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
        uvloop.run(dispatcher.run())
    except Exception:  # noqa: BLE001  the task's edge: a worker without its heart must not live on
        _log.exception("the dispatcher broke down; the worker ends, for its supervisor to restart")
        os._exit(1)  # not through Celery, whose end would count as a success
