"""`postledger drill`: kills workers under load on a scratch database and checks the books."""

import tempfile
from argparse import ArgumentParser
from pathlib import Path
from typing import override

from django.core.management.base import CommandError

from postledger.cli.base_command import RefusableCommand
from postledger.cli.drill import oracle, run


class Command(RefusableCommand):
    help = "Kills workers while they send, on a scratch database, and checks the books."

    @override
    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--mails", type=int, default=3000)
        parser.add_argument("--kills", type=int, default=10)

    @override
    def handle(self, *args: object, mails: int = 0, kills: int = 0, **options: object) -> None:
        run.refuse_real_data()
        with tempfile.TemporaryDirectory(prefix="postledger-drill-") as folder:
            verdict = run.run(mails, kills, Path(folder))
        for line in run.describe(verdict):
            self.stdout.write(line)
        if oracle.violations(verdict.records):
            raise CommandError("The books do not balance, or the provider's journal disagrees.")
        self.stdout.write("Nothing was lost and nothing was sent twice.")
