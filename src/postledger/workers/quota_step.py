"""Quotas inside a Celery worker: a thread that asks providers how much they still take.

It polls, so it needs no broker; the claims in the database share the work among workers.
"""

from typing import override

import structlog
from django.conf import settings
from django.db import connection

from postledger.dispatch.db_threads import call_on_thread
from postledger.pacing import quota_sync
from postledger.workers.celery_parts import ThreadStep

_log = structlog.get_logger(__name__)

POLL_INTERVAL = 2.0  # seconds


class QuotaStep(ThreadStep):
    """Starts the thread with the worker. A reading may be cut off anywhere by the worker's end."""

    thread_name = "quota"

    @override
    def _work(self) -> None:
        while not self._stopping.is_set():
            try:
                call_on_thread(quota_sync.sync_due, settings.REDIS_URL)
            except Exception as error:  # noqa: BLE001  the thread's edge: the database may be away
                _log.warning("quotas not read, polls again", error=type(error).__name__)
            self._stopping.wait(POLL_INTERVAL)
        connection.close()  # it belongs to this thread, which ends
