"""The queues at the broker, as workers declare and the doctor checks them."""

from kombu import Exchange, Queue

# Quorum queues survive the loss of a broker's node. A full one drops its oldest messages: in a
# queue of thousands, one more adds nothing. Redis ignores all of these.
_ARGUMENTS = {
    "x-queue-type": "quorum",
    "x-max-length": 10_000,
    "x-overflow": "drop-head",
    "x-delivery-limit": 5,
}


def exchange(prefix: str) -> Exchange:
    return Exchange(prefix, type="topic", durable=True)


def wake_ups(prefix: str) -> Queue:
    return _queue(prefix, "wake-ups")


def upkeep(prefix: str) -> Queue:
    return _queue(prefix, "upkeep")


def _queue(prefix: str, name: str) -> Queue:
    """Names begin with the prefix, so that installations can share a broker."""
    full = f"{prefix}.{name}"
    return Queue(full, exchange(prefix), routing_key=full, queue_arguments=_ARGUMENTS)
