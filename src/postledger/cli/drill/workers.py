"""Two worker processes of a drill."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

from postledger.cli.drill import reading
from postledger.cli.drill.losses import Loss
from postledger.cli.drill.process_groups import group_members

LEASE = timedelta(seconds=10)


@dataclass(frozen=True, slots=True)
class _Worker:
    process: subprocess.Popen[bytes]
    has_beat: bool


@dataclass(slots=True)
class Workers:
    """Starts workers, and replaces those that it kills."""

    folder: Path
    prefix: str
    losses: list[Loss] = field(default_factory=list)
    _running: list[_Worker] = field(default_factory=list)

    def start(self, *, has_beat: bool) -> None:
        command = [str(Path(sys.executable).parent / "postledger"), "worker"]
        with (self.folder / "workers.log").open("ab") as log:
            process = subprocess.Popen(  # noqa: S603  our own command
                [*command, "--beat"] if has_beat else command,
                env={
                    **os.environ,
                    "LEASE_SECONDS": str(int(LEASE.total_seconds())),
                    "QUEUE_PREFIX": self.prefix,
                },
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._running.append(_Worker(process, has_beat))

    def kill_one(self) -> None:
        """Kills a worker that has mail with the provider, and its children, if there is one."""
        busy = [
            worker
            for worker in self._running
            if reading.armed_by(*group_members(worker.process.pid))
        ]
        if not busy:
            return
        victim = random.choice(busy)  # noqa: S311  no secret
        self._running.remove(victim)
        since = time.time()
        with suppress(ProcessLookupError):
            os.killpg(victim.process.pid, signal.SIGKILL)
        victim.process.wait()
        self.losses.append(Loss(since, time.time()))
        self.start(has_beat=victim.has_beat)

    def stop(self) -> None:
        for worker in self._running:
            with suppress(ProcessLookupError):
                worker.process.terminate()
        for worker in self._running:
            worker.process.wait()


@contextmanager
def run_workers(folder: Path) -> Iterator[Workers]:
    """Runs two workers; one of them has beat."""
    workers = Workers(folder, prefix=f"drill-{uuid4().hex[:8]}")
    try:
        workers.start(has_beat=True)
        workers.start(has_beat=False)
        yield workers
    finally:
        workers.stop()
