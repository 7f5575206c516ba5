"""The importer inside a Celery worker: a thread that polls for uploaded files and imports them.

It polls, so an import needs no broker, and the import of a dead worker is found like any other.
"""

from typing import override

import structlog
from celery.worker import WorkController

from postledger.dispatch.db_threads import call_on_thread
from postledger.imports import worker_jobs
from postledger.workers.celery_parts import ThreadStep

_log = structlog.get_logger(__name__)

POLL_INTERVAL = 2.0  # seconds


class ImportStep(ThreadStep):
    """Starts the importer with the worker; stops it between two chunks when the worker ends."""

    thread_name = "importer"

    @override
    def stop(self, parent: WorkController) -> None:
        super().stop(parent)
        self._thread.join(timeout=10)

    @override
    def _work(self) -> None:
        while not self._stopping.wait(POLL_INTERVAL):
            try:
                while not self._stopping.is_set():
                    if not call_on_thread(worker_jobs.do_next_job, self._stopping.is_set):
                        break
            except Exception as error:  # noqa: BLE001  the thread's edge: the database may be away
                _log.warning("importer failed, polls again", error=type(error).__name__)
