"""`postledger partitions`: makes the coming months' room, lists it, drops what is over."""

from argparse import ArgumentParser
from datetime import UTC, datetime
from typing import override

from django.core.management.base import BaseCommand, CommandError

from postledger.deliveries import ledger, partitions
from postledger.lib import ids
from postledger.lib.errors import RefusedError


class Command(BaseCommand):
    help = "Makes the coming months' partitions and lists all; --drop YYYY-MM removes one month."

    @override
    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--ahead", type=int, default=partitions.MONTHS_AHEAD)
        parser.add_argument("--drop", metavar="YYYY-MM", help="remove one month for good")

    @override
    def handle(
        self,
        *args: object,
        ahead: int = partitions.MONTHS_AHEAD,
        drop: str | None = None,
        **options: object,
    ) -> None:
        if drop is not None:
            self._drop(drop)
        else:
            for name in partitions.ensure(ahead=ahead):
                self.stdout.write(f"made {name}")
        for month in partitions.overview():
            self.stdout.write(
                f"{month.name}  {month.bytes / 1_000_000:10.1f} MB"
                f"  {month.live_batch_count} live batches  {month.doubt_count} in doubt"
            )

    def _drop(self, name: str) -> None:
        try:
            month = ids.month_of(datetime.strptime(name, "%Y-%m").replace(tzinfo=UTC))
        except ValueError:
            msg = f"{name} is not a month: write it as 2026-11."
            raise CommandError(msg) from None
        if not partitions.exists(month):
            msg = f"There is no month {name} to drop."
            raise CommandError(msg)
        try:
            ledger.drop_month(month)
        except RefusedError as refused:
            raise CommandError(str(refused)) from None
        self.stdout.write(f"dropped {name}")
