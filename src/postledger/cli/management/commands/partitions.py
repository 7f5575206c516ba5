"""`postledger partitions`: creates, lists and drops the monthly partitions of the ledger."""

from argparse import ArgumentParser
from datetime import UTC, datetime
from typing import override

from django.core.management.base import CommandError

from postledger.cli.base_command import RefusableCommand
from postledger.deliveries import partitions
from postledger.lib import ids
from postledger.privacy import retention


class Command(RefusableCommand):
    help = "Creates the partitions of the coming months and lists all; --drop removes one month."

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
            for name in partitions.create_missing(ahead=ahead):
                self.stdout.write(f"Created partitions for {name}.")
        for month in partitions.list_months():
            self.stdout.write(
                f"{month.name}  {month.bytes / 1_000_000:10.1f} MB"
                f"  {month.live_batch_count} live batches  {month.doubt_count} in doubt"
            )

    def _drop(self, name: str) -> None:
        try:
            month = ids.month_of(datetime.strptime(name, "%Y-%m").replace(tzinfo=UTC))
        except ValueError:
            raise CommandError(f"{name} is not a month: use the form 2026-11.") from None
        if not partitions.exists(month):
            raise CommandError(f"There are no partitions for {name}.")
        retention.drop_month(month)
        self.stdout.write(f"Dropped partitions for {name}.")
