"""Restarts of everything, alone and together: none of them fences the database."""

import signal
from collections.abc import Callable

from tools.drill import fence
from tools.drill.drill import Drill
from tools.drill.oracle import Rule
from tools.drill.size import Size


def restarted(drill: Drill, size: Size) -> None:
    if not fence.is_built():
        drill.skipped.append("the fence: this installation has none")
    epoch = fence.epoch() if fence.is_built() else 0
    kinds: dict[str, Callable[[Drill], None]] = {
        "PostgreSQL": _postgres,
        "Redis": _redis,
        "workers": _workers,
        "everything": _everything,
    }
    for number in range(size.restarts):
        name, restart = list(kinds.items())[number % len(kinds)]
        drill.pass_time(1)
        restart(drill)
        drill.faults[f"{name} restarted"] += 1
        if fence.is_built() and (fence.is_down() or fence.epoch() != epoch):
            drill.violate(Rule.NOTHING_WAITS, f"the database was fenced when {name} restarted")
            return


def _postgres(drill: Drill) -> None:
    with drill.outage():
        drill.database.stop("fast")
        drill.database.start()


def _redis(drill: Drill) -> None:
    drill.redis.end(signal.SIGTERM)
    drill.redis.start()


def _workers(drill: Drill) -> None:
    drill.fleet.replace_all()


def _everything(drill: Drill) -> None:
    members = drill.fleet.workers()
    for member in members:
        drill.fleet.terminate(member)
    _postgres(drill)
    _redis(drill)
    for member in members:
        drill.fleet.start(member.role)
