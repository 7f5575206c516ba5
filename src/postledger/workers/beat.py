"""Celery's beat as a thread of the worker: it ends with it, as a process of its own would not."""

import threading
from typing import Any, override

from celery.beat import Service
from celery.bootsteps import StartStopStep
from celery.worker import WorkController


class BeatStep(StartStopStep):
    """Rings for ticks and upkeep where the worker was started with `with_beat`."""

    requires = ("celery.worker.components:Pool",)

    def __init__(self, parent: WorkController, *, with_beat: bool = False, **kwargs: Any) -> None:
        super().__init__(parent, **kwargs)
        self.enabled = with_beat
        self._service = Service(
            parent.app,
            max_interval=1,  # seconds until it notices that it is to stop
            scheduler_cls=parent.app.conf.beat_scheduler,
        )

    @override
    def start(self, parent: WorkController) -> None:
        # A daemon: with the broker away it waits for ever, and holds nothing that could be lost.
        threading.Thread(target=self._service.start, name="beat", daemon=True).start()

    @override
    def stop(self, parent: WorkController) -> None:
        self._service.stop()

    @override
    def terminate(self, parent: WorkController) -> None:
        self.stop(parent)
