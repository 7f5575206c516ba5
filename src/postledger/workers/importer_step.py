"""The importer inside a Celery worker: a thread that polls for uploaded files and imports them.

It polls, so an import needs no broker, and the import of a dead worker is found like any other.
"""

import threading
from typing import Any, override

import structlog
from celery.worker import WorkController

from postledger.dispatch.db_threads import call_on_thread
from postledger.imports import worker_jobs
from postledger.workers.celery_parts import WorkerStep

_log = structlog.get_logger(__name__)

POLL_INTERVAL = 2.0  # seconds


class ImportStep(WorkerStep):
    """Starts the importer with the worker; stops it between two chunks when the worker ends."""

    def __init__(self, parent: WorkController, **kwargs: Any) -> None:
        super().__init__(parent, **kwargs)
        self._stopping = threading.Event()
        # A daemon: an import may be cut off anywhere, and must not keep the worker from ending.
        self._thread = threading.Thread(target=self._poll, name="importer", daemon=True)

    @override
    def start(self, parent: WorkController) -> None:
        self._thread.start()

    @override
    def stop(self, parent: WorkController) -> None:
        self._stopping.set()
        self._thread.join(timeout=10)

    def _poll(self) -> None:
        while not self._stopping.wait(POLL_INTERVAL):
            try:
                while not self._stopping.is_set():
                    if not call_on_thread(worker_jobs.do_next_job, self._stopping.is_set):
                        break
            except Exception as error:  # noqa: BLE001  the thread's edge: the database may be away
                _log.warning("importer failed, polls again", error=type(error).__name__)
