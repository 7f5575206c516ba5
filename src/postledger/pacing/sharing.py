"""Shares rates among streams: strict by priority, then in equal turns.

Each capacity is shared on its own: a workspace that gets much from one capacity gets no less from
another. Real turns may differ while a workspace has streams at both, and only in who ends first.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_NOTHING = 1e-9  # mails per second


@dataclass(frozen=True, slots=True)
class Claim[K]:
    """A stream that could send now, and the capacities that it draws from."""

    stream: str
    priority: int
    workspace: str
    capacities: tuple[K, ...]  # at least one


@dataclass(frozen=True, slots=True)
class Share[K]:
    rate: float
    bound_by: K  # the capacity that allows no more


def share_rates[K](
    claims: Sequence[Claim[K]], capacities: Mapping[K, float]
) -> dict[str, Share[K]]:
    """The rate of each stream. No capacity is exceeded, and none that a stream could use is left.

    What a stream cannot use, because another capacity binds it, goes to the others.
    """
    left = dict(capacities)
    shares: dict[str, Share[K]] = {}
    for priority in sorted({claim.priority for claim in claims}):
        equals = [claim for claim in claims if claim.priority == priority]
        shares |= _share_equally(equals, left)
    return shares


def _share_equally[K](claims: list[Claim[K]], left: dict[K, float]) -> dict[str, Share[K]]:
    """Raises all rates together until a capacity is used up, then the others further."""
    members = Counter(claim.workspace for claim in claims)
    weights = {claim.stream: 1 / members[claim.workspace] for claim in claims}
    rates = dict.fromkeys(weights, 0.0)
    shares: dict[str, Share[K]] = {}
    while claims:
        demand: dict[K, float] = {}
        for claim in claims:
            for key in claim.capacities:
                demand[key] = demand.get(key, 0.0) + weights[claim.stream]
        tightest = min(demand, key=lambda key: left[key] / demand[key])
        step = left[tightest] / demand[tightest]
        for key, weight in demand.items():
            left[key] = max(left[key] - step * weight, 0.0)
        left[tightest] = 0.0
        for claim in claims:
            rates[claim.stream] += step * weights[claim.stream]
            bound_by = next((key for key in claim.capacities if left[key] < _NOTHING), None)
            if bound_by is not None:
                shares[claim.stream] = Share(rates[claim.stream], bound_by)
        claims = [claim for claim in claims if claim.stream not in shares]
    return shares
