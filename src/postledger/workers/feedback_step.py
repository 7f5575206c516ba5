"""Feedback inside a Celery worker: threads that read queues of topics."""

import threading
from typing import Any, override

from celery.worker import WorkController

from postledger.workers.celery_parts import WorkerStep
from postledger.workers.sqs_poller import SqsPoller


class FeedbackStep(WorkerStep):
    """Starts the readers with the worker. They may be cut off anywhere by the worker's end."""

    def __init__(self, parent: WorkController, **kwargs: Any) -> None:
        super().__init__(parent, **kwargs)
        self._has_news = threading.Event()  # messages were stored since it was cleared
        self._poller = SqsPoller(self._has_news.set)

    @override
    def start(self, parent: WorkController) -> None:
        self._poller.start()

    @override
    def stop(self, parent: WorkController) -> None:
        self._poller.stop()
