"""The armed windows of one round, and which of their mails are answered so far."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from postledger.deliveries.entries import Entry, Window


@dataclass(frozen=True, slots=True)
class Part:
    """What can be settled now: windows, how far in each, and the results up to there."""

    windows: list[Window]
    settled_to: dict[int, int]
    results: list[Entry]
    is_bare: bool = False  # nothing is left of the results but their states

    def smaller(self) -> "list[Part]":
        """The same results in smaller parts: by window, then by mail, then by its state alone."""
        if len(self.windows) > 1:
            return [self._cut(window, self._end(window)) for window in self.windows]
        [window] = self.windows
        first, end = window.batch.lo, self._end(window)
        if end - first > 1:
            starts = [Window(replace(window.batch, lo=at), window.to) for at in range(first, end)]
            return [self._cut(start, start.batch.lo + 1) for start in starts]
        if self.is_bare or not self.results:
            return []
        return [replace(self, results=[_bare(entry) for entry in self.results], is_bare=True)]

    def _end(self, window: Window) -> int:
        return self.settled_to.get(window.batch.id, window.to)

    def _cut(self, window: Window, end: int) -> "Part":
        first = window.batch.lo
        results = [entry for entry in self.results if first <= entry.position < end]
        return Part([window], {window.batch.id: end}, results)


class InFlight:
    """A window is settled from its start: only an answered beginning can be booked."""

    def __init__(self, windows: Sequence[Window], positions: Iterable[int]) -> None:
        self._windows = list(windows)
        self._unanswered = sorted(positions)
        self._answers: dict[int, Entry] = {}

    def answer(self, entry: Entry) -> None:
        self._answers[entry.position] = entry

    def take_answered(self) -> Part:
        """Takes out what is answered from the start of each window."""
        self._unanswered = [
            position for position in self._unanswered if position not in self._answers
        ]
        part = Part([], {}, [])
        left: list[Window] = []
        for window in self._windows:
            to = min(
                (at for at in self._unanswered if window.batch.lo <= at < window.to),
                default=window.to,
            )
            if to > window.batch.lo:
                part.windows.append(window)
                part.settled_to[window.batch.id] = to
            if to < window.to:
                left.append(Window(replace(window.batch, lo=to), window.to))
        self._windows = left
        part.results.extend(self._results(part))
        return part

    def take_rest(self) -> Part:
        """Takes out everything: what has no answer now will have none."""
        part = Part(self._windows, {}, list(self._answers.values()))
        self._windows, self._answers = [], {}
        return part

    def _results(self, part: Part) -> Iterable[Entry]:
        ends = [(window.batch.lo, part.settled_to[window.batch.id]) for window in part.windows]
        for position in [at for at in self._answers if any(lo <= at < to for lo, to in ends)]:
            yield self._answers.pop(position)


def _bare(entry: Entry) -> Entry:
    return replace(entry, code=None, detail=None, message_id=None)
