"""How many mails a killed process may have had armed, by configuration and unsent mails; pure."""

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from tools.drill.records import Exchange, Fault

CAMPAIGN, TRANSACTIONAL = "campaign", "transactional"

# What one process promises: the stream workers of a kind and of one stream, and how many mails each
# arms at once. The limits of the dispatcher are repeated here, so that code which arms more is
# noticed.
_BULK_WORKERS, _BULK_WORKERS_OF_A_STREAM, _BATCHES_OF_A_CLAIM = 12, 2, 4
_SINGLE_WORKERS, _SINGLE_WORKERS_OF_A_STREAM = 10, 6


def most_armed(*, connections: int, campaigns: int, singles: int) -> dict[str, int]:
    """By kind, how many mails one process may arm at once in this many streams."""
    bulk = min(_BULK_WORKERS, _BULK_WORKERS_OF_A_STREAM * campaigns)
    single = min(_SINGLE_WORKERS, _SINGLE_WORKERS_OF_A_STREAM * singles)
    return {
        CAMPAIGN: bulk * _BATCHES_OF_A_CLAIM * connections,
        TRANSACTIONAL: single * connections,
    }


def kind_of(address: str) -> str:
    """Drills write single mails to `s17@`, also behind a word for the server: `soon+2+s17@`."""
    name = address.partition("@")[0].rpartition("+")[2]
    return TRANSACTIONAL if name.startswith("s") else CAMPAIGN


@dataclass(frozen=True, slots=True)
class Loss:
    """A sending process was killed or stopped between these times."""

    since: float
    until: float


@dataclass(slots=True)
class RequestedMails:
    """How many mails of a kind had been requested by any time."""

    _moments: dict[str, list[float]] = field(default_factory=dict)
    _totals: dict[str, list[int]] = field(default_factory=dict)

    def add(self, kind: str, count: int, *, at: float) -> None:
        self._moments.setdefault(kind, []).append(at)
        totals = self._totals.setdefault(kind, [])
        totals.append(count + (totals[-1] if totals else 0))

    def total(self, kind: str, *, at: float) -> int:
        index = bisect_right(self._moments.get(kind, []), at)
        return self._totals[kind][index - 1] if index else 0


def faults(
    losses: Iterable[Loss],
    *,
    asked: RequestedMails,
    exchanges: Sequence[Exchange],
    limits: Mapping[str, int],
) -> list[Fault]:
    """Each loss with the number of doubts that it can explain.

    A mail that was taken or refused before the loss counts as sent; only its booking may have been
    open, and that is visible on the wire.
    """
    ended = {kind: _ends(exchanges, kind) for kind in limits}
    return [
        Fault(
            loss.since,
            loss.until,
            sum(
                min(limit, _count_unsent(asked, ended[kind], kind, loss))
                for kind, limit in limits.items()
            ),
        )
        for loss in losses
    ]


def _count_unsent(asked: RequestedMails, ended: Sequence[float], kind: str, loss: Loss) -> int:
    return max(0, asked.total(kind, at=loss.until) - bisect_right(ended, loss.since))


def _ends(exchanges: Iterable[Exchange], kind: str) -> list[float]:
    """The times at which mails of a kind were taken or refused, in order."""
    first: dict[str, float] = {}
    for exchange in exchanges:
        if exchange.is_final and kind_of(exchange.address) == kind:
            first.setdefault(exchange.address, exchange.ended_at)
    return sorted(first.values())
