"""A drill on a user's own scratch database: mail for the sandbox, two workers, and kill -9."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import ClassVar
from uuid import uuid4

from django.db import connection
from psycopg import sql as pg

from postledger.accounts import actions
from postledger.deliveries import ledger, queries
from postledger.deliveries.entries import Body, Kind
from postledger.lib.errors import RefusedError
from postledger.workers.drill import evidence, oracle
from postledger.workers.drill.oracle import Accounts

LEASE = timedelta(seconds=10)
OVER_WITHIN = LEASE + timedelta(seconds=60)
DOMAIN = "drill.example"
_SCRATCH = ("drill", "scratch", "test")
# Each takes the sandbox a second, so that a kill finds many of them under way.
_PEOPLE = pg.SQL(
    "SELECT 'slow+' || n || '@drill.example' AS address, NULL::text AS dedupe_key,"
    " NULL::bigint AS contact_id, NULL::text AS variables, 0 AS letter, NULL::text AS kept_back"
    " FROM generate_series(%(first)s::int, %(last)s::int) AS n (n)"
)
_CHUNK = 10_000
# A statement that was under way when its process died is over by then.
_AFTERMATH = 0.5


class NotScratchError(RefusedError):
    code: ClassVar[str] = "not_scratch"


@dataclass(frozen=True, slots=True)
class Wish:
    mails: int
    kills: int


@dataclass(frozen=True, slots=True)
class Verdict:
    accounts: Accounts
    kills: int
    seconds: float


@dataclass(slots=True)
class _Workers:
    """Two workers in processes of their own; one that is killed is replaced."""

    folder: Path
    prefix: str
    armed: int = 0  # with the provider when their worker was killed
    kills: int = 0
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
            )
        self._running.append((process, beat))

    def kill_one(self) -> None:
        """Kills one that has mail with the provider; does nothing when none has."""
        busy = [one for one in self._running if evidence.armed_by(one[0].pid)]
        if not busy:
            return
        process, beat = victim = random.choice(busy)  # noqa: S311  no secret
        self._running.remove(victim)
        process.send_signal(signal.SIGKILL)
        process.wait()
        self.kills += 1
        self.start(beat=beat)
        time.sleep(_AFTERMATH)
        self.armed += evidence.armed_by(process.pid)

    def stop(self) -> None:
        for process, _ in self._running:
            with suppress(ProcessLookupError):
                process.terminate()
        for process, _ in self._running:
            process.wait()


def refuse_real_data() -> None:
    """A database that has streams is left alone, unless its name says that it may be used."""
    name = str(connection.settings_dict["NAME"])
    if queries.stream_ids(limit=1) and not any(word in name for word in _SCRATCH):
        raise NotScratchError(
            f"The database {name} has mail in it. Name another one in DATABASE_URL: an empty one,"
            f" or one whose name says {', '.join(_SCRATCH)}."
        )


def run(wish: Wish, folder: Path) -> Verdict:
    started = time.monotonic()
    journal = folder / "journal"
    journal.touch()
    workspace_id = _planned(wish.mails, journal)
    with _workers(folder) as workers:
        _wreak(workers, workspace_id, wish.kills)
        _wait_for_rest(workspace_id)
    with journal.open() as lines:
        taken = evidence.journal(lines)
    accounts = Accounts(
        journal=taken,
        ledger=evidence.ledger(workspace_id),
        most_in_doubt=workers.armed,
        findings=evidence.findings(workspace_id),
        leaks=evidence.leaks([folder / "workers.log"], secrets=[], domain=DOMAIN),
    )
    return Verdict(accounts, workers.kills, time.monotonic() - started)


def told(verdict: Verdict) -> Iterator[str]:
    """Every violation with its story, and at the end the figures."""
    now, broken = datetime.now(UTC), oracle.violations(verdict.accounts)
    for violation in broken:
        yield from evidence.told(violation, verdict.accounts.journal, now=now)
    figures = oracle.figures(verdict.accounts)
    yield (
        f"{figures.mails} mails, {verdict.kills} kills: {figures.lost} lost,"
        f" {figures.duplicates} duplicates, {figures.in_doubt} in doubt"
        f" (at most {verdict.accounts.most_in_doubt} armed at kills),"
        f" {len(broken)} violations, {verdict.seconds:.0f} s"
    )


@contextmanager
def _workers(folder: Path) -> Iterator[_Workers]:
    workers = _Workers(folder, prefix=f"drill-{uuid4().hex[:8]}")
    try:
        workers.start(beat=True)
        workers.start(beat=False)
        yield workers
    finally:
        workers.stop()


def _planned(mails: int, journal: Path) -> int:
    name = f"drill-{uuid4().hex[:8]}"
    workspace_id = actions.create_workspace(name, actor="drill")
    settings = {"journal": str(journal), "slow": 1.0, "window_size": 10}
    account = actions.create_account(
        workspace_id, name="sandbox", kind="sandbox", settings=settings, actor="drill"
    )
    sender_id = actions.create_sender(
        workspace_id, address=f"news@{DOMAIN}", account_id=account, actor="drill"
    )
    stream_id = ledger.open_stream(
        workspace_id,
        sender_id=sender_id,
        kind=Kind.CAMPAIGN,
        title="Drill",
        now=datetime.now(UTC),
        body=Body(subject="Drill", html="<p>Drill</p>", text="Drill"),
    )
    for first in range(0, mails, _CHUNK):
        numbers = {"first": first, "last": min(first + _CHUNK, mails) - 1}
        ledger.plan(stream_id, source=_PEOPLE, params=numbers)
    return workspace_id


def _wreak(workers: _Workers, workspace_id: int, kills: int) -> None:
    """Kills one of the two about every second, as long as there is work to disturb."""
    while workers.kills < kills and evidence.waiting(workspace_id):
        workers.kill_one()
        time.sleep(random.uniform(0.2, 1.0))  # noqa: S311  no secret


def _wait_for_rest(workspace_id: int) -> None:
    end = time.monotonic() + OVER_WITHIN.total_seconds()
    while evidence.waiting(workspace_id) and time.monotonic() < end:
        time.sleep(0.2)
