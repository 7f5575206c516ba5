"""Quotas inside a Celery worker: a thread that asks providers how much they still take.

It polls, so it needs no broker; the claims in the database share the work among workers.
"""

import threading
from typing import Any, override

import structlog
from celery.worker import WorkController
from django.conf import settings
from django.db import connection

from postledger.dispatch.db_threads import call_on_thread
from postledger.pacing import quota_sync
from postledger.workers.celery_parts import WorkerStep

_log = structlog.get_logger(__name__)

POLL_INTERVAL = 2.0  # seconds


class QuotaStep(WorkerStep):
    """Starts the thread with the worker. A reading may be cut off anywhere by the worker's end."""

    def __init__(self, parent: WorkController, **kwargs: Any) -> None:
        super().__init__(parent, **kwargs)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._poll, name="quota", daemon=True)

    @override
    def start(self, parent: WorkController) -> None:
        self._thread.start()

    @override
    def stop(self, parent: WorkController) -> None:
        self._stopping.set()

    def _poll(self) -> None:
        while not self._stopping.is_set():
            try:
                call_on_thread(quota_sync.sync_due, settings.REDIS_URL)
            except Exception as error:  # noqa: BLE001  the thread's edge: the database may be away
                _log.warning("quotas not read, polls again", error=type(error).__name__)
            self._stopping.wait(POLL_INTERVAL)
        connection.close()  # it belongs to this thread, which ends
