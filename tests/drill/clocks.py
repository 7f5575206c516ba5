"""Workers whose clocks are wrong, all in the same way."""

import shutil
import subprocess
from pathlib import Path

from tests.drill.drill import Drill
from tests.drill.size import Size


def skewed(drill: Drill, size: Size) -> None:
    library = _library(drill.folder)
    if library is None:
        drill.skipped.append("skewed clocks: there is no C compiler here")
        return
    for seconds in size.skews:
        _replace(drill, LD_PRELOAD=str(library), SKEW_SECONDS=str(seconds))
        drill.pass_time(size.pause + 5)
        # An outage under a wrong clock: how long the sender is held must not depend on it.
        drill.proxy.is_down = True
        drill.pass_time(size.pause)
        drill.proxy.is_down = False
        drill.pass_time(size.pause)
        drill.faults[f"clock wrong by {seconds} s"] += 1
    drill.come_to_rest()
    _replace(drill)


def _library(folder: Path) -> Path | None:
    """Not libfaketime: that one also changes how long waits are."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        return None
    source, made = Path(__file__).with_name("skew.c"), folder / "skew.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", made, source, "-ldl"], check=True)
    return made


def _replace(drill: Drill, **extra: str) -> None:
    """All of them: one with the right time would hold the sender before the others notice."""
    for member in [*drill.fleet.of_role("worker"), *drill.fleet.of_role("beat")]:
        drill.fleet.terminate(member)
        drill.fleet.start(member.role, **extra)
