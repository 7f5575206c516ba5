"""Upkeep without a broker or beat: a worker runs the scheduled tasks by itself.

The tasks and intervals are those of the schedule. Several workers may run one task at once, and
beat may come back at any time, without harm.
"""

import math
import threading
import time
from datetime import timedelta
from typing import override

import structlog
from celery import current_app
from django.db import connection
from django.db.models.functions import Now

from postledger.dispatch import heartbeat
from postledger.dispatch.db_threads import call_on_thread
from postledger.lib.database_outage import OUTAGE_ERRORS
from postledger.workers import dispatcher_step, tasks
from postledger.workers.celery_parts import ThreadStep

_log = structlog.get_logger(__name__)

# Beat ticks every second, and every five seconds a worker records its last tick.
MOST_SILENCE = timedelta(seconds=15)
_ASK_EVERY = 5.0
_CHECK_EVERY = 1.0


class UpkeepStep(ThreadStep):
    """Starts the upkeep with the worker. A task may be cut off at any time by the worker's end."""

    thread_name = "upkeep"

    @override
    def _work(self) -> None:
        silence = _Silence()
        upkeep = [_Task(*entry) for entry in tasks.INTERVALS.items()]
        while not self._stopping.wait(_CHECK_EVERY):
            try:
                if silence.is_total():
                    for task in upkeep:
                        task.start_if_due()
            except Exception:  # noqa: BLE001  the thread's edge: it goes on after a moment
                _log.exception("the upkeep failed")


class _Silence:
    """Whether no worker receives ticks, neither this one nor, by their records, any other."""

    def __init__(self) -> None:
        self._is_total = False
        self._asked_at = -math.inf

    def is_total(self) -> bool:
        before = self._is_total
        if dispatcher_step.seconds_since_tick() < MOST_SILENCE.total_seconds():
            self._is_total = False
        elif time.monotonic() - self._asked_at >= _ASK_EVERY:
            self._asked_at = time.monotonic()
            self._is_total = _no_worker_ticks()
        if self._is_total and not before:
            _log.warning("no worker receives ticks; this one runs the upkeep by itself")
        elif before and not self._is_total:
            _log.info("a worker receives ticks again")
        return self._is_total


def _no_worker_ticks() -> bool:
    ticking = heartbeat.alive().filter(ticked_at__gt=Now() - MOST_SILENCE)
    try:
        return not call_on_thread(ticking.exists)
    except OUTAGE_ERRORS:
        return False  # without the database there is nothing to keep up


class _Task:
    """One task of the schedule, in a thread of its own: a long one delays no other."""

    def __init__(self, name: str, interval: float) -> None:
        self._name = name
        self._interval = interval
        self._thread: threading.Thread | None = None
        self._started_at = -math.inf

    def start_if_due(self) -> None:
        """Starts the task unless it is running, or was started within its interval."""
        is_running = self._thread is not None and self._thread.is_alive()
        if not is_running and time.monotonic() - self._started_at >= self._interval:
            self._started_at = time.monotonic()
            self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
            self._thread.start()

    def _run(self) -> None:
        try:
            current_app.tasks[f"postledger.{self._name}"]()
        except OUTAGE_ERRORS as error:
            _log.warning("the database is away", task=self._name, error=type(error).__name__)
        except Exception:  # noqa: BLE001  the thread's edge: it is tried again after its interval
            _log.exception("a task of the upkeep failed", task=self._name)
        finally:
            connection.close()  # it belongs to this thread, which ends
