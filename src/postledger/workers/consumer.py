"""Celery's consumer without its queues for delayed messages: time lives in the ledger."""

from typing import ClassVar

from celery.worker.consumer import Consumer as CeleryConsumer

_DELAYED = "celery.worker.consumer.delayed_delivery:DelayedDelivery"


class Consumer(CeleryConsumer):
    """Declares two queues at the broker, not two and twenty-eight that nobody would use."""

    class Blueprint(CeleryConsumer.Blueprint):  # type: ignore[misc, valid-type]  # a class indeed
        default_steps: ClassVar[list[str]] = [
            step for step in CeleryConsumer.Blueprint.default_steps if step != _DELAYED
        ]
