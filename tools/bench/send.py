"""`just bench send`: mails a second to a provider, and requests a second to the API.

Every figure stands beside the bare tool in the same run: the ledger's SQL without a dispatcher,
Postfix's own smtp-source, the client of SES without a ledger, a Django view with one INSERT. Two
worker processes, everything durable, all of it on one machine.
"""

import argparse
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from tools.bench import cluster, work

if TYPE_CHECKING:
    from tests.journeys.rig import Installation
    from tools.bench.fake_ses import CpuMeter, FakeProcess

ROUNDS = 3
SIZE = 5_000
SBIN = "/usr/sbin"
HERE = Path(__file__).parent
PARTS = ("sandbox", "limits", "smtp", "ses", "api")
TOOLS = {"smtp": f"{SBIN}/smtp-sink", "api": "wrk"}  # that a part needs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", default=PARTS, help=f"some of {', '.join(PARTS)}")
    parser.add_argument("--mails", type=int, default=60_000)
    parser.add_argument("--seconds", type=int, default=8, help="of each run of wrk")
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    missing = [TOOLS[part] for part in options.parts if not shutil.which(TOOLS.get(part, "sh"))]
    if missing:
        sys.exit(
            f"Install Debian's wrk and postfix packages first: {', '.join(missing)} is missing."
        )
    with cluster.running() as address, tempfile.TemporaryDirectory() as folder:
        prefix = os.environ["QUEUE_PREFIX"] = f"bench-{os.getpid()}"
        work.connect(address)
        work.prepare(options.mails)
        furnish()
        import postledger.config.celery  # noqa: F401  installs the wake-ups that `carried` sends
        from tests.journeys import rig

        extra = {"API_RATE": "1000000/second"}
        with rig.installation(Path(folder), address, prefix=prefix, **extra) as installed:
            bench = Bench(installed, options)
            print(f"{'per second, medians of three':44}{'ours':>10}{'bare':>10}{'ratio':>8}")
            for part in options.parts:
                getattr(bench, part)()


