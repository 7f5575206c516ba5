"""`just drill-quick`, `just drill`: breaks everything a mail depends on and checks the books."""

import argparse
import platform
import random
import sys
import time
from typing import TYPE_CHECKING

from tests.drill import stage
from tests.drill.saying import say
from tests.drill.size import FULL, QUICK, Size

if TYPE_CHECKING:
    from tests.drill.drill import Drill

SCENARIOS = {
    "crash-points": "processes.crash_points",
    "random-kills": "processes.random_kills",
    "deploys": "processes.deploys",
    "beats": "processes.beats",
    "rabbitmq": "brokers.rabbitmq",
    "redis": "brokers.redis",
    "swapped": "brokers.swapped",
    "bells": "brokers.bells",
    "database-stopped": "databases.stopped",
    "backends": "databases.backends_terminated",
    "disk-full": "databases.disk_full",
    "cuts": "lines.cuts",
    "clocks": "clocks.skewed",
}
# Too long for a quick one: random kills are part of the crash points too, and what was found about
# clocks has tests of its own.
LONG = {"random-kills", "swapped", "clocks"}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("size", choices=["quick", "full"])
    parser.add_argument("scenarios", nargs="*", choices=[[], *SCENARIOS], help="some of them")
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    options = parser.parse_args()
    random.seed(options.seed)
    size = QUICK if options.size == "quick" else FULL
    started = time.monotonic()
    say(f"Python {platform.python_version()}, seed {options.seed}")
    with stage.put_up(workers=size.workers) as drill:
        say(f"put up in {time.monotonic() - started:.0f} s")
        for name in options.scenarios or _usual(size):
            _run(drill, name, size)
        from tests.drill import report

        report.conclude(drill, time.monotonic() - started)
    return 1 if drill.violated else 0


def _usual(size: Size) -> list[str]:
    return [name for name in SCENARIOS if size is FULL or name not in LONG]


def _run(drill: "Drill", name: str, size: Size) -> None:
    import importlib

    module, function = SCENARIOS[name].split(".")
    started, kills, faults = time.monotonic(), drill.kills, drill.faults.total()
    doubts = drill.figures.in_doubt if drill.figures else 0
    drill.customer.start()
    getattr(importlib.import_module(f"tests.drill.{module}"), function)(drill, size)
    ended = time.monotonic()
    drill.come_to_rest()
    rested = time.monotonic() - ended
    broken = drill.judge()
    assert drill.figures
    say(
        f"{name:18} {drill.kills - kills:4} kills {drill.faults.total() - faults:5} faults"
        f" {drill.figures.in_doubt - doubts:4} new in doubt"
        f" {ended - started:6.0f} s, at rest after {rested:4.1f} s:"
        f" {'violated ' + str(len(broken)) if broken else 'holds'}"
    )


if __name__ == "__main__":
    sys.exit(main())
