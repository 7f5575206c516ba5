"""Parts of a Celery worker: a base for its steps, beat as a thread, and a lean consumer."""

import threading
from typing import Any, ClassVar, override

from celery.beat import Service
from celery.bootsteps import StartStopStep
from celery.worker import WorkController
from celery.worker.consumer import Consumer as CeleryConsumer

_DELAYED = "celery.worker.consumer.delayed_delivery:DelayedDelivery"


class WorkerStep(StartStopStep):
    """Runs beside the pool; a cold shutdown stops it like a warm one."""

    requires = ("celery.worker.components:Pool",)

    @override
    def terminate(self, parent: WorkController) -> None:
        self.stop(parent)


class BeatStep(WorkerStep):
    """Celery's beat as a thread, if the worker has `with_beat`: it ends with the worker."""

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
        # A daemon: without a broker it waits for ever, and it holds nothing that could be lost.
        threading.Thread(target=self._service.start, name="beat", daemon=True).start()

    @override
    def stop(self, parent: WorkController) -> None:
        self._service.stop()


class Consumer(CeleryConsumer):
    """Declares our two queues, without Celery's twenty-eight for delayed messages.

    Due times are stored in the ledger, so Celery needs no delayed messages.
    """

    class Blueprint(CeleryConsumer.Blueprint):  # type: ignore[misc, valid-type]  # a class indeed
        default_steps: ClassVar[list[str]] = [
            step for step in CeleryConsumer.Blueprint.default_steps if step != _DELAYED
        ]
