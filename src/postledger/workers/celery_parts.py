"""Parts of a Celery worker: a base for its steps, beat as a thread, and a lean consumer."""

import logging
import threading
from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, override

import structlog
from celery.beat import Service
from celery.bootsteps import StartStopStep
from celery.worker import WorkController, loops
from celery.worker.consumer import Consumer as CeleryConsumer
from kombu.message import Message

from postledger.workers.broker_messages import find_fault

_log = structlog.get_logger(__name__)
_celery_log = logging.getLogger(__name__)
_DELAYED = "celery.worker.consumer.delayed_delivery:DelayedDelivery"


class WorkerStep(StartStopStep):
    """Runs beside the pool; a cold shutdown stops it like a warm one."""

    requires = ("celery.worker.components:Pool",)

    @override
    def terminate(self, parent: WorkController) -> None:
        self.stop(parent)


class ThreadStep(WorkerStep):
    """A thread that starts with the worker and is asked to stop with it.

    A daemon: what it does may be cut off anywhere, and must not keep the worker from ending.
    """

    thread_name: ClassVar[str]

    def __init__(self, parent: WorkController, **kwargs: Any) -> None:
        super().__init__(parent, **kwargs)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._work, name=self.thread_name, daemon=True)

    @override
    def start(self, parent: WorkController) -> None:
        self._thread.start()

    @override
    def stop(self, parent: WorkController) -> None:
        self._stopping.set()

    @abstractmethod
    def _work(self) -> None:
        """Works until `_stopping` is set."""


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
    Whatever the broker delivers, the worker goes on: Celery's own
    handlers log the content of a message that is not a task, and some messages end them.
    """

    class Blueprint(CeleryConsumer.Blueprint):  # type: ignore[misc, valid-type]  # a class indeed
        default_steps: ClassVar[list[str]] = [
            step for step in CeleryConsumer.Blueprint.default_steps if step != _DELAYED
        ]

    # The base sets them.
    hub: Any
    connection_errors: tuple[type[Exception], ...]
    channel_errors: tuple[type[Exception], ...]

    def loop(self, *args: Any) -> None:
        """Celery's own loop; what is not even a message restarts the connection."""
        try:
            (loops.asynloop if self.hub else loops.synloop)(*args)
        except (*self.connection_errors, *self.channel_errors):
            raise
        except Exception as error:  # noqa: BLE001  the edge of the worker
            _log.warning("the broker delivered no message", error=type(error).__name__)
            raise ConnectionResetError("not a message") from None

    @override
    def create_task_handler(self, *args: Any, **kwargs: Any) -> Callable[[Message], None]:
        handle = super().create_task_handler(*args, **kwargs)
        tasks = frozenset(name for name in self.app.tasks if name.startswith("postledger."))

        def take(message: Message) -> None:
            fault = find_fault(message, tasks)
            if fault:
                self._drop(message, fault)
                return
            try:
                handle(message)
            except self.connection_errors:
                raise
            except Exception as error:  # noqa: BLE001  the edge of the worker
                self._drop(message, f"it failed with {type(error).__name__}")

        return take

    @override
    def on_decode_error(self, message: Message, exc: Exception) -> None:
        self._drop(message, f"it cannot be decoded: {type(exc).__name__}")

    def _drop(self, message: Message, fault: str) -> None:
        _log.warning("a message of the broker was dropped", fault=fault)
        if not message.acknowledged:
            message.reject_log_error(_celery_log, self.connection_errors)
