"""The product's processes: started, stopped, killed and replaced, with an account of every loss."""

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from tools.drill.losses import Loss
from tools.drill.process_groups import by_group, group_members

LEASE = 10.0  # seconds; of every lease of a drill
COMMANDS = Path(sys.executable).parent


@dataclass
class Member:
    """One command with all its processes: a worker is a parent that watches over a child."""

    role: str
    popen: subprocess.Popen[bytes]
    started_at: float
    extra: Mapping[str, str]
    pids: set[int] = field(default_factory=set)  # that were seen alive
    seen_at: float = field(default_factory=time.time)

    @property
    def is_dead(self) -> bool:
        return self.popen.poll() is not None

    @property
    def is_to_crash(self) -> bool:
        return "CRASH_AT" in self.extra

    def missing(self, alive: set[int]) -> set[int]:
        """Its processes that have ended since the last look."""
        gone = self.pids - alive
        self.pids = alive
        return gone


@dataclass
class Fleet:
    folder: Path
    environment: dict[str, str]
    web_port: int
    members: list[Member] = field(default_factory=list)
    kills: Counter[str] = field(default_factory=Counter)
    losses: list[Loss] = field(default_factory=list)  # of processes that send
    unasked: Counter[str] = field(default_factory=Counter)  # deaths that nobody inflicted
    next_crash: Callable[[str], str | None] = lambda _role: None  # where the next one is to die
    _count: int = 0

    def start(self, role: str, **extra: str) -> Member:
        self._count += 1
        with (self.folder / f"{role}-{self._count}.log").open("wb") as log:
            popen = subprocess.Popen(
                self._command(role),
                env={**self.environment, **extra},
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        member = Member(role, popen, time.monotonic(), extra)
        self.members.append(member)
        return member

    def _command(self, role: str) -> list[str]:
        program = str(COMMANDS / "postledger")
        match role:
            case "web":
                return [program, "serve", "--port", str(self.web_port), "--threads", "2"]
            case "beat":
                return [program, "worker", "--beat"]
            case _:
                return [program, "worker"]

    def kill(self, member: Member, *, why: str = "random") -> None:
        """As a power cut would: the whole group, without a word."""
        self.kills[f"{why}, {member.role}"] += 1
        since = time.time()
        self._end(member)
        self._lose(member, since)

    def replace_dead(self, *, replaces: bool = True) -> list[Member]:
        """Those that died where they were told to, or by themselves, each with a fresh one."""
        alive = by_group()
        dead: list[Member] = []
        for member in list(self.members):
            gone = member.missing(set(alive.get(member.popen.pid, ())))
            if member.is_dead or (gone and member.is_to_crash):
                self._bury(member)
                dead.append(member)
            elif gone and member.role != "web":
                # Its parent starts another; nobody inflicted this, so it explains nothing.
                self.unasked[member.role] += 1
            else:
                member.seen_at = time.time()
        for member in dead if replaces else ():
            self.start_like(member)
        return dead

    def _bury(self, member: Member) -> None:
        self._end(member)
        if member.is_to_crash:
            self.kills[member.extra["CRASH_AT"].partition(":")[0]] += 1
            self._lose(member, member.seen_at)
        else:
            self.unasked[member.role] += 1

    def start_like(self, member: Member) -> Member:
        extra = {name: value for name, value in member.extra.items() if name != "CRASH_AT"}
        crash = self.next_crash(member.role)
        return self.start(member.role, **extra, **({"CRASH_AT": crash} if crash else {}))

    def terminate(self, member: Member, *, seconds: float = 120) -> int:
        """As a deploy does; returns the exit code."""
        member.popen.send_signal(signal.SIGTERM)
        code = member.popen.wait(seconds)
        self.members.remove(member)
        return code

    def replace_all(self, **extra: str) -> None:
        """Tells every worker to stop, and starts one like it with another environment."""
        for member in self.workers():
            self.terminate(member)
            self.start(member.role, **extra)

    def stop_for(
        self, member: Member, seconds: float, *, meanwhile: Callable[[float], None]
    ) -> None:
        """SIGSTOP and SIGCONT; `meanwhile` passes the time."""
        since = time.time()
        os.killpg(member.popen.pid, signal.SIGSTOP)
        try:
            meanwhile(seconds)
        finally:
            os.killpg(member.popen.pid, signal.SIGCONT)
        member.pids, member.seen_at = set(group_members(member.popen.pid)), time.time()
        if seconds > LEASE:
            self.losses.append(Loss(since, time.time()))

    def workers(self) -> list[Member]:
        return [one for one in self.members if one.role != "web"]

    def any_worker(self) -> Member:
        return random.choice(self.workers())

    def of_role(self, role: str) -> list[Member]:
        return [one for one in self.members if one.role == role]

    def close(self) -> None:
        for member in list(self.members):
            self._end(member)

    def _lose(self, member: Member, since: float) -> None:
        if member.role != "web":
            self.losses.append(Loss(since, time.time()))

    def _end(self, member: Member) -> None:
        # A stopped process dies as well; children would outlive their parent.
        with suppress(ProcessLookupError):
            os.killpg(member.popen.pid, signal.SIGKILL)
        member.popen.wait(30)
        self.members.remove(member)
