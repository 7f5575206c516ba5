"""How long mail is remembered: whole months go once nobody needs them any more."""

from collections.abc import Iterator
from dataclasses import dataclass

from postledger.deliveries import ledger, mailed, partitions
from postledger.lib import ids
from postledger.lib.errors import RefusedError


@dataclass(frozen=True, slots=True)
class Due:
    """A month that is to go, and what would go with it; `kept` says why it cannot yet."""

    month: int
    lines: int
    kept: str = ""

    @property
    def name(self) -> str:
        return ids.month_name(self.month)


def due(*, months: int) -> Iterator[Due]:
    """The months before the last `months` ones, this one not counted; nothing is changed.

    Which month this one is says the database's clock.
    """
    first_kept = partitions.this_month() - months
    for month in partitions.overview():
        if month.number < first_kept:
            kept = ""
            if month.live_batch_count or month.doubt_count:
                kept = f"{month.live_batch_count} live batches, {month.doubt_count} in doubt"
            yield Due(month.number, mailed.lines_of_month(month.number), kept)


def apply(*, months: int) -> Iterator[Due]:
    """Drops them, each by itself; what still has work or doubts stays, and says so."""
    for found in due(months=months):
        try:
            ledger.drop_month(found.month)
        except RefusedError as refused:
            yield Due(found.month, found.lines, str(refused))
        else:
            yield found
