"""The armed windows of one round, and the answers to their mails so far."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from postledger.deliveries.entries import Entry, Window


@dataclass(frozen=True, slots=True)
class SettleRequest:
    """What can be settled now: windows, how far in each, and the results up to there."""

    windows: list[Window]
    settled_to: dict[int, int]
    results: list[Entry]
    is_bare: bool = False  # the results have nothing but their states

    def split(self) -> "list[SettleRequest]":
        """The same results in smaller requests: by window, by mail, and then by its state alone."""
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

    def _cut(self, window: Window, end: int) -> "SettleRequest":
        first = window.batch.lo
        results = [entry for entry in self.results if first <= entry.position < end]
        return SettleRequest([window], {window.batch.id: end}, results)


class InFlight:
    """A window is settled from its start: only an answered beginning can be booked."""

    def __init__(self, windows: Sequence[Window], positions: Iterable[int]) -> None:
        self._windows = list(windows)
        self._unanswered = sorted(positions)
        self._answers: dict[int, Entry] = {}

    def answer(self, entry: Entry) -> None:
        self._answers[entry.position] = entry

    def take_answered(self) -> SettleRequest:
        """Takes out the answered beginning of each window."""
        self._unanswered = [
            position for position in self._unanswered if position not in self._answers
        ]
        request = SettleRequest([], {}, [])
        remaining: list[Window] = []
        for window in self._windows:
            to = min(
                (at for at in self._unanswered if window.batch.lo <= at < window.to),
                default=window.to,
            )
            if to > window.batch.lo:
                request.windows.append(window)
                request.settled_to[window.batch.id] = to
            if to < window.to:
                remaining.append(Window(replace(window.batch, lo=to), window.to))
        self._windows = remaining
        request.results.extend(self._take_results(request))
        return request

    def take_all(self) -> SettleRequest:
        """Takes out everything: no further answer will come."""
        request = SettleRequest(self._windows, {}, list(self._answers.values()))
        self._windows, self._answers = [], {}
        return request

    def _take_results(self, request: SettleRequest) -> Iterable[Entry]:
        ends = [
            (window.batch.lo, request.settled_to[window.batch.id]) for window in request.windows
        ]
        for position in [at for at in self._answers if any(lo <= at < to for lo, to in ends)]:
            yield self._answers.pop(position)


def _bare(entry: Entry) -> Entry:
    return replace(
        entry, code=None, detail=None, message_id=None, original_code=None, bounce_code=None
    )
