"""`just drill-quick`, `just drill`: breaks everything a mail depends on and checks the books.

`python -m tools.drill full NAME … --seed N --record FILE` runs some scenarios and appends their
figures to a file; `python -m tools.drill sum FILE` adds up the runs of one commit.
"""

import argparse
import json
import platform
import random
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tools.drill import run_log, stage
from tools.drill.saying import say
from tools.drill.size import FULL, QUICK, Size

if TYPE_CHECKING:
    from tools.drill.drill import Drill

SCENARIOS = {
    "crash-points": "processes.crash_points",
    "random-kills": "processes.random_kills",
    "deploys": "processes.deploys",
    "beats": "processes.beats",
    "stops": "stops.stopped",
    "rabbitmq": "brokers.rabbitmq",
    "redis": "brokers.redis",
    "swapped": "brokers.swapped",
    "wake-ups": "brokers.wake_ups",
    "database-stopped": "databases.stopped",
    "backends": "databases.backends_terminated",
    "disk-full": "databases.disk_full",
    "database-frozen": "databases.frozen",
    "database-locked": "databases.locked",
    "cuts": "lines.cuts",
    "answers": "answers.scripted",
    "ses": "on_http.ses",
    "sendgrid": "on_http.sendgrid",
    "people": "people.busy",
    "runs": "runs.planned",
    "notifications": "notices.told",
    "three-deaths": "poison.three_deaths",
    "poison": "poison.poisoned_mail",
    "clocks": "clocks.skewed",
    "restarts": "restarts.restarted",
    "promoted": "gaps.promoted",
    "restored": "gaps.restored",
    # Last: the database's clock stays where it was set.
    "database-clock": "clocks.stepped",
}
# What the quick drill has time for: one scenario of each kind of trouble.
USUAL = (
    *("crash-points", "stops", "database-stopped", "disk-full", "cuts", "ses", "answers"),
    *("people", "notifications"),
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("size", choices=["quick", "full", "sum"])
    parser.add_argument("names", nargs="*", help="scenarios, or the file to sum")
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    parser.add_argument("--record", type=Path, help="append the figures to this file")
    options = parser.parse_intermixed_args()
    if options.size == "sum":
        [file] = options.names
        say(json.dumps(run_log.add_up(Path(file).read_text().splitlines()), indent=2))
        return 0
    size = QUICK if options.size == "quick" else FULL
    names = options.names or (list(USUAL) if size is QUICK else list(SCENARIOS))
    unknown = [name for name in names if name not in SCENARIOS]
    if unknown:
        parser.error(f"there is no scenario {unknown[0]}; choose of {', '.join(SCENARIOS)}")
    random.seed(options.seed)
    figures = {"commit": run_log.commit(), "seed": options.seed, "scenarios": names}
    figures |= _drill(names, size, options.seed)
    if options.record:
        run_log.append(options.record, figures)
    return 1 if figures["violations"] else 0


def _drill(names: list[str], size: Size, seed: int) -> dict[str, Any]:
    started = time.monotonic()
    say(f"Python {platform.python_version()}, seed {seed}")
    with stage.put_up(workers=size.workers, has_queue=size.has_queue) as drill:
        say(f"put up in {time.monotonic() - started:.0f} s")
        for name in names:
            _run(drill, name, size)
        from tools.drill import report

        return report.conclude(drill, time.monotonic() - started)


def _run(drill: "Drill", name: str, size: Size) -> None:
    import importlib

    module, function = SCENARIOS[name].split(".")
    started, kills, faults = time.monotonic(), drill.kills, drill.faults.total()
    doubts = drill.figures.in_doubt if drill.figures else 0
    drill.customer.start()
    getattr(importlib.import_module(f"tools.drill.{module}"), function)(drill, size)
    ended = time.monotonic()
    drill.come_to_rest()
    rested = time.monotonic() - ended
    violated = len(drill.violated)
    drill.judge()
    assert drill.figures
    broken = len(drill.violated) - violated
    say(
        f"{name:18} {drill.kills - kills:4} kills {drill.faults.total() - faults:5} faults"
        f" {drill.figures.in_doubt - doubts:4} new in doubt"
        f" {ended - started:6.0f} s, at rest after {rested:4.1f} s:"
        f" {f'violated {broken}' if broken else 'holds'}"
    )


if __name__ == "__main__":
    sys.exit(main())
