"""The live page of a run, read in a real browser while the mail goes."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from playwright.sync_api import Page

_EVERY_MS = 200
_MOST_OFF = 0.1  # percent: widths are rounded to hundredths
# Reads what a person sees. A reload would lose the readings, and be noticed.
_READ = """
(every) => {
  const number = (cell) => Number(cell.textContent.replace(/\\D/g, ""));
  window.readings = [];
  const read = () => {
    const sum = document.querySelector("#live .balance-sum");
    const bar = [...document.querySelectorAll("#live .balance-bar rect")];
    window.readings.push({
      at: performance.now() / 1000,
      planned: number(sum.querySelector("tr.total .num")),
      terms: [...sum.querySelectorAll("tr[data-state]")].map(
        (row) => [row.dataset.state, number(row.querySelector(".num"))]
      ),
      drawn: bar.reduce((all, rect) => all + parseFloat(rect.getAttribute("width")), 0),
    });
  };
  read();
  window.setInterval(read, every);
}
"""
_TERMS = 8


@dataclass(frozen=True, slots=True)
class Reading:
    at: float  # seconds, by the clock of the page
    planned: int
    terms: tuple[tuple[str, int], ...]  # the states and their numbers
    drawn: float  # percent of the bar that is filled

    @property
    def adds_up(self) -> bool:
        is_sum = len(self.terms) == _TERMS and self.planned == sum(dict(self.terms).values())
        is_full = abs(self.drawn - (100 if self.planned else 0)) < _MOST_OFF
        return is_sum and is_full

    @property
    def waiting(self) -> int:
        return dict(self.terms)["waiting"]

    @property
    def settled(self) -> int:
        return self.planned - self.waiting

    @property
    def figures(self) -> object:
        return self.planned, self.terms


@dataclass(slots=True)
class Changes:
    """When some figures changed; the first moment is that at which they were first seen."""

    moments: list[float] = field(default_factory=list)
    _figures: object = None

    def note(self, at: float, figures: object) -> None:
        if figures != self._figures:
            self.moments.append(at)
            self._figures = figures

    @property
    def longest_gap(self) -> float:
        """Between two changes."""
        return max((new - old for old, new in pairwise(self.moments)), default=float("inf"))


@dataclass(frozen=True, slots=True)
class Watched:
    readings: Sequence[Reading]

    @property
    def changes(self) -> Changes:
        """Until the last mail had its result."""
        changes = Changes()
        for reading in self.readings:
            changes.note(reading.at, reading.figures)
        return changes

    @property
    def wrong(self) -> list[Reading]:
        return [reading for reading in self.readings if not reading.adds_up]

    @property
    def pace(self) -> float:
        """Results a second, from the first that was seen to the last."""
        moving = [reading for reading in self.readings if reading.settled > 0]
        if len(moving) < 2:
            return 0.0
        end = next((one for one in moving if not one.waiting), moving[-1])
        return (end.settled - moving[0].settled) / max(end.at - moving[0].at, 0.001)


def watch(page: Page, *, mails: int, patience: float, meanwhile: Callable[[], None]) -> Watched:
    """Reads the open page until it says that every mail has a result."""
    page.evaluate(_READ, _EVERY_MS)
    end = time.monotonic() + patience
    readings: list[Reading] = []
    while not (readings and _is_over(readings[-1], mails)):
        if time.monotonic() > end:
            msg = f"the page showed no end within {patience:.0f} s, but {readings[-1:]}"
            raise TimeoutError(msg)
        page.wait_for_timeout(500)
        meanwhile()
        readings += map(_make_reading, page.evaluate("() => window.readings.splice(0)"))
    return Watched(readings)


def _is_over(reading: Reading, mails: int) -> bool:
    return reading.planned >= mails and not reading.waiting


def _make_reading(row: dict[str, Any]) -> Reading:
    terms = tuple((str(state), int(number)) for state, number in row["terms"])
    return Reading(float(row["at"]), int(row["planned"]), terms, float(row["drawn"]))
