"""The clock that deadlines are measured by."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass

type Clock = Callable[[], float]


def boottime() -> float:
    """Seconds of a clock that is never set and goes on while the machine is suspended."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


@dataclass(frozen=True, slots=True)
class Deadline:
    """A time after which an action must not be done."""

    moment: float  # of the clock
    clock: Clock = boottime

    def has_passed(self) -> bool:
        return self.clock() >= self.moment

    def seconds_left(self) -> float:
        return self.moment - self.clock()

    def loop_time(self) -> float:
        """The deadline on the running event loop's clock, for its timers.

        That clock stops while the machine is suspended, so a timer alone keeps no deadline: check
        `has_passed` directly before an action that must not be late.
        """
        return asyncio.get_running_loop().time() + self.seconds_left()
