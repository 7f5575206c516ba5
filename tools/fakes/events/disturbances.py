"""What goes wrong with events on their way; pure, and drawn anew for each event."""

from dataclasses import dataclass, fields
from enum import StrEnum
from typing import ClassVar

from pydantic import ConfigDict

from tools.fakes.http.draws import draw


class Fate(StrEnum):
    ONCE = "once"
    LOST = "lost"
    REPEATED = "repeated"  # the same message again
    REPEATED_ANEW = "repeated_anew"  # the same event in another message


@dataclass(frozen=True, slots=True)
class Disturbances:
    """Probabilities from 0 to 1; times are in seconds."""

    __pydantic_config__: ClassVar = ConfigDict(extra="forbid")
    loss: float = 0.0
    duplication: float = 0.0
    disorder: float = 0.0  # is overtaken: waits for up to `disorder_seconds`
    disorder_seconds: float = 1.0
    delay: float = 0.0  # waits for `delay_seconds`
    delay_seconds: float = 5.0
    seed: int = 0
    is_paused: bool = False  # nothing is published until that ends

    def __post_init__(self) -> None:
        if any(getattr(self, field.name) < 0 for field in fields(self) if field.name != "seed"):
            raise ValueError("Nothing can be less than 0, except the seed")
        if max(self.loss, self.duplication, self.disorder, self.delay) > 1:
            raise ValueError("A probability can be no more than 1")

    def draw_wait(self, number: int) -> float:
        """How long the event with this number waits, in seconds."""
        if self.delay and draw(self.seed, f"delay {number}") < self.delay:
            return self.delay_seconds
        if self.disorder and draw(self.seed, f"disorder {number}") < self.disorder:
            return self.disorder_seconds * draw(self.seed, f"wait {number}")
        return 0.0

    def draw_fate(self, number: int) -> Fate:
        if self.loss and draw(self.seed, f"loss {number}") < self.loss:
            return Fate.LOST
        if self.duplication and draw(self.seed, f"duplication {number}") < self.duplication:
            is_same = draw(self.seed, f"repetition {number}") < 1 / 2
            return Fate.REPEATED if is_same else Fate.REPEATED_ANEW
        return Fate.ONCE
