"""`postledger worker`: a supervisor, and under it a Celery worker with the dispatcher in it."""

import sys
from argparse import SUPPRESS, ArgumentParser
from typing import override

from django.core.management.base import BaseCommand

from postledger.workers.supervisor import MOST_SILENCE, Program, Supervisor

# -P: what lies in the current folder is not imported.
_PROCESS = (sys.executable, "-P", "-m", "postledger.config.worker_process")


class Command(BaseCommand):
    help = "Sends what is due until it is told to stop; run as many as there are cores."
    # Celery prints what it finds; Django's checks run in `postledger check` and `doctor`.
    requires_system_checks = ()

    @override
    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--beat", action="store_true", help="also ring for upkeep; one worker has to"
        )
        # For tests: nobody waits a minute for a hanging worker there.
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
