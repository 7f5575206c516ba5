"""Brokers that stop, die, freeze, forget, and are swapped; wake-ups that are lost or repeated."""

import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress

from amqp.exceptions import NotFound
from kombu import Connection, Queue

from tools.drill.drill import Drill
from tools.drill.fleet import Member
from tools.drill.services import RabbitMQ, Redis_
from tools.drill.size import Size

_QUEUES = ("drill.wake-ups", "drill.upkeep")


def rabbitmq(drill: Drill, size: Size) -> None:
    _hurt(drill, drill.rabbitmq, "RabbitMQ", size)


def redis(drill: Drill, size: Size) -> None:
    """Redis as the broker of every worker, and as the counter of the pace."""
    for member in _listening(drill):
        drill.fleet.kill(member)
        drill.fleet.start(member.role, BROKER_URL=drill.redis.url)
    _hurt(drill, drill.redis, "Redis", size)
    for _ in range(size.broker_rounds):
        drill.pass_time(1)
        drill.redis.client().flushall()
        drill.faults["Redis flushed"] += 1
    _back_to_rabbitmq(drill)


def swapped(drill: Drill, size: Size) -> None:
    """Workers use another broker than the web process and beat: wake-ups are lost, mail is not."""
    for round_ in range(size.broker_rounds):
        url = (drill.redis.url, drill.rabbitmq.url)[round_ % 2]
        for member in _listening(drill):
            drill.fleet.terminate(member)
            drill.fleet.start(member.role, BROKER_URL=url)
            drill.pass_time(size.pause)
        drill.faults["broker swapped"] += 1
    _back_to_rabbitmq(drill)


def _back_to_rabbitmq(drill: Drill) -> None:
    """What comes next would otherwise hurt a broker nobody listens to."""
    for member in _listening(drill):
        drill.fleet.terminate(member)
        drill.fleet.start(member.role)


def _listening(drill: Drill) -> list[Member]:
    return [*drill.fleet.of_role("worker"), *drill.fleet.of_role("beat")]


def _hurt(drill: Drill, broker: RabbitMQ | Redis_, name: str, size: Size) -> None:
    faults: dict[str, Callable[[], None]] = {
        "killed": broker.end,
        "replaced by an empty one": lambda: (broker.end(), broker.empty())[0],
    }
    if size.is_gentle:
        faults["stopped"] = lambda: broker.end(signal.SIGTERM)
    for _ in range(size.broker_rounds):
        for fault, inflict in faults.items():
            drill.pass_time(1)
            inflict()
            drill.faults[f"{name} {fault}"] += 1
            drill.pass_time(size.pause)
            broker.start()
        if size.is_gentle:
            _freeze(drill, broker)
            drill.faults[f"{name} frozen"] += 1


def _freeze(drill: Drill, broker: RabbitMQ | Redis_) -> None:
    assert broker.popen is not None
    with suppress(ProcessLookupError):
        os.killpg(broker.popen.pid, signal.SIGSTOP)
        drill.pass_time(3)
        os.killpg(broker.popen.pid, signal.SIGCONT)


def wake_ups(drill: Drill, size: Size) -> None:
    """Dropped for a while, then tripled, then all of them again when everything is over."""
    _wait_for_queues(drill)
    end = time.monotonic() + size.pause + 2
    while time.monotonic() < end:
        _purge(drill)
        drill.faults["wake-ups dropped"] += 1
        drill.pass_time(0.3)
    for _ in range(10 * size.broker_rounds):
        _ring(drill, times=3)
        drill.faults["wake-ups tripled"] += 1
        drill.pass_time(0.2)
    drill.come_to_rest()
    _ring(drill, times=100)
    drill.faults["wake-ups replayed after the run"] += 100
    time.sleep(2)


def _wait_for_queues(drill: Drill) -> None:
    """The broker may be new, and a worker that comes up makes its queues."""
    end = time.monotonic() + 120
    while True:
        try:
            _purge(drill)
        except NotFound:
            assert time.monotonic() < end, "no worker made its queues"
            drill.pass_time(0.2)
        else:
            return


def _purge(drill: Drill) -> None:
    with Connection(drill.rabbitmq.url) as connection, connection.channel() as channel:
        for queue in _QUEUES:
            Queue(queue, channel=channel).purge()


def _ring(drill: Drill, *, times: int) -> None:
    from postledger.config.celery import app
    from postledger.deliveries import queries

    streams = queries.stream_ids(workspace_id=drill.load.workspace_id)
    with Connection(drill.rabbitmq.url) as connection:
        for stream_id in [*streams, 1] * times:
            app.send_task("postledger.wake", args=[stream_id], connection=connection)
        for task in ("tick", "sweep", "drain", "fold"):
            app.send_task(f"postledger.{task}", connection=connection)
