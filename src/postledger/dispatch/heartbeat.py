"""A worker's heartbeat in the database, and which workers are alive by it."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.db.models import Count, F, Max, Q, QuerySet
from django.db.models.expressions import CombinedExpression
from django.db.models.functions import Now

from postledger.dispatch.models import Worker

# Several times as long as a worker takes from one heartbeat to the next.
ALIVE_WITHIN = timedelta(seconds=30)
# A killed worker leaves its last heartbeat behind.
FORGOTTEN_AFTER = timedelta(hours=1)


def write(
    name: str,
    *,
    started_at: datetime,
    busy_streams: int,
    claimed_at: datetime | None,
    ticked_at: datetime | None,
) -> None:
    values = {
        "busy_streams": busy_streams,
        "claimed_at": _by_database_clock(claimed_at),
        "ticked_at": _by_database_clock(ticked_at),
        "seen_at": Now(),
    }
    if not Worker.objects.filter(name=name).update(**values):
        Worker.objects.create(name=name, started_at=started_at, **values)
        Worker.objects.filter(seen_at__lt=Now() - FORGOTTEN_AFTER).delete()


def remove(name: str) -> None:
    Worker.objects.filter(name=name).delete()


def alive() -> QuerySet[Worker]:
    return Worker.objects.filter(seen_at__gt=Now() - ALIVE_WITHIN)


@dataclass(frozen=True, slots=True)
class LivingWorkers:
    count: int
    last_seen_at: datetime | None  # the last sign of life of any, dead ones included


def read_living() -> LivingWorkers:
    """By the database's clock, in one query."""
    is_alive = Q(seen_at__gt=Now() - ALIVE_WITHIN)
    row = Worker.objects.aggregate(count=Count("name", filter=is_alive), last=Max("seen_at"))
    return LivingWorkers(row["count"], row["last"])


def count_alive() -> int:
    return alive().count()


def hearing_beat() -> QuerySet[Worker]:
    """The workers that heard a tick of Celery beat a moment ago."""
    return alive().filter(ticked_at__gt=F("seen_at") - ALIVE_WITHIN)


def _by_database_clock(moment: datetime | None) -> CombinedExpression | None:
    """A moment of this process's clock on the database's: others compare it with theirs."""
    return None if moment is None else Now() - (datetime.now(UTC) - moment)
