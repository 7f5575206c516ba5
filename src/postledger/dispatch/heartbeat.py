"""A worker's sign of life, written every few seconds and taken back at its end."""

from datetime import UTC, datetime, timedelta

from django.db.models.expressions import CombinedExpression
from django.db.models.functions import Now

from postledger.dispatch.models import Worker

# A worker that was killed leaves its last sign behind.
FORGOTTEN_AFTER = timedelta(hours=1)


def sign(
    name: str,
    *,
    started_at: datetime,
    carrying: int,
    claimed_at: datetime | None,
    ticked_at: datetime | None,
) -> None:
    values = {
        "carrying": carrying,
        "claimed_at": _by_the_database(claimed_at),
        "ticked_at": _by_the_database(ticked_at),
        "seen_at": Now(),
    }
    if not Worker.objects.filter(name=name).update(**values):
        Worker.objects.create(name=name, started_at=started_at, **values)
        Worker.objects.filter(seen_at__lt=Now() - FORGOTTEN_AFTER).delete()


def gone(name: str) -> None:
    Worker.objects.filter(name=name).delete()


def _by_the_database(moment: datetime | None) -> CombinedExpression | None:
    """A moment of this process's clock on the database's: others compare it with their own."""
    return None if moment is None else Now() - (datetime.now(UTC) - moment)
