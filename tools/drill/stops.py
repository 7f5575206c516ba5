"""Workers that are stopped and go on: for a while, and for longer than their leases."""

import random

from tools.drill import books
from tools.drill.drill import Drill
from tools.drill.fleet import LEASE, Member
from tools.drill.process_groups import group_members
from tools.drill.size import Size

_SHORT = (0.5, 5.0)
_LONG = (LEASE + 6, LEASE + 10)  # swept, and given to somebody else


def stopped(drill: Drill, size: Size) -> None:
    for number in range(size.stops):
        drill.pass_time(random.uniform(0.5, 2))
        is_long = number % 4 == 3
        seconds = random.uniform(*(_LONG if is_long else _SHORT))
        drill.fleet.stop_for(_victim(drill), seconds, meanwhile=drill.pass_time)
        drill.faults[f"worker stopped, {'long' if is_long else 'short'}"] += 1


def _victim(drill: Drill) -> Member:
    workers = drill.fleet.workers()
    for _ in range(50):
        busy = [one for one in workers if books.armed_by(*group_members(one.popen.pid))]
        if busy:
            return random.choice(busy)
        drill.pass_time(0.05)
    return random.choice(workers)
