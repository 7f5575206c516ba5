"""A drill on a scratch database: an SMTP server of its own, two workers, and kill -9."""

import asyncio
import random
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

from django.conf import settings
from django.db import connection
from psycopg import sql as pg

from postledger.accounts import provider_accounts, senders, workspaces
from postledger.accounts import queries as accounts_queries
from postledger.cli.drill import losses, oracle, reading, smtp_server
from postledger.cli.drill.losses import RequestedMails
from postledger.cli.drill.records import Records, Wire
from postledger.cli.drill.workers import LEASE, Workers, run_workers
from postledger.deliveries import ledger, queries
from postledger.deliveries.entries import Body, StreamKind
from postledger.dispatch.options import Options
from postledger.lib.errors import RefusedError
from postledger.transactional import actions as transactional
from postledger.transactional.requests import MailRequest

OVER_WITHIN = LEASE + timedelta(seconds=60)
DOMAIN = "drill.example"
CONNECTIONS = 20
# One call fits a lease of ten seconds: the answer, two commands, and time to settle.
TIMEOUTS = {"connect": 1.3, "command": 1.3, "body": 1.3, "answer": 4.0, "quit": 0.5}
PACE = 0.3  # seconds per mail: slow enough that a kill interrupts many
_SCRATCH = ("drill", "scratch", "test")
_RECIPIENTS = pg.SQL(
    "SELECT 'r' || n || '@drill.example' AS address, NULL::text AS dedupe_key,"
    " NULL::bigint AS contact_id, NULL::text AS variables, 0 AS letter, NULL::text AS kept_back"
    " FROM generate_series(%(first)s::int, %(last)s::int) AS n (n)"
)
_CHUNK = 10_000
_REQUESTED = 10  # one mail of ten is requested singly; the others are a campaign


class NotScratchError(RefusedError):
    code = "not_scratch"


@dataclass(frozen=True, slots=True)
class Verdict:
    records: Records
    kills: int
    seconds: float


def refuse_real_data() -> None:
    """Refuses a database with streams, unless its name marks it as scratch."""
    name = str(connection.settings_dict["NAME"])
    if queries.stream_ids(limit=1) and not any(word in name for word in _SCRATCH):
        raise NotScratchError(
            f"The database {name} has mail in it. Set DATABASE_URL to an empty database, or to one"
            f" whose name contains {', '.join(_SCRATCH)}."
        )


def run(mails: int, kills: int, folder: Path) -> Verdict:
    started = time.monotonic()
    journal, asked = folder / "journal", RequestedMails()
    journal.touch()
    workspace_id = _create_workspace(_start_server(journal))
    requested = mails // _REQUESTED
    _plan(workspace_id, mails - requested, asked)
    with run_workers(folder) as workers:
        promised = _kill_workers(workers, workspace_id, kills, _Requests(workspace_id, requested))
        asked.add(losses.TRANSACTIONAL, len(promised), at=0.0)
        _wait_until_idle(workspace_id)
    lines = journal.read_text().splitlines(keepends=True)
    exchanges = reading.exchanges(lines)
    options: Options = settings.DISPATCH_OPTIONS
    records = Records(
        journal=reading.journal(lines),
        ledger=reading.ledger(workspace_id),
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
        refused=reading.refused(exchanges),
        attempts={kind.value: policy.attempts for kind, policy in options.policies.items()},
        findings=reading.findings(workspace_id),
        leaks=reading.leaks([folder / "workers.log"], secrets=[], domain=DOMAIN),
    )
    return Verdict(records, len(workers.losses), time.monotonic() - started)


def describe(verdict: Verdict) -> Iterator[str]:
    """Every violation with its story, then the figures."""
    now, broken = datetime.now(UTC), oracle.violations(verdict.records)
    for violation in broken:
        yield from reading.describe(violation, verdict.records.journal, now=now)
    figures = oracle.figures(verdict.records)
    yield (
        f"{figures.mails} mails, {len(verdict.records.promised)} of them requested singly,"
        f" {verdict.kills} kills: {figures.lost} lost, {figures.duplicates} duplicates,"
        f" {figures.without_cause} failures without a cause, {figures.swapped} swapped,"
        f" {figures.in_doubt} in doubt (the kills explain {figures.explained}),"
        f" {len(broken)} violations, {verdict.seconds:.0f} s"
    )


def _start_server(journal: Path) -> int:
    """Starts the server in a daemon thread: it outlives every worker."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    threading.Thread(
        target=lambda: asyncio.run(smtp_server.serve(port, journal, pace=PACE)), daemon=True
    ).start()
    return port


def _create_workspace(port: int) -> int:
    workspace_id = workspaces.create_workspace(f"drill-{uuid4().hex[:8]}", actor="drill")
    account = provider_accounts.create_account(
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
    senders.create_sender(workspace_id, address=f"news@{DOMAIN}", account_id=account, actor="drill")
    return workspace_id


def _plan(workspace_id: int, mails: int, asked: RequestedMails) -> None:
    [sender] = accounts_queries.senders(workspace_id)
    stream_id = ledger.open_stream(
        workspace_id,
        sender_id=sender.id,
        kind=StreamKind.CAMPAIGN,
        title="Drill",
        body=Body(subject="Drill", html="<p>Drill</p>", text="Drill"),
    )
    asked.add(losses.CAMPAIGN, mails, at=0.0)
    for first in range(0, mails, _CHUNK):
        numbers = {"first": first, "last": min(first + _CHUNK, mails) - 1}
        ledger.plan(stream_id, source=_RECIPIENTS, params=numbers)


@dataclass(slots=True)
class _Requests:
    """Mails that are requested one by one, as the API does."""

    workspace_id: int
    count: int
    promised: list[str] = field(default_factory=list)

    def make(self, count: int) -> None:
        for number in range(len(self.promised), min(self.count, len(self.promised) + count)):
            address = f"s{number}@{DOMAIN}"
            text = f"Drill {smtp_server.mark(address)}"
            answer = transactional.accept(
                self.workspace_id,
                mails=[MailRequest(to=address, subject="Drill", html=f"<p>{text}</p>", text=text)],
                request_id=address,
                now=datetime.now(UTC),
                idempotency_key=address,
            )
            self.promised += answer.ids


def _kill_workers(
    workers: Workers, workspace_id: int, kills: int, requests: _Requests
) -> list[str]:
    """Kills a worker about every second, while there is work."""
    at_once = requests.count // (kills + 1) + 1
    while len(workers.losses) < kills and reading.waiting(workspace_id):
        requests.make(at_once)
        time.sleep(random.uniform(0.2, 1.0))  # noqa: S311  no secret
        workers.kill_one()
    requests.make(requests.count)
    return requests.promised


def _wait_until_idle(workspace_id: int) -> None:
    """Waits until no mail waits, or no mail has moved for long."""
    waiting, end = reading.waiting(workspace_id), time.monotonic() + OVER_WITHIN.total_seconds()
    while waiting and time.monotonic() < end:
        time.sleep(0.2)
        before, waiting = waiting, reading.waiting(workspace_id)
        if waiting < before:
            end = time.monotonic() + OVER_WITHIN.total_seconds()
