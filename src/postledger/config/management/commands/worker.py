"""`postledger worker`: a supervisor, and under it a Celery worker with the dispatcher in it."""

import sys
from argparse import SUPPRESS, ArgumentParser
from typing import override

from django.core.management.base import BaseCommand

from postledger.workers.supervisor import MOST_SILENCE, Program, Supervisor

# -P: nothing is imported from the current folder.
_PROCESS = (sys.executable, "-P", "-m", "postledger.config.worker_process")


class Command(BaseCommand):
    help = "Sends due mail until it is stopped; run one for each core."
    # `postledger check` and `doctor` run the system checks.
    requires_system_checks = ()

    @override
    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--beat", action="store_true", help="also schedule the upkeep; one worker needs it"
        )
        # For tests, which cannot wait a minute for a hanging worker.
        parser.add_argument("--most-silence", type=float, default=MOST_SILENCE, help=SUPPRESS)

    @override
    def handle(
        self,
        *args: object,
        beat: bool = False,
        most_silence: float = MOST_SILENCE,
        **options: object,
    ) -> None:
        command = [*_PROCESS, "--beat"] if beat else _PROCESS
        sys.exit(Supervisor([Program("worker", command, most_silence)]).run())
