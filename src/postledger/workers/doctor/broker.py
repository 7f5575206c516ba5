"""Whether the broker lets us in, and whether its queues are as workers declare them."""

from collections.abc import Iterator
from typing import cast

from amqp.exceptions import AccessRefused, AMQPError, NotAllowed, NotFound, PreconditionFailed
from django.conf import settings
from kombu import Connection, Queue

from postledger.workers import queues
from postledger.workers.doctor import redis_server
from postledger.workers.doctor.findings import Finding, ok, problem, warning

CONNECT_SECONDS = 3.0


def look() -> Iterator[Finding]:
    url = settings.CELERY_BROKER_URL
    if url.startswith("redis"):
        yield from redis_server.examine("broker", url, variable="BROKER_URL")
    else:
        yield from _rabbitmq(url)


def _rabbitmq(url: str) -> Iterator[Finding]:
    with Connection(url, connect_timeout=CONNECT_SECONDS) as connection:
        try:
            connection.connect()
        except AccessRefused:
            found = "RabbitMQ refuses the login."
            yield problem("broker", found, "Correct user and password in BROKER_URL.")
        except NotAllowed:
            host = connection.virtual_host
            found = f"RabbitMQ has no virtual host {host} for this user."
            remedy = f"Run rabbitmqctl add_vhost {host} and rabbitmqctl set_permissions -p {host}."
            yield problem("broker", found, remedy)
        except (AMQPError, OSError) as error:
            found = f"RabbitMQ does not answer ({type(error).__name__})."
            yield problem("broker", found, "Start RabbitMQ, or correct BROKER_URL.")
        else:
            yield from _queues(connection)


def _queues(connection: Connection) -> Iterator[Finding]:
    declared = queues.settings(settings.CELERY_BROKER_URL, settings.QUEUE_PREFIX)["task_queues"]
    findings = [
        finding for queue in cast("list[Queue]", declared) for finding in _queue(connection, queue)
    ]
    yield from findings or [ok("broker", "RabbitMQ answers, and its queues are as they should be.")]


def _queue(connection: Connection, queue: Queue) -> Iterator[Finding]:
    """Looks before it declares, so that looking makes nothing.

    A refused declaration closes its channel: each question gets one of its own.
    """
    try:
        with connection.channel() as channel:
            queue.bind(channel).queue_declare(passive=True)
        with connection.channel() as channel:
            queue.bind(channel).queue_declare()
    except NotFound:
        found = f"RabbitMQ has no queue {queue.name} yet: no worker has declared it."
        yield warning("broker", found, "Start a worker, which makes it: postledger worker.")
    except PreconditionFailed:
        found = f"The queue {queue.name} is of another kind than workers declare, and stops them."
        remedy = f"Run rabbitmqctl delete_queue {queue.name}, then restart the workers."
        yield problem("broker", found, remedy)
