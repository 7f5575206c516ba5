"""`postledger worker`: a Celery worker with the dispatcher in it."""

import os
from argparse import ArgumentParser
from tempfile import mkdtemp
from typing import override

from django.core.management.base import BaseCommand

from postledger.config.celery import app

# Workers never talk to one another: what they share is in the database.
_ALONE = ("--without-mingle", "--without-gossip")


class Command(BaseCommand):
    help = "Sends what is due until it is told to stop; run as many as there are cores."
    # Celery prints what it finds; Django's checks run in `postledger check` and `doctor`.
    requires_system_checks = ()

    @override
    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--beat", action="store_true", help="also ring for upkeep; one worker has to"
        )
        parser.add_argument("--schedule", default="", help="where beat remembers its last runs")

    @override
    def handle(
        self, *args: object, beat: bool = False, schedule: str = "", **options: object
    ) -> None:
        flags = ["--beat", "--schedule", schedule or _nowhere()] if beat else []
        # A name of its own: several run on one machine.
        name = f"--hostname=worker-{os.getpid()}@%h"
        app.worker_main(["worker", name, *_ALONE, *flags])


def _nowhere() -> str:
    """Beat may forget its last runs: everything it rings for may be rung for again."""
    return f"{mkdtemp(prefix='postledger-beat-')}/schedule"
