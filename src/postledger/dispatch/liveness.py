"""Which workers are alive: those that were seen a moment ago, by the database's clock."""

from datetime import timedelta

from django.db.models import F, QuerySet
from django.db.models.functions import Now

from postledger.dispatch.models import Worker

# Several times as long as a worker takes from one sign of life to the next.
SEEN_WITHIN = timedelta(seconds=30)


def alive() -> QuerySet[Worker]:
    return Worker.objects.filter(seen_at__gt=Now() - SEEN_WITHIN)


def hearing_beat() -> QuerySet[Worker]:
    """Those that heard a tick a moment ago."""
    return alive().filter(ticked_at__gt=F("seen_at") - SEEN_WITHIN)
