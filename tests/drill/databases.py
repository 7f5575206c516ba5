"""A database that crashes, hangs up on its clients, and has no room left."""

import random
import time

from tests.drill.drill import Drill
from tests.drill.size import Size


def stopped(drill: Drill, size: Size) -> None:
    for _ in range(size.database_rounds):
        drill.pass_time(3)
        drill.database.stop("immediate")
        drill.faults["PostgreSQL stopped, immediate"] += 1
        time.sleep(random.uniform(0.5, size.pause))
        drill.database.start()


def backends_terminated(drill: Drill, size: Size) -> None:
    for _ in range(10 * size.database_rounds):
        drill.pass_time(0.4)
        drill.faults["backends terminated"] += drill.database.terminate_backends(3)


def disk_full(drill: Drill, size: Size) -> None:
    if not drill.database.is_small:
        drill.skipped.append("disk full: a small file system cannot be mounted here")
        return
    for _ in range(size.database_rounds):
        drill.pass_time(3)
        drill.database.fill()
        drill.faults["disk full"] += 1
        time.sleep(size.pause + 2)
        drill.database.make_room()
        if not drill.database.is_running():
            drill.database.start()
        drill.pass_time(2)
