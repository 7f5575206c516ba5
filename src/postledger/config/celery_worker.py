"""Celery's worker as Postledger runs it; loading it takes seconds."""

import os
import signal
import socket
import sys
from typing import override

from celery.apps.worker import Worker
from celery.concurrency import get_implementation
from celery.worker import WorkController

from postledger.config.celery import app
from postledger.observability import masking
from postledger.workers import readiness, supervisor


class _Worker(Worker):
    @override
    def install_platform_tweaks(self, worker: WorkController) -> None:
        super().install_platform_tweaks(worker)
        # Celery would start itself anew in this process; that is the supervisor's part.
        signal.signal(signal.SIGHUP, signal.SIG_IGN)


def run(*, with_beat: bool) -> None:
    """Works until a signal ends it, and ends the process."""
    if not sys.stdout.isatty():
        sys.__stdout__ = None  # type: ignore[misc]  # Celery writes there past the log
    # A name of its own: several run on one machine.
    name = f"worker-{os.getpid()}@{socket.gethostname()}"
    masking.keep_readable(name)
    readiness.wait_for_tables(supervisor.heartbeat())
    worker = _Worker(
        app=app,
        hostname=name,
        pool_cls=get_implementation(app.conf.worker_pool),
        with_beat=with_beat,
        # Workers never talk to one another: what they share is in the database.
        without_mingle=True,
        without_gossip=True,
        quiet=True,
    )
    worker.start()
    sys.exit(worker.exitcode or 0)
