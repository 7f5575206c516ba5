"""The importer inside a Celery worker: a thread that looks for uploaded files and imports them.

It looks by itself, so an import needs no broker, and one whose worker died is found like any other.
"""

import threading
from typing import Any, override

import structlog
from celery.bootsteps import StartStopStep
from celery.worker import WorkController

from postledger.contacts.importing import working
from postledger.dispatch.db_threads import call_on_thread

_log = structlog.get_logger(__name__)

EVERY = 2.0  # seconds


class ImportStep(StartStopStep):
    """Starts the importer with the worker; stops it between two chunks when the worker ends."""

    requires = ("celery.worker.components:Pool",)

    def __init__(self, parent: WorkController, **kwargs: Any) -> None:
        super().__init__(parent, **kwargs)
        self._stopping = threading.Event()
        # A daemon: an import may be cut off anywhere, and is not worth a worker that does not end.
        self._thread = threading.Thread(target=self._work, name="importer", daemon=True)

    @override
    def start(self, parent: WorkController) -> None:
        self._thread.start()

    @override
    def stop(self, parent: WorkController) -> None:
        self._stopping.set()
        self._thread.join(timeout=10)

    @override
    def terminate(self, parent: WorkController) -> None:
        self.stop(parent)

    def _work(self) -> None:
        while not self._stopping.wait(EVERY):
            try:
                while not self._stopping.is_set():
                    if not call_on_thread(working.do_next, self._stopping.is_set):
                        break
            except Exception as error:  # noqa: BLE001  the thread's edge: the database may be away
                _log.warning("the importer looks again in a moment", error=type(error).__name__)
