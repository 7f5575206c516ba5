"""When mails may go on this process's clock: moments of Redis's clock, and a local pace without it.

Times are seconds of the event loop's clock unless a name says otherwise.
"""

import math
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from postledger.pacing.limits import MICROSECONDS, LocalPace, SenderLimits, to_interval

# A mail that is later than this does not go: its neighbours of other workers have their moments.
LATEST = 0.25
# How far ahead moments are taken without Redis, and what is no jitter of a clock any more.
_AHEAD, _CLOCK_STEP = 0.5, 1.0
# An event loop wakes up some milliseconds late; the next mail need not wait for that.
_JITTER = 0.01
# Mails of a fast sender go in small groups, none before its moment: a call for each costs more.
_TOGETHER = 0.005
_SAMPLES = 64

type _Whose = tuple[str, int]  # "sender" or "account", and its id


class ClockOffset:
    """How far this clock is ahead of Redis's, never guessed too small.

    An answer was written before it arrived, so every answer shows a bound from above; the lowest
    of the last ones is the nearest. A mail may go a moment late by it, and none goes early.
    """

    def __init__(self) -> None:
        self._bounds: deque[float] = deque(maxlen=_SAMPLES)

    def observe(self, redis_now: int, received_at: float) -> None:
        bound = received_at - redis_now / MICROSECONDS
        if self._bounds and abs(bound - min(self._bounds)) > _CLOCK_STEP:
            self._bounds.clear()  # Redis's clock was set, or it is another Redis
        self._bounds.append(bound)

    def to_local(self, moment: int) -> float:
        return moment / MICROSECONDS + min(self._bounds)


@dataclass(slots=True)
class LocalCalendar:
    """The pace of one process while Redis is away."""

    _next: dict[_Whose, float] = field(default_factory=dict)

    def take(
        self, count: int, pace: LocalPace, *, sender_id: int, account_id: int, now: float
    ) -> list[float]:
        """Up to so many of the next moments; none if the first is too far ahead."""
        rates = {("sender", sender_id): pace.sender, ("account", account_id): pace.account}
        interval = max(1 / rate for rate in rates.values()) if rates else 0.0
        moment = max(now, *(self._next.get(key, now) for key in rates))
        moments: list[float] = []
        while len(moments) < count and moment <= now + _AHEAD:
            moments.append(moment)
            moment += interval
        if moments:
            for key, rate in rates.items():
                if not math.isinf(rate):
                    self._next[key] = moments[-1] + 1 / rate
        return moments


class Line:
    """The least distances between mails that leave this process, for a sender and its account.

    A process that was held up has several mails whose moments have passed: they leave one after
    the other, not in a burst.
    """

    def __init__(
        self, free: dict[_Whose, float], intervals: Mapping[tuple[str, int], float]
    ) -> None:
        self._free = free  # shared by all lines of the process
        self._intervals = intervals

    def find_start(self, moment: float) -> float:
        """When a mail may leave that has this moment."""
        return max([moment, *(self._free.get(key, moment) - _JITTER for key in self._intervals)])

    def leave(self, count: int, now: float) -> None:
        for key, interval in self._intervals.items():
            self._free[key] = max(self._free.get(key, now), now) + interval * count


def group_moments(moments: Sequence[float]) -> Iterator[tuple[float, int]]:
    """Moments that lie together, each group with its last one: one call hands their mails over."""
    first, last, count = -math.inf, -math.inf, 0
    for moment in moments:
        if moment - first > _TOGETHER and count:
            yield last, count
            count = 0
        if not count:
            first = moment
        last, count = moment, count + 1
    if count:
        yield last, count


def find_intervals(limits: SenderLimits) -> dict[_Whose, float]:
    rates = {
        ("sender", limits.sender_id): limits.rate,
        ("account", limits.account.account_id): limits.account.rate,
    }
    return {
        key: to_interval(rate) / MICROSECONDS for key, rate in rates.items() if rate is not None
    }
