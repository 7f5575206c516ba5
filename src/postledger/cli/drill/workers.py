"""Two worker processes of a drill, and the process groups of this machine."""

import os
import random
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

from postledger.cli.drill import evidence
from postledger.cli.drill.losses import Loss

LEASE = timedelta(seconds=10)


@dataclass(slots=True)
class Workers:
    """Starts workers, and replaces those that it kills."""

    folder: Path
    prefix: str
    losses: list[Loss] = field(default_factory=list)
    _running: list[tuple[subprocess.Popen[bytes], bool]] = field(default_factory=list)

    def start(self, *, beat: bool) -> None:
        command = [str(Path(sys.executable).parent / "postledger"), "worker"]
        with (self.folder / "workers.log").open("ab") as log:
            process = subprocess.Popen(  # noqa: S603  our own command
                [*command, "--beat"] if beat else command,
                env={
                    **os.environ,
                    "LEASE_SECONDS": str(int(LEASE.total_seconds())),
                    "QUEUE_PREFIX": self.prefix,
                },
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._running.append((process, beat))

    def kill_one(self) -> None:
        """Kills a worker that has mail with the provider, and its children, if there is one."""
        busy = [
            worker for worker in self._running if evidence.armed_by(*group_members(worker[0].pid))
        ]
        if not busy:
            return
        process, beat = victim = random.choice(busy)  # noqa: S311  no secret
        self._running.remove(victim)
        since = time.time()
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        self.losses.append(Loss(since, time.time()))
        self.start(beat=beat)

    def stop(self) -> None:
        for process, _ in self._running:
            with suppress(ProcessLookupError):
                process.terminate()
        for process, _ in self._running:
            process.wait()


@contextmanager
def run_workers(folder: Path) -> Iterator[Workers]:
    """Runs two workers; one of them has beat."""
    workers = Workers(folder, prefix=f"drill-{uuid4().hex[:8]}")
    try:
        workers.start(beat=True)
        workers.start(beat=False)
        yield workers
    finally:
        workers.stop()


def group_members(group: int) -> list[int]:
    """The ids of all live processes of a group, its leader first."""
    return sorted(by_group().get(group, ()))


def by_group() -> Mapping[int, set[int]]:
    """All live processes of this machine by group; zombies are left out."""
    groups: defaultdict[int, set[int]] = defaultdict(set)
    for path in Path("/proc").iterdir():
        if path.name.isdecimal():
            group = _group_of(path)
            if group is not None:
                groups[group].add(int(path.name))
    return groups


def _group_of(path: Path) -> int | None:
    try:
        status = (path / "stat").read_text()
    except OSError:  # it has ended
        return None
    # The name, in parentheses, may contain anything; after it: state, parent, group.
    state, _, group = status.rpartition(")")[2].split()[:3]
    return None if state == "Z" else int(group)
