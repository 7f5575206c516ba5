"""The product's processes: started, killed and replaced, with an account of every death."""

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

from tests.drill import books

COMMANDS = Path(sys.executable).parent
# A statement that was under way when its process died is over by then, and no lease has ended.
_AFTERMATH = 2.0


@dataclass
class Member:
    role: str
    popen: subprocess.Popen[bytes]
    started_at: float
    extra: Mapping[str, str]

    @property
    def is_dead(self) -> bool:
        return self.popen.poll() is not None


@dataclass
class Fleet:
    folder: Path
    environment: dict[str, str]
    web_port: int
    members: list[Member] = field(default_factory=list)
    kills: Counter[str] = field(default_factory=Counter)
    armed_at_kills: int = 0
    next_crash: Callable[[str], str | None] = lambda _role: None  # where the next one is to die
    _count: int = 0
    _dead: list[tuple[int, float]] = field(default_factory=list)

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

    def kill(self, member: Member) -> None:
        """As a power cut would: the whole group, without a word."""
        self.kills[f"random, {member.role}"] += 1
        self._end(member, signal.SIGKILL)

    def replace_dead(self) -> list[Member]:
        """Those that died by themselves, each with a fresh one in its place."""
        dead = [member for member in self.members if member.is_dead]
        for member in dead:
            self._bury(member)
            crashed_at = member.extra.get("CRASH_AT", "")
            if crashed_at:
                self.kills[crashed_at.partition(":")[0]] += 1
            self.start_like(member)
        self.count_armed()
        return dead

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

    def any_worker(self) -> Member:
        return random.choice([one for one in self.members if one.role != "web"])

    def of_role(self, role: str) -> list[Member]:
        return [one for one in self.members if one.role == role]

    def count_armed(self, *, wait: bool = False) -> None:
        """What the dead had with the provider: no more than that may end in doubt."""
        while self._dead:
            pid, died_at = self._dead[0]
            rest = died_at + _AFTERMATH - time.monotonic()
            if rest > 0:
                if not wait:
                    return
                time.sleep(rest)
            self.armed_at_kills += books.armed_by(pid)
            self._dead.pop(0)

    def close(self) -> None:
        for member in list(self.members):
            self._end(member, signal.SIGKILL)

    def _end(self, member: Member, number: int) -> None:
        with suppress(ProcessLookupError):
            os.killpg(member.popen.pid, number)
        member.popen.wait(30)
        self._bury(member)

    def _bury(self, member: Member) -> None:
        with suppress(ProcessLookupError):  # a web server's children would outlive it
            os.killpg(member.popen.pid, signal.SIGKILL)
        self.members.remove(member)
        if member.role != "web":
            self._dead.append((member.popen.pid, time.monotonic()))