class Bench:
    """Ours and bare in turn, so that what else the machine does hits both alike."""

    def __init__(self, installed: "Installation", options: argparse.Namespace) -> None:
        self.installed = installed
        self.mails: int = options.mails
        self.seconds: int = options.seconds
        self.workers: int = options.workers

    def sandbox(self) -> None:
        owner = sender("sandbox", journal=str(self.installed.folder / "journal"))
        self.line(
            f"sandbox, batches of 500, {self.workers} workers",
            lambda: self.carried(owner),
            lambda: self.moved(owner),
            "the same ledger, no dispatcher",
        )

    def limits(self) -> None:
        """A sender whose limits are never reached, beside one without any."""
        from postledger.accounts.models import Sender

        journal = str(self.installed.folder / "journal")
        free = sender("sandbox", "free", journal=journal)
        limited = sender("sandbox", "limited", journal=journal)
        Sender.objects.filter(pk=limited).update(
            rate_per_second=10_000, rate_per_hour=10**9, daily_limit=10**9
        )
        self.line(
            f"sandbox with limits, {self.workers} workers",
            lambda: self.carried(limited),
            lambda: self.carried(free),
            "without limits",
        )

    def smtp(self) -> None:
        with sink() as port:
            settings = {"host": "127.0.0.1", "port": port, "tls": "none", "connections": 25}
            owner = sender("smtp", **settings, messages_per_connection=1000)
            self.line(
                f"SMTP to smtp-sink, {SIZE} bytes, {self.workers} workers",
                lambda: self.carried(owner),
                lambda: self.sourced(port),
                "smtp-source, 50 sessions",
            )

    def ses(self) -> None:
        from tools.bench.bare_ses import settings
        from tools.bench.fake_ses import fake_ses

        with fake_ses() as fake:
            owner = sender("ses", **settings(fake.endpoint))
            for workers in (1, 2):
                self.ses_line(owner, fake, workers)

    def ses_line(self, owner: int, fake: "FakeProcess", workers: int) -> None:
        from tools.bench.fake_ses import CpuMeter, call_bare

        ours, bare = CpuMeter(fake, self.mails), CpuMeter(fake, self.mails)
        self.line(
            f"SES to the fake, {SIZE} bytes, {workers} worker{'s'[: workers - 1]}",
            lambda: self.carried(owner, workers, ours),
            lambda: call_bare(bare, workers, SIZE),
            "the same client, no ledger",
        )
        print(f"    ours: {ours.describe()}; bare: {bare.describe()}", flush=True)

    def api(self) -> None:
        ours, bare = self.serving(), self.serving_bare()
        token = key()
        for path, beside in (("", "the ORM's create()"), ("sql", "a cursor's execute()")):
            self.line(
                "POST /v1/email/send, wrk, 16 connections",
                lambda: self.requested(f"{ours}/v1/email/send", token),
                lambda path=path: self.requested(f"{bare}/{path}", token),  # type: ignore[misc]
                f"a Django view with one INSERT by {beside}",
            )

    def line(
        self, name: str, ours: Callable[[], float], bare: Callable[[], float], beside: str
    ) -> None:
        pairs = [(ours(), bare()) for _ in range(ROUNDS)]
        mine, other = (statistics.median(column) for column in zip(*pairs, strict=True))
        print(f"{name:44}{mine:10,.0f}{other:10,.0f}{mine / other:8.2f}  {beside}")
        print(f"{'':44}{' '.join(f'{a:,.0f}/{b:,.0f}' for a, b in pairs)}", flush=True)

    def carried(
        self, sender_id: int, count: int | None = None, meter: "CpuMeter | None" = None
    ) -> float:
        """Releases a planned stream to waiting workers; counts until its last mail is accepted."""
        from postledger.deliveries import ledger
        from postledger.lib import wake
        from tests.journeys import rig, stage
        from tools.drill.process_groups import group_members

        stream, number = self.planned(sender_id), count or self.workers
        workers = [self.installed.worker(*["--beat"][: not n]) for n in range(number)]
        time.sleep(2)
        pids = [pid for worker in workers for pid in group_members(worker.popen.pid)]
        with meter.measuring(pids) if meter else nullcontext():
            began = time.perf_counter()
            ledger.release(stream)
            wake.notify(stream)
            rig.until(lambda: stage.count(stream) == self.mails, seconds=300, every=0.02)
            elapsed = time.perf_counter() - began
        for worker in workers:
            worker.stop()
        return self.mails / elapsed

    def planned(self, sender_id: int) -> int:
        from postledger.accounts.models import Sender
        from postledger.deliveries import ledger
        from postledger.deliveries.entries import Body, StreamKind
        from postledger.deliveries.reasons import Reason

        stream = ledger.open_stream(
            Sender.objects.get(pk=sender_id).workspace_id,
            sender_id=sender_id,
            kind=StreamKind.CAMPAIGN,
            title="bench",
            body=Body(subject="Bench", html=f"<p>{'x' * (SIZE - 600)}</p>"),
        )
        ledger.hold(stream, reason=Reason.PAUSED, actor="bench")
        work.plan(stream, self.mails)
        return stream

    def moved(self, sender_id: int) -> float:
        """The ledger's verbs alone, by as many processes: what the dispatcher could reach."""
        stream = work.open_stream(sender_id)
        work.plan(stream, self.mails)
        moved, seconds = work.in_parallel(
            self.installed.database, work.move_batches, stream, workers=self.workers
        )
        return moved / seconds

    def sourced(self, port: int) -> float:
        options = ["-s", "50", "-l", str(SIZE), "-m", str(self.mails), "-f", "a@b.example"]
        began = time.perf_counter()
        subprocess.run(
            [f"{SBIN}/smtp-source", *options, "-t", "c@d.example", f"127.0.0.1:{port}"], check=True
        )
        return self.mails / (time.perf_counter() - began)

    def serving(self) -> str:
        from tests.journeys import rig

        port = rig.free_port()
        self.installed.web(port, "--processes", "1", "--threads", "4")
        return f"http://127.0.0.1:{port}"

    def serving_bare(self) -> str:
        from tests.journeys import rig

        port = rig.free_port()
        command = [
            *(str(rig.COMMANDS / "granian"), "--interface", "wsgi", "--port", str(port)),
            *("--workers", "1", "--blocking-threads", "4", "tools.bench.bare_view:application"),
        ]
        self.installed.serve(port, command)
        return f"http://127.0.0.1:{port}"

    def requested(self, url: str, token: str) -> float:
        command = [
            *("wrk", "-t", "1", "-c", "16", "-d", f"{self.seconds}s"),
            *("-s", str(HERE / "send.lua"), url),
        ]
        environment = {**os.environ, "TOKEN": token}
        done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
        assert "Non-2xx" not in done.stdout, done.stdout
        [rate] = re.findall(r"Requests/sec:\s+([\d.]+)", done.stdout)
        return float(rate)


def sender(kind: str, name: str = "", /, **settings: object) -> int:
    from postledger.accounts import provider_accounts
    from postledger.accounts.models import Sender, Workspace

    bench = Workspace.objects.get(name="bench")
    account = provider_accounts.create_account(
        bench.pk, name=name or kind, kind=kind, settings=settings, actor="bench"
    )
    address = f"{name or kind}@bench.example"
    return Sender.objects.create(workspace=bench, account_id=account, address=address).pk


def furnish() -> None:
    """Every recipient as a contact, for the gates look them up; a table for the bare view."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO contacts_contact (id, workspace_id, address, name) OVERRIDING SYSTEM VALUE"
            " SELECT c.id, w.id, c.address, '' FROM bench_contact c, accounts_workspace w"
        )
        cursor.execute("VACUUM ANALYZE contacts_contact")
        cursor.execute(
            "CREATE TABLE bench_mail (id bigserial PRIMARY KEY, recipient text NOT NULL,"
            " subject text NOT NULL, html text NOT NULL)"
        )


def key() -> str:
    from postledger.accounts import keys
    from postledger.accounts.keys import Scope
    from postledger.accounts.models import Workspace

    bench = Workspace.objects.get(name="bench")
    made = keys.create_key(bench.pk, name="bench", scopes=list(Scope), actor="bench")
    return made.token


@contextmanager
def sink() -> Iterator[int]:
    from tests.journeys import rig

    port = rig.free_port()
    user = ["-u", "nobody"] if os.geteuid() == 0 else []
    process = subprocess.Popen([f"{SBIN}/smtp-sink", *user, f"127.0.0.1:{port}", "1000"])
    try:
        time.sleep(0.3)
        yield port
    finally:
        process.terminate()
        process.wait()


if __name__ == "__main__":
    main()
