"""The badge of a state: a glyph and a word, never a colour alone."""

from collections.abc import Mapping
from dataclasses import dataclass

from django.utils.functional import Promise

from postledger.deliveries.states import State
from postledger.web.dashboard.components.balance import LABELS

ICONS: Mapping[State, str] = {
    State.ACCEPTED: "check",
    State.FAILED: "x",
    State.SKIPPED: "skip",
    State.SUPPRESSED: "ban",
    State.EXPIRED: "hourglass",
    State.CANCELLED: "stop",
    State.IN_DOUBT: "doubt",
    State.WAITING: "clock",
}


@dataclass(frozen=True, slots=True)
class Badge:
    state: str
    icon: str
    label: Promise | str


def badge_of(state: State) -> Badge:
    return Badge(state.value, ICONS[state], LABELS[state])
