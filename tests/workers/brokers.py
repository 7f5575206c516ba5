"""Queues of a test's own at the real broker, and ways to lose the broker."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import celery._state
from celery import Celery
from django.conf import settings
from kombu import Connection

from postledger.workers import celery_settings
from tests.cli.installations import free_port


@contextmanager
def own_queues() -> Iterator[str]:
    """A prefix for queues that nobody else hears; they are gone afterwards."""
    prefix = f"postledger-test-{uuid4().hex[:12]}"
    try:
        yield prefix
    finally:
        with Connection(settings.CELERY_BROKER_URL) as connection:
            channel: Any = connection.default_channel
            for name in ("wake-ups", "upkeep"):
                channel.queue_delete(f"{prefix}.{name}")
            channel.exchange_delete(prefix)


def celery_app(prefix: str, url: str = "") -> Celery:
    app = Celery("test", set_as_current=False, fixups=[])
    app.conf.update(celery_settings.settings(url or settings.CELERY_BROKER_URL, prefix))
    return app


@contextmanager
def default_app(app: Celery) -> Iterator[Celery]:
    """Wake-ups are published through this app while the block runs."""
    before = celery._state.default_app  # type: ignore[attr-defined]
    app.set_default()
    try:
        yield app
    finally:
        celery._state.set_default_app(before)
        app.close()


def declare(prefix: str) -> None:
    """Makes the queues, as a worker does when it starts."""
    with Connection(settings.CELERY_BROKER_URL) as connection:
        for queue in celery_app(prefix).conf.task_queues:
            queue(connection.default_channel).declare()


def take_wake_ups(prefix: str) -> int:
    """Takes the wake-ups from the queue, and counts them."""
    count = 0
    with Connection(settings.CELERY_BROKER_URL) as connection:
        channel: Any = connection.default_channel
        while channel.basic_get(f"{prefix}.wake-ups", no_ack=True) is not None:
            count += 1
    return count


def dead_url() -> str:
    return f"amqp://guest:guest@127.0.0.1:{free_port()}//"


@dataclass
class Line:
    """A way to the broker that can be cut."""

    port: int = 0
    ends: list[socket.socket] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"amqp://guest:guest@127.0.0.1:{self.port}//"

    def cut(self) -> None:
        """Breaks every connection; new ones are taken."""
        while self.ends:
            with suppress(OSError):
                self.ends.pop().shutdown(socket.SHUT_RDWR)


@contextmanager
def line() -> Iterator[Line]:
    broker = Connection(settings.CELERY_BROKER_URL).info()
    broker_address = (str(broker["hostname"]), int(broker["port"]))
    with socket.create_server(("127.0.0.1", 0)) as server:
        line_ = Line(server.getsockname()[1])
        threading.Thread(target=_serve, args=(server, broker_address, line_), daemon=True).start()
        try:
            yield line_
        finally:
            server.shutdown(socket.SHUT_RDWR)
            line_.cut()


def _serve(server: socket.socket, broker_address: tuple[str, int], line_: Line) -> None:
    with suppress(OSError):
        while True:
            near, _ = server.accept()
            far = socket.create_connection(broker_address)
            line_.ends += [near, far]
            for ends in ((near, far), (far, near)):
                threading.Thread(target=_pump, args=ends, daemon=True).start()


def _pump(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
    for end in (source, target):
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
        end.close()
