"""How many mails a lost process may have had armed, by its configuration and by what was still to
be sent; pure.
"""

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from postledger.workers.drill.accounts import Exchange, Fault

CAMPAIGN, TRANSACTIONAL = "campaign", "transactional"

# What docs/architecture.md promises of one process: stream workers of one stream, and how many
# mails each arms at once. Written down here again, so that code which arms more is found out.
_MOST_WORKERS = 12  # of one process and one kind
_BULK_WORKERS, _BATCHES_OF_A_CLAIM = 2, 4
_SINGLE_WORKERS = 6


def most_armed(*, connections: int, campaigns: int = 1, singles: int = 1) -> dict[str, int]:
    """By kind, what one process may arm at once of so many streams of that kind."""
    bulk = min(_MOST_WORKERS, _BULK_WORKERS * campaigns)
    single = min(_MOST_WORKERS, _SINGLE_WORKERS * singles)
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
    """A process that sends was lost, or stood still; it happened between these moments."""

    since: float
    until: float


@dataclass(slots=True)
class Asked:
    """How many mails of a kind had been asked for at any moment."""

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
    asked: Asked,
    exchanges: Sequence[Exchange],
    limits: Mapping[str, int],
) -> list[Fault]:
    """Each loss, with the most that it explains: no more than its kind allows, or was to be sent.

    A mail that was taken or refused before the loss was no longer to be sent; only its booking may
    have been open, and that shows on the wire.
    """
    ended = {kind: _ends(exchanges, kind) for kind in limits}
    return [
        Fault(
            loss.since,
            loss.until,
            sum(
                min(limit, _to_be_sent(asked, ended[kind], kind, loss))
                for kind, limit in limits.items()
            ),
        )
        for loss in losses
    ]


def _to_be_sent(asked: Asked, ended: Sequence[float], kind: str, loss: Loss) -> int:
    return max(0, asked.total(kind, at=loss.until) - bisect_right(ended, loss.since))


def _ends(exchanges: Iterable[Exchange], kind: str) -> list[float]:
    """When each mail of a kind was done with, in order."""
    first: dict[str, float] = {}
    for exchange in exchanges:
        if exchange.is_final and kind_of(exchange.address) == kind:
            first.setdefault(exchange.address, exchange.ended_at)
    return sorted(first.values())
