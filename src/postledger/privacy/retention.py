"""Drops the mail of old months, each month as a whole."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from django.db import transaction

from postledger.campaigns.planning import exclusions
from postledger.deliveries import ledger, partitions
from postledger.lib import ids
from postledger.lib.errors import RefusedError
from postledger.notifications.events import retention as past_notifications


@dataclass(frozen=True, slots=True)
class DueMonth:
    """A month to drop, with the number of its mails; `obstacle` says why it must stay."""

    month: int
    mail_count: int
    obstacle: str = ""

    @property
    def name(self) -> str:
        return ids.month_name(self.month)


def list_due(*, months: int) -> Iterator[DueMonth]:
    """The months before the last `months` full ones, by the database's clock; changes nothing."""
    first_kept = partitions.this_month() - months
    for month in partitions.list_months():
        if month.number < first_kept:
            obstacle = ""
            if month.live_batch_count or month.doubt_count:
                obstacle = f"{month.live_batch_count} live batches, {month.doubt_count} in doubt"
            yield DueMonth(month.number, partitions.count_deliveries(month.number), obstacle)


def drop_due(*, months: int) -> Iterator[DueMonth]:
    """Drops them one by one; a month with live batches or doubts stays, with the obstacle."""
    for due in list_due(months=months):
        try:
            drop_month(due.month)
        except RefusedError as error:
            yield replace(due, obstacle=str(error))
        else:
            yield due


def drop_month(month: int) -> None:
    """Drops the mail of one month, and what other packages have of it; all or nothing."""
    # What others have of it is locked until the commit, also if the ledger refuses in the end.
    ledger.refuse_drop(month)
    with transaction.atomic():
        # First: the drop keeps all mail waiting until the commit.
        exclusions.forget_month(month)
        past_notifications.keep_counts(month)
        ledger.drop_month(month)
