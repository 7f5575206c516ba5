"""The order of the causes that hold a stream at once: people are told the first as the reason."""

from collections.abc import Iterable
from datetime import datetime

from postledger.deliveries.entries import Hold
from postledger.deliveries.reasons import Reason

# Where two end at the same moment, a limit says more than what ends with it.
_RANKS = {
    Reason.DAILY_LIMIT: 0,
    Reason.QUOTA_EXHAUSTED: 1,
    Reason.OUTSIDE_HOURS: 2,
    Reason.RATE_PER_HOUR: 3,
}


def sort_in_force(holds: Iterable[Hold], *, now: datetime) -> tuple[Hold, ...]:
    """The causes in force: what ends last comes first, before it what has no end."""
    return sort_causes(hold for hold in holds if hold.until is None or hold.until > now)


def sort_causes(holds: Iterable[Hold]) -> tuple[Hold, ...]:
    """What ends last comes first, before it what has no end: work goes on when all have ended."""
    return tuple(sorted(holds, key=_order))


def _order(hold: Hold) -> tuple[float, int, str, str]:
    end = float("inf") if hold.until is None else hold.until.timestamp()
    return -end, _RANKS.get(hold.reason, len(_RANKS)), hold.reason.value, hold.scope.value
