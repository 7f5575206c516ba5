"""The armed windows of one round, and which part of them is answered so far."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from postledger.deliveries.entries import Entry, Window


@dataclass(frozen=True, slots=True)
class Part:
    """What can be settled now: windows, how far in each, and the results up to there."""

    windows: list[Window]
    settled_to: dict[int, int]
    results: list[Entry]


class Sending:
    """A window is settled from its start: only an answered beginning can be booked."""

    def __init__(self, windows: Sequence[Window], positions: Iterable[int]) -> None:
        self._windows = list(windows)
        self._open = sorted(positions)  # still without an answer
        self._answers: dict[int, Entry] = {}

    def answer(self, entry: Entry) -> None:
        self._answers[entry.position] = entry

    def answered(self) -> Part:
        """Takes out what is answered from the start of each window."""
        self._open = [position for position in self._open if position not in self._answers]
        part = Part([], {}, [])
        left: list[Window] = []
        for window in self._windows:
            to = min(
                (at for at in self._open if window.batch.lo <= at < window.to), default=window.to
            )
            if to > window.batch.lo:
                part.windows.append(window)
                part.settled_to[window.batch.id] = to
            if to < window.to:
                left.append(Window(replace(window.batch, lo=to), window.to))
        self._windows = left
        part.results.extend(self._taken(part))
        return part

    def rest(self) -> Part:
        """Takes out everything: what has no answer now will have none."""
        part = Part(self._windows, {}, list(self._answers.values()))
        self._windows, self._answers = [], {}
        return part

    def _taken(self, part: Part) -> Iterable[Entry]:
        ends = [(window.batch.lo, part.settled_to[window.batch.id]) for window in part.windows]
        for position in [at for at in self._answers if any(lo <= at < to for lo, to in ends)]:
            yield self._answers.pop(position)
