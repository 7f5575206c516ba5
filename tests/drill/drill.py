"""One drill: an installation with everything it needs, what was done to it, and the verdict."""

import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from postledger.workers.drill import evidence, oracle
from postledger.workers.drill.oracle import Accounts, Figures, Rule, Violation
from tests.drill import books, chaos
from tests.drill.chaos import Proxy
from tests.drill.customer import Customer
from tests.drill.fleet import Fleet
from tests.drill.saying import say
from tests.drill.services import Postgres, RabbitMQ, Redis_

LEASE = 10.0
OVER_WITHIN = LEASE + 140.0
PASSWORD = "hunter2-of-the-drill"
_AT_ONCE = 300
_MOST_TOLD = 5
_ANSWERS_WITHIN = 20.0


@dataclass
class Drill:
    folder: Path
    database: Postgres
    rabbitmq: RabbitMQ
    redis: Redis_
    proxy: Proxy
    fleet: Fleet
    customer: Customer
    workspace_id: int
    stream_id: int
    faults: Counter[str] = field(default_factory=Counter)
    violated: list[Violation] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    figures: Figures | None = None
    longest_wait: float = 0.0
    _planned: int = 0
    _explained: int = 0
    _doubts: int = 0

    @property
    def kills(self) -> int:
        return sum(self.fleet.kills.values())

    def feed(self) -> None:
        """Keeps some work waiting; nothing is proved by killing the idle."""
        if self.waiting() < _AT_ONCE:
            books.plan(self.stream_id, self._planned, _AT_ONCE)
            self._planned += _AT_ONCE

    def reserve(self, count: int) -> int:
        """Numbers for somebody else to plan."""
        first, self._planned = self._planned, self._planned + count
        return first

    def waiting(self) -> int:
        return books.persistently(lambda: evidence.waiting(self.workspace_id))

    def pass_time(self, seconds: float) -> None:
        """Lets work go on, replaces what died, and keeps feeding."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.feed()
            self.fleet.replace_dead()
            time.sleep(0.1)

    def come_to_rest(self) -> None:
        """After the last fault: everything that waits has to end by itself."""
        self.proxy.cut = None
        self.customer.stop()
        started = time.monotonic()
        while time.monotonic() - started < OVER_WITHIN:
            self.fleet.replace_dead()
            if not self.waiting():
                break
            time.sleep(0.2)
        self.longest_wait = max(self.longest_wait, time.monotonic() - started)
        self.fleet.count_armed(wait=True)

    def judge(self) -> list[Violation]:
        accounts = self._settled()
        broken = oracle.violations(accounts)
        for violation in broken[:_MOST_TOLD]:
            now = datetime.now(UTC)
            for line in evidence.told(violation, accounts.journal, now=now):
                say(line)
        self.violated += broken
        self.figures = oracle.figures(accounts)
        self._doubts, self._explained = self.figures.in_doubt, self.explained()
        return broken

    def _settled(self) -> Accounts:
        """A worker that lost its database keeps its answers and books them when it is back."""
        end = time.monotonic() + _ANSWERS_WITHIN
        while True:
            accounts = books.persistently(self._accounts)
            found = {violation.rule for violation in oracle.violations(accounts)}
            if Rule.FEW_DOUBTS not in found or time.monotonic() > end:
                return accounts
            time.sleep(1)

    def explained(self) -> int:
        """How many doubts the faults so far account for."""
        cut = sum(self.proxy.counts[cut] for cut in chaos.AMBIGUOUS)
        return self.fleet.armed_at_kills + cut

    def _accounts(self) -> Accounts:
        with (self.folder / "journal").open() as lines:
            journal = evidence.journal(lines)
        secrets = [PASSWORD, self.customer.token, self.fleet.environment["SECRET_KEY"]]
        return Accounts(
            journal=journal,
            ledger=evidence.ledger(self.workspace_id),
            promised=self.customer.promised,
            # Those of before stand; what came since has to be explained by what was done since.
            most_in_doubt=self._doubts + self.explained() - self._explained,
            findings=evidence.findings(self.workspace_id),
            leaks=evidence.leaks(
                self.fleet.folder.glob("*.log"), secrets=secrets, domain="drill.example"
            ),
        )


@dataclass
class Office:
    """The post office's process."""

    folder: Path
    port: int
    popen: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        command = [sys.executable, "-m", "tests.drill.post_office", str(self.port)]
        self.popen = subprocess.Popen([*command, str(self.folder / "journal")])

    def end(self) -> None:
        if self.popen is not None:
            self.popen.send_signal(signal.SIGKILL)
            self.popen.wait()
