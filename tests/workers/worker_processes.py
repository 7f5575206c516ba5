"""`postledger worker` as operators start it: a supervisor and its child, at a real database."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings

from postledger.dispatch.models import Worker
from tests import children
from tests.cli import installations
from tests.dispatch import office


@contextmanager
def started(log: Path, *flags: str, **environment: str) -> Iterator["subprocess.Popen[bytes]"]:
    """What is left of it at the end is killed."""
    usual = {
        "DATABASE_URL": installations.database_url(),
        "SECRET_KEY": settings.SECRET_KEY,
        "BROKER_URL": settings.CELERY_BROKER_URL,
    }
    with log.open("wb") as out:
        process = subprocess.Popen(
            [installations.POSTLEDGER, "worker", *flags],
            env={**os.environ, **usual, **environment},
            stdout=out,
            stderr=subprocess.STDOUT,
        )
        try:
            yield process
        finally:
            process.kill()
            process.wait(60)


@contextmanager
def worker(
    log: Path,
    *flags: str,
    prefix: str = "postledger-test-none",
    broker: str = "",
    **environment: str,
) -> Iterator["subprocess.Popen[bytes]"]:
    """Waits for its sign of life."""
    usual = {
        "BROKER_URL": broker or settings.CELERY_BROKER_URL,
        "QUEUE_PREFIX": prefix,
        "STOP_SECONDS": "10",
        "RETRY_CAMPAIGN": "2: 1",
    }
    with started(log, *flags, **{**usual, **environment}) as process:
        office.until(lambda: process.poll() is not None or Worker.objects.exists(), patience=120)
        yield process


def child(process: "subprocess.Popen[bytes]") -> int:
    """The pid of the worker under a supervisor, which its leases are signed with."""
    [pid] = children.pids(process.pid)
    return pid


def end_process(process: "subprocess.Popen[bytes]", how: signal.Signals = signal.SIGTERM) -> int:
    process.send_signal(how)
    return process.wait(60)


def within(seconds: float, holds: Callable[[], bool]) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if holds():
            return True
        time.sleep(0.03)
    return False
