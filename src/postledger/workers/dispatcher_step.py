"""The dispatcher inside a Celery worker: one event loop in a thread of its own."""

import asyncio
import os
import socket
import threading
import time
from typing import Any, override

import structlog
import uvloop
from celery.worker import WorkController
from django.conf import settings

from postledger.deliveries.ledger import Swept
from postledger.dispatch.dispatcher import Dispatcher
from postledger.workers import emitted_events, supervisor
from postledger.workers.celery_parts import WorkerStep

_log = structlog.get_logger(__name__)
_dispatcher: Dispatcher | None = None
_ticked_at = time.monotonic()


def wake(stream_id: int) -> None:
    if _dispatcher is not None:
        _dispatcher.wake(stream_id)


def tick() -> None:
    global _ticked_at  # noqa: PLW0603  one value for the whole process
    _ticked_at = time.monotonic()
    if _dispatcher is not None:
        _dispatcher.tick()


def seconds_since_tick() -> float:
    """Since this process last received a tick, or since its start."""
    return time.monotonic() - _ticked_at


def report_sweep(swept: Swept) -> None:
    """Logs what a sweep did, and lets the dispatcher poll for the returned work."""
    _log.warning(
        "lost leases were taken away",
        batches=swept.given_back,
        in_doubt=swept.in_doubt,
        halved=swept.halved,
        poisoned=swept.poisoned,
    )
    if _dispatcher is not None:
        _dispatcher.poll()


def report_given_up(stream_id: int, count: int) -> None:
    """Logs that mail failed because nobody ended the block of its sender."""
    text = "the sender stayed blocked; its due mail failed"
    _log.error(text, stream_id=stream_id, mails=count)


class DispatchStep(WorkerStep):
    """Starts the dispatcher before the worker consumes, and stops it with the worker.

    Tasks only wake it: a worker without a broker goes on sending.
    """

    def __init__(self, parent: WorkController, **kwargs: Any) -> None:
        super().__init__(parent, **kwargs)
        self._thread: threading.Thread | None = None

    @override
    def start(self, parent: WorkController) -> None:
        global _dispatcher  # noqa: PLW0603  one dispatcher for each process, woken by its tasks
        name = f"{socket.gethostname()}:{os.getpid()}"
        _dispatcher = Dispatcher(name, settings.DISPATCH_OPTIONS, emitted_events.offer)
        # Not a daemon: the interpreter waits for open calls before it ends.
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


def _run(dispatcher: Dispatcher) -> None:
    try:
        uvloop.run(_run_beating(dispatcher))
    except Exception:  # noqa: BLE001  the thread's edge: a worker without a dispatcher must end
        _log.exception("the dispatcher broke down; the worker ends, for its supervisor to restart")
        os._exit(1)  # not through Celery: its end would count as a success


async def _run_beating(dispatcher: Dispatcher) -> None:
    """Sends heartbeats from the dispatcher's loop, also while it waits for the database."""
    supervisor.beat_from(asyncio.get_running_loop())
    await dispatcher.run()
