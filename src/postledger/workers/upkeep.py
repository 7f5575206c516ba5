"""Upkeep without a broker and without beat: a worker runs the tasks that nobody rings for.

Everything is the same but the way it is called: the tasks and their intervals are those of the
schedule. Several workers that run one task at once do no harm, and neither does a beat that comes
back.
"""

import math
import threading
import time
from datetime import timedelta
from typing import Any, override

import structlog
from celery import current_app
from celery.bootsteps import StartStopStep
from celery.worker import WorkController
from django.db import connection
from django.db.models.functions import Now

from postledger.dispatch import heartbeat
from postledger.dispatch.db_threads import CONNECTION_LOST, call_on_thread
from postledger.workers import engine, schedule

_log = structlog.get_logger(__name__)

# Beat ticks every second, and a worker writes down every five seconds when it last heard a tick.
MOST_SILENCE = timedelta(seconds=15)
_ASK_EVERY = 5.0
_CHECK_EVERY = 1.0


class UpkeepStep(StartStopStep):
    """Starts the upkeep with the worker. What runs when the worker ends is cut off: every task can
    be, at any moment.
    """

    requires = ("celery.worker.components:Pool",)

    def __init__(self, parent: WorkController, **kwargs: Any) -> None:
        super().__init__(parent, **kwargs)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._work, name="upkeep", daemon=True)

    @override
    def start(self, parent: WorkController) -> None:
        self._thread.start()

    @override
    def stop(self, parent: WorkController) -> None:
        self._stopping.set()

    @override
    def terminate(self, parent: WorkController) -> None:
        self.stop(parent)

    def _work(self) -> None:
        silence, tasks = _Silence(), [_Task(*entry) for entry in schedule.INTERVALS.items()]
        while not self._stopping.wait(_CHECK_EVERY):
            try:
                if silence.is_everywhere():
                    for task in tasks:
                        task.start_if_due()
            except Exception:  # noqa: BLE001  the thread's edge: it goes on after a moment
                _log.exception("the upkeep failed")


class _Silence:
    """Whether no worker hears ticks: this one has heard none, and no other wrote of one."""

    def __init__(self) -> None:
        self._is_everywhere = False
        self._asked_at = -math.inf

    def is_everywhere(self) -> bool:
        before = self._is_everywhere
        if engine.seconds_since_tick() < MOST_SILENCE.total_seconds():
            self._is_everywhere = False
        elif time.monotonic() - self._asked_at >= _ASK_EVERY:
            self._asked_at = time.monotonic()
            self._is_everywhere = _is_unheard_by_all()
        if self._is_everywhere and not before:
            _log.warning("no worker hears ticks; this one runs the upkeep unasked")
        elif before and not self._is_everywhere:
            _log.info("ticks are heard again")
        return self._is_everywhere


def _is_unheard_by_all() -> bool:
    hearing = heartbeat.alive().filter(ticked_at__gt=Now() - MOST_SILENCE)
    try:
        return not call_on_thread(hearing.exists)
    except CONNECTION_LOST:
        return False  # without the database there is nothing to keep up


class _Task:
    """One task of the schedule: run in a thread of its own, so that a long one delays no other."""

    def __init__(self, name: str, interval: float) -> None:
        self._name = name
        self._interval = interval
        self._thread: threading.Thread | None = None
        self._started_at = -math.inf

    def start_if_due(self) -> None:
        """Starts it unless it still runs, or ran less than its interval ago."""
        is_running = self._thread is not None and self._thread.is_alive()
        if not is_running and time.monotonic() - self._started_at >= self._interval:
            self._started_at = time.monotonic()
            self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
            self._thread.start()

    def _run(self) -> None:
        try:
            current_app.tasks[f"postledger.{self._name}"]()
        except CONNECTION_LOST as error:
            _log.warning("the database is away", task=self._name, error=type(error).__name__)
        except Exception:  # noqa: BLE001  the thread's edge: it is tried again after its interval
            _log.exception("a task of the upkeep failed", task=self._name)
        finally:
            connection.close()  # it belongs to this thread, which ends
