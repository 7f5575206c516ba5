"""The clock that deadlines are measured by."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass

type Clock = Callable[[], float]


def boottime() -> float:
    """Seconds on a clock that nobody sets and that runs on while the machine is suspended."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


@dataclass(frozen=True, slots=True)
class Deadline:
    """A moment after which something must not be done any more."""

    moment: float  # of the clock
    clock: Clock = boottime

    def has_passed(self) -> bool:
        return self.clock() >= self.moment

    def seconds_left(self) -> float:
        return self.moment - self.clock()

    def loop_time(self) -> float:
        """The moment on the running event loop's clock, as its timers need it.

        That clock stands still while the machine is suspended, so a timer alone keeps no deadline:
        ask `has_passed` directly before an action that must not come too late.
        """
        return asyncio.get_running_loop().time() + self.seconds_left()
