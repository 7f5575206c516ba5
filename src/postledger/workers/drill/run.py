"""A drill on a user's own scratch database: mail for an SMTP server of its own, two workers, and
kill -9.
"""

import asyncio
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import ClassVar
from uuid import uuid4

from django.conf import settings
from django.db import connection
from psycopg import sql as pg

from postledger.accounts import actions
from postledger.accounts import queries as accounts_queries
from postledger.deliveries import ledger, queries
from postledger.deliveries.entries import Body, Kind
from postledger.dispatch.options import Options
from postledger.dispatch.retry import Policy
from postledger.lib.errors import RefusedError
from postledger.transactional import actions as transactional
from postledger.transactional.values import MailRequest
from postledger.workers.drill import evidence, groups, losses, oracle, smtp_server
from postledger.workers.drill.accounts import Accounts, Wire
from postledger.workers.drill.losses import Asked, Loss

LEASE = timedelta(seconds=10)
OVER_WITHIN = LEASE + timedelta(seconds=60)
DOMAIN = "drill.example"
CONNECTIONS = 20
# A call fits a lease of ten seconds: the answer and two commands, and time to settle.
TIMEOUTS = {"connect": 1.3, "command": 1.3, "body": 1.3, "answer": 4.0, "quit": 0.5}
# The server takes so long over each mail that a kill finds many of them under way.
PACE = 0.3
_SCRATCH = ("drill", "scratch", "test")
_PEOPLE = pg.SQL(
    "SELECT 'r' || n || '@drill.example' AS address, NULL::text AS dedupe_key,"
    " NULL::bigint AS contact_id, NULL::text AS variables, 0 AS letter, NULL::text AS kept_back"
    " FROM generate_series(%(first)s::int, %(last)s::int) AS n (n)"
)
_CHUNK = 10_000
# One mail of so many is asked for by a request, as programs do; the others are a campaign.
_REQUESTED = 10


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
        """Kills one that has mail with the provider, and its children; nothing when none has."""
        busy = [one for one in self._running if evidence.armed_by(*groups.members(one[0].pid))]
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
    journal, asked = folder / "journal", Asked()
    journal.touch()
    workspace_id = _tenant(_server(journal))
    requested = wish.mails // _REQUESTED
    _plan(workspace_id, wish.mails - requested, asked)
    with _workers(folder) as workers:
        promised = _wreak(workers, workspace_id, wish.kills, _Requests(workspace_id, requested))
        asked.add(losses.TRANSACTIONAL, len(promised), at=0.0)
        _wait_for_rest(workspace_id)
    exchanges = evidence.exchanges(journal.read_text().splitlines(keepends=True))
    accounts = Accounts(
        journal=evidence.journal(journal.read_text().splitlines(keepends=True)),
        ledger=evidence.ledger(workspace_id),
        promised=promised,
        wire=Wire(
            exchanges,
            losses.faults(
                workers.losses,
                asked=asked,
                exchanges=exchanges,
                limits=losses.most_armed(connections=CONNECTIONS),
            ),
        ),
        refused=evidence.refused(exchanges),
        attempts={kind.value: policy.attempts for kind, policy in _policies().items()},
        findings=evidence.findings(workspace_id),
        leaks=evidence.leaks([folder / "workers.log"], secrets=[], domain=DOMAIN),
    )
    return Verdict(accounts, len(workers.losses), time.monotonic() - started)


def _policies() -> Mapping[Kind, Policy]:
    options: Options = settings.DISPATCH_OPTIONS
    return options.policies


def told(verdict: Verdict) -> Iterator[str]:
    """Every violation with its story, and at the end the figures."""
    now, broken = datetime.now(UTC), oracle.violations(verdict.accounts)
    for violation in broken:
        yield from evidence.told(violation, verdict.accounts.journal, now=now)
    figures = oracle.figures(verdict.accounts)
    yield (
        f"{figures.mails} mails, {len(verdict.accounts.promised)} of them asked for by requests,"
        f" {verdict.kills} kills: {figures.lost} lost, {figures.duplicates} duplicates,"
        f" {figures.without_cause} failures without a cause, {figures.swapped} swapped,"
        f" {figures.in_doubt} in doubt (the kills explain {figures.explained}),"
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


def _server(journal: Path) -> int:
    """Starts the server in a thread: it outlives every worker, and the drill is over with it."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    threading.Thread(
        target=lambda: asyncio.run(smtp_server.serve(port, journal, pace=PACE)), daemon=True
    ).start()
    return port


def _tenant(port: int) -> int:
    workspace_id = actions.create_workspace(f"drill-{uuid4().hex[:8]}", actor="drill")
    account = actions.create_account(
        workspace_id,
        name="drill",
        kind="smtp",
        settings={
            "host": "127.0.0.1",
            "port": port,
            "tls": "none",
            "connections": CONNECTIONS,
            "timeouts": TIMEOUTS,
        },
        actor="drill",
    )
    actions.create_sender(workspace_id, address=f"news@{DOMAIN}", account_id=account, actor="drill")
    return workspace_id


def _plan(workspace_id: int, mails: int, asked: Asked) -> None:
    [sender] = accounts_queries.senders(workspace_id)
    stream_id = ledger.open_stream(
        workspace_id,
        sender_id=sender.id,
        kind=Kind.CAMPAIGN,
        title="Drill",
        body=Body(subject="Drill", html="<p>Drill</p>", text="Drill"),
    )
    asked.add(losses.CAMPAIGN, mails, at=0.0)
    for first in range(0, mails, _CHUNK):
        numbers = {"first": first, "last": min(first + _CHUNK, mails) - 1}
        ledger.plan(stream_id, source=_PEOPLE, params=numbers)


@dataclass(slots=True)
class _Requests:
    """Mails that are asked for one by one, over the path that every request takes."""

    workspace_id: int
    count: int
    promised: list[str] = field(default_factory=list)

    def make(self, count: int) -> None:
        for number in range(len(self.promised), min(self.count, len(self.promised) + count)):
            address = f"s{number}@{DOMAIN}"
            words = f"Drill {smtp_server.mark(address)}"
            answer = transactional.accept(
                self.workspace_id,
                mails=[
                    MailRequest(to=address, subject="Drill", html=f"<p>{words}</p>", text=words)
                ],
                request_id=address,
                now=datetime.now(UTC),
                idempotency_key=address,
            )
            self.promised += answer.ids


def _wreak(workers: _Workers, workspace_id: int, kills: int, requests: _Requests) -> list[str]:
    """Kills one of the two about every second, as long as there is work to disturb."""
    at_once = requests.count // (kills + 1) + 1
    while len(workers.losses) < kills and evidence.waiting(workspace_id):
        requests.make(at_once)
        time.sleep(random.uniform(0.2, 1.0))  # noqa: S311  no secret
        workers.kill_one()
    requests.make(requests.count)
    return requests.promised


def _wait_for_rest(workspace_id: int) -> None:
    """Waits until nothing waits, or until nothing has moved for long."""
    waiting, end = evidence.waiting(workspace_id), time.monotonic() + OVER_WITHIN.total_seconds()
    while waiting and time.monotonic() < end:
        time.sleep(0.2)
        before, waiting = waiting, evidence.waiting(workspace_id)
        if waiting < before:
            end = time.monotonic() + OVER_WITHIN.total_seconds()
