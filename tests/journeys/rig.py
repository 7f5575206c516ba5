"""A whole installation in processes of its own: web and workers on the real servers."""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

from django.conf import settings
from kombu import Connection, Exchange, Queue

from postledger.dispatch.models import Worker
from tests import children

RABBITMQ = os.environ.get("BROKER_URL", "amqp://guest:guest@127.0.0.1:5672//")
REDIS = "redis://127.0.0.1:6379/15"
COMMANDS = Path(sys.executable).parent
PATIENCE = 180.0


def until(true: Callable[[], object], *, seconds: float = PATIENCE, every: float = 0.05) -> float:
    """Waits until something holds, and returns how long that took."""
    started = time.monotonic()
    while not true():
        waited = time.monotonic() - started
        assert waited < seconds, f"still not so after {seconds} s"
        time.sleep(every)
    return time.monotonic() - started


@dataclass
class Process:
    """One process of the installation, and what it writes."""

    popen: subprocess.Popen[bytes]
    log: Path

    def shows_life(self) -> bool:
        assert self.popen.poll() is None, self.log.read_text()[-3000:]
        return any(
            Worker.objects.filter(name__endswith=f":{pid}").exists()
            for pid in children.pids(self.popen.pid)
        )

    def stop(self, number: int = signal.SIGTERM, *, patience: float = PATIENCE) -> int:
        self.popen.send_signal(number)
        return self.popen.wait(patience)


@dataclass
class Installation:
    folder: Path
    database: str
    broker: str = RABBITMQ
    extra: Mapping[str, str] = field(default_factory=dict)
    prefix: str = ""
    processes: list[Process] = field(default_factory=list)

    @property
    def environment(self) -> dict[str, str]:
        return {
            **os.environ,
            "SECRET_KEY": settings.SECRET_KEY,
            "ALLOWED_HOSTS": "127.0.0.1",
            "DATABASE_URL": self.database,
            "BROKER_URL": self.broker,
            "QUEUE_PREFIX": self.prefix,
            "LOG_LEVEL": "INFO",
            **self.extra,
        }

    def run(self, *command: str) -> None:
        """A command that is typed, to its end."""
        subprocess.run([str(COMMANDS / "postledger"), *command], env=self.environment, check=True)

    def worker(self, *options: str) -> Process:
        process = self._start_worker(*options)
        until(process.shows_life)
        return process

    def two_workers(self) -> tuple[Process, Process]:
        """One of them with beat; they start side by side."""
        pair = self._start_worker("--beat"), self._start_worker()
        until(lambda: all(process.shows_life() for process in pair))
        return pair

    def _start_worker(self, *options: str) -> Process:
        return self.start("worker", [str(COMMANDS / "postledger"), "worker", *options])

    def web(self, port: int, *options: str) -> Process:
        command = [str(COMMANDS / "postledger"), "serve", "--port", str(port), *options]
        return self.serve(port, command)

    def serve(self, port: int, command: Sequence[str]) -> Process:
        """A server that answers at /live."""
        process = self.start("web", command)
        until(lambda: process.popen.poll() is None and answers(f"http://127.0.0.1:{port}/live"))
        return process

    def start(self, name: str, command: Sequence[str]) -> Process:
        log = self.folder / f"{name}-{len(self.processes)}.log"
        with log.open("wb") as file:
            popen = subprocess.Popen(
                command,
                env=self.environment,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        process = Process(popen, log)
        self.processes.append(process)
        return process

    def close(self) -> None:
        for process in self.processes:
            # The whole group: a web server's children would outlive it.
            with suppress(ProcessLookupError):
                os.killpg(process.popen.pid, signal.SIGKILL)
            process.popen.wait()
        forget_queues(self.broker, self.prefix)


def _prefix() -> str:
    return f"test-{uuid4().hex[:8]}"


@contextmanager
def installation(
    folder: Path, database: str, *, broker: str = RABBITMQ, prefix: str = "", **extra: str
) -> Iterator[Installation]:
    installed = Installation(folder, database, broker, extra, prefix or _prefix())
    try:
        yield installed
    finally:
        installed.close()


def forget_queues(broker: str, prefix: str) -> None:
    """Leaves nothing behind on a broker that others use too."""
    with Connection(broker, connect_timeout=5) as connection, connection.channel() as channel:
        exchange = Exchange(prefix, channel=channel)
        for name in ("wake-ups", "upkeep"):
            Queue(f"{prefix}.{name}", exchange, channel=channel).delete()
        exchange.delete()


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=2):  # noqa: S310  our own server
            return True
    except (urllib.error.URLError, OSError):
        return False
