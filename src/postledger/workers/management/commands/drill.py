"""`postledger drill`: kills workers under load on a scratch database and checks the books."""

import tempfile
from argparse import ArgumentParser
from pathlib import Path
from typing import override

from django.core.management.base import BaseCommand, CommandError

from postledger.lib.errors import RefusedError
from postledger.workers.drill import oracle, run


class Command(BaseCommand):
    help = (
        "Kills workers while they send, on a scratch database, and checks that the books balance."
    )

    @override
    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--mails", type=int, default=3000)
        parser.add_argument("--kills", type=int, default=10)

    @override
    def handle(self, *args: object, mails: int = 0, kills: int = 0, **options: object) -> None:
        try:
            run.refuse_real_data()
        except RefusedError as refused:
            raise CommandError(str(refused)) from None
        with tempfile.TemporaryDirectory(prefix="postledger-drill-") as folder:
            verdict = run.run(run.Wish(mails, kills), Path(folder))
        for line in run.told(verdict):
            self.stdout.write(line)
        if oracle.violations(verdict.accounts):
            raise CommandError("The books do not balance, or the provider's journal disagrees.")
        self.stdout.write("Nothing was lost and nothing was sent twice.")
