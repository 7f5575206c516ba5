"""The balance: the eight terms of the books as a bar and a sum, each a link to its list."""

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from postledger.deliveries.states import State
from postledger.web.dashboard import formats

# In the order of the equation.
LABELS: Mapping[State, Promise | str] = {
    State.ACCEPTED: _("Accepted"),
    State.FAILED: _("Failed"),
    State.SKIPPED: _("Skipped"),
    State.SUPPRESSED: _("Suppressed"),
    State.EXPIRED: _("Expired"),
    State.CANCELLED: _("Cancelled"),
    State.IN_DOUBT: _("In doubt"),
    State.WAITING: _("Waiting"),
}
_NARROWEST = 1.2  # percent: a part that is not nothing can be seen


@dataclass(frozen=True, slots=True)
class Part:
    state: State
    label: Promise | str
    count: int
    share: str
    x: str
    width: str
    url: str


@dataclass(frozen=True, slots=True)
class Balance:
    planned: int
    url: str
    parts: tuple[Part, ...]

    @property
    def balances(self) -> bool:
        return self.planned == sum(part.count for part in self.parts)


def build_balance(planned: int, states: Mapping[State, int], *, url: str) -> Balance:
    """The balance whose numbers lead to the list at the URL, filtered by state."""
    counts = {state: states.get(state, 0) for state in LABELS}
    parts, x = [], 0.0
    for state, width in find_widths(counts).items():
        parts.append(
            Part(
                state,
                LABELS[state],
                counts[state],
                formats.share(counts[state], planned),
                f"{x:.2f}",
                f"{width:.2f}",
                add_query(url, state=state.value),
            )
        )
        x += width
    return Balance(planned, url, tuple(parts))


def find_widths(counts: Mapping[State, int]) -> dict[State, float]:
    """Percentages that add up to 100; the largest part pays for those that would be too narrow."""
    total = sum(counts.values())
    if not total:
        return dict.fromkeys(counts, 0.0)
    drawn = {
        state: max(_NARROWEST, 100 * number / total) if number else 0.0
        for state, number in counts.items()
    }
    largest = max(drawn, key=drawn.__getitem__)
    drawn[largest] -= sum(drawn.values()) - 100
    return drawn


def add_query(url: str, **values: str) -> str:
    return f"{url}{'&' if '?' in url else '?'}{urlencode(values)}"
