"""Feedback inside a Celery worker: threads that collect reports, and one that applies them."""

import threading
from typing import Any, override

from celery.worker import WorkController

from postledger.workers.celery_parts import WorkerStep
from postledger.workers.emitted_events import EmittedEvents
from postledger.workers.feedback_applier import FeedbackApplier
from postledger.workers.sqs_poller import SqsPoller


class FeedbackStep(WorkerStep):
    """Starts the threads with the worker. They may be cut off anywhere by the worker's end."""

    def __init__(self, parent: WorkController, **kwargs: Any) -> None:
        super().__init__(parent, **kwargs)
        has_news = threading.Event()  # messages were stored since it was cleared
        self._poller = SqsPoller(has_news.set)
        self._emitted = EmittedEvents(has_news.set)
        self._applier = FeedbackApplier(has_news)

    @override
    def start(self, parent: WorkController) -> None:
        self._poller.start()
        self._emitted.start()
        self._applier.start()

    @override
    def stop(self, parent: WorkController) -> None:
        self._poller.stop()
        self._emitted.stop()
        self._applier.stop()
