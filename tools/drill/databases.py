"""A database that crashes, hangs up on its clients, stands still, and has no room left."""

import random
import time

from tools.drill.drill import Drill
from tools.drill.size import Size


def stopped(drill: Drill, size: Size) -> None:
    for _ in range(size.database_rounds):
        drill.pass_time(3)
        with drill.outage():
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
        with drill.outage():
            drill.database.fill()
            drill.faults["disk full"] += 1
            time.sleep(size.pause + 2)
            drill.database.make_room()
            if not drill.database.is_running():
                drill.database.start()
        drill.pass_time(2)


def frozen(drill: Drill, size: Size) -> None:
    """Every process of the database stands still; connections stand, and nothing answers."""
    for _ in range(size.freezes):
        drill.pass_time(4)
        with drill.outage():
            drill.database.freeze()
            drill.faults["PostgreSQL frozen"] += 1
            time.sleep(size.standstill)
            drill.database.thaw()


def locked(drill: Drill, size: Size) -> None:
    """Somebody holds the table of batches, as VACUUM FULL does."""
    for _ in range(size.freezes):
        drill.pass_time(4)
        with drill.outage():
            drill.database.lock_batches(size.standstill)
        drill.faults["table of batches locked"] += 1
