"""`postledger worker`: a Celery worker with the dispatcher in it."""

import os
import socket
import sys
from argparse import ArgumentParser
from typing import override

from celery.concurrency import get_implementation
from django.core.management.base import BaseCommand

from postledger.config.celery import app


class Command(BaseCommand):
    help = "Sends what is due until it is told to stop; run as many as there are cores."
    # Celery prints what it finds; Django's checks run in `postledger check` and `doctor`.
    requires_system_checks = ()

    @override
    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--beat", action="store_true", help="also ring for upkeep; one worker has to"
        )

    @override
    def handle(self, *args: object, beat: bool = False, **options: object) -> None:
        worker = app.Worker(
            # A name of its own: several run on one machine.
            hostname=f"worker-{os.getpid()}@{socket.gethostname()}",
            pool_cls=get_implementation(app.conf.worker_pool),
            beat=beat,
            # Workers never talk to one another: what they share is in the database.
            without_mingle=True,
            without_gossip=True,
            quiet=True,
        )
        worker.start()
        sys.exit(worker.exitcode or 0)
