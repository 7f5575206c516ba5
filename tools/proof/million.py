"""`python -m tools.proof.million`: a campaign planned and sent under kills, and counted.

Everything runs in processes of its own on a private PostgreSQL; what is killed is killed by -9.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import UUID, uuid4

from tools.bench import cluster, work
from tools.drill.saying import say

if TYPE_CHECKING:
    from tests.journeys.rig import Installation, Process

_PLAN = """
import django; django.setup()
from uuid import UUID
import sys
from postledger.campaigns.planning import planning
planning.plan_run(UUID(sys.argv[1]))
"""
SECRET = "a secret for a proof, long enough"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("size", type=int, nargs="?", default=1_000_000)
    parser.add_argument("--planning-kills", type=int, default=20)
    parser.add_argument("--sending-kills", type=int, default=10)
    parser.add_argument("--ledger", type=int, default=5_000_000, help="deliveries in the end")
    options = parser.parse_args()
    with cluster.running() as address, tempfile.TemporaryDirectory() as folder:
        os.environ["UNSUBSCRIBE_SECRET"] = SECRET
        work.connect(address)
        _prove(address, Path(folder), options)


def _prove(address: str, folder: Path, options: argparse.Namespace) -> None:
    workspace_id = _prepared(folder, options.size)
    run_id, launch_id = _launched(workspace_id)
    kills = _planned_under_kills(run_id, options.planning_kills)
    stream_id = _audience_is_exact(workspace_id, run_id, kills)
    _replayed(workspace_id, run_id, launch_id, stream_id)
    _sent_under_kills(address, folder, stream_id, options.sending_kills)
    _progress_is_quick(workspace_id, run_id, options.ledger)


def _prepared(folder: Path, size: int) -> int:
    from django.core.management import call_command

    from postledger.accounts import provider_accounts, senders, workspaces
    from postledger.accounts.queries import Organisation
    from tools.bench import crowd

    call_command("migrate", verbosity=0)
    workspace_id = crowd.gather("proof", size=size, now=datetime.now(UTC))
    footer = Organisation("Acme", "1 Main St", "https://acme.example/unsubscribe")
    workspaces.set_organisation(workspace_id, footer, actor="proof")
    account_id = provider_accounts.create_account(
        workspace_id,
        name="main",
        kind="sandbox",
        settings={"journal": str(folder / "journal")},
        actor="proof",
    )
    senders.create_sender(
        workspace_id, address="news@acme.example", account_id=account_id, actor="proof"
    )
    say(f"{size:,} contacts are there")
    return workspace_id


def _launched(workspace_id: int) -> tuple[UUID, UUID]:
    launch_id = uuid4()
    return _send(workspace_id, launch_id), launch_id


def _send(workspace_id: int, launch_id: UUID) -> UUID:
    from postledger.campaigns.drafts import drafts
    from postledger.campaigns.drafts.drafts import Draft
    from postledger.campaigns.launches import launching
    from postledger.content.rendering.source import Format
    from postledger.mailing.content_source import InlineSource

    now = datetime.now(UTC)
    draft = Draft("news", "News", InlineSource("News", "Hello, {{ name }}.", Format.MARKDOWN))
    put = drafts.put_campaign(workspace_id, draft, launch_id=launch_id, actor="proof", now=now)
    return launching.launch_once(put, launch_id=launch_id, actor="proof", now=now)


def _planned_under_kills(run_id: UUID, kills: int) -> int:
    """Kills planners while they write; the last one is let alone."""
    from postledger.campaigns.models import Run

    chance, places = random.Random(), set()
    for number in range(kills):
        planner = _planner(run_id)
        before = Run.objects.values_list("cursor_address", flat=True).get(pk=run_id)
        while planner.poll() is None and number:
            if Run.objects.values_list("cursor_address", flat=True).get(pk=run_id) != before:
                break
            time.sleep(0.005)
        time.sleep(chance.uniform(0, 0.4))
        planner.kill()
        planner.wait()
        places.add(Run.objects.values_list("cursor_address", flat=True).get(pk=run_id))
    started = time.perf_counter()
    assert _planner(run_id).wait() == 0
    say(
        f"planning was killed {kills} times, at {len(places)} different places;"
        f" the rest took {time.perf_counter() - started:.1f} s"
    )
    return kills


def _planner(run_id: UUID) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", _PLAN, str(run_id)])


_AUDIENCE = """
SELECT count(*), count(DISTINCT lower(d.address)), count(*) FILTER (WHERE c.id IS NULL)
FROM deliveries_delivery d
LEFT JOIN contacts_contact c ON c.id = d.contact_id AND c.state = 'active'
WHERE d.stream_id = %s
"""
_MEANT = """
SELECT count(*) FROM contacts_contact AS c
WHERE c.workspace_id = %s AND c.state = 'active' AND NOT c.is_unconfirmed
"""


def _audience_is_exact(workspace_id: int, run_id: UUID, kills: int) -> int:
    """The audience is counted by a query that has nothing in common with planning."""
    from django.db import connection

    from postledger.campaigns.models import Run

    run = Run.objects.get(pk=run_id)
    assert run.planned_at is not None
    with connection.cursor() as cursor:
        cursor.execute(_MEANT, [workspace_id])
        [(meant,)] = cursor.fetchall()
        cursor.execute(_AUDIENCE, [run.stream_id])
        [(deliveries, addresses, strangers)] = cursor.fetchall()
    say(f"planned {deliveries:,} deliveries to {addresses:,} addresses; the audience has {meant:,}")
    say(f"not planned: {run.excluded}")
    assert (deliveries, addresses, strangers) == (meant, meant, 0), f"after {kills} kills"
    return run.stream_id


def _replayed(workspace_id: int, run_id: UUID, launch_id: UUID, stream_id: int) -> None:
    from django.db import connection

    from postledger.campaigns.planning import planning

    def rows() -> object:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT count(*), sum(xmin::text::bigint) FROM deliveries_delivery"
                " WHERE stream_id = %s",
                [stream_id],
            )
            return cursor.fetchall()

    before = rows()
    assert _send(workspace_id, launch_id) == run_id
    planning.plan_run(run_id)
    assert rows() == before
    say("the batch id was sent again: the same run, and no row was written")


def _sent_under_kills(address: str, folder: Path, stream_id: int, kills: int) -> None:
    from postledger.deliveries import audit, queries
    from postledger.deliveries.states import State
    from tests.journeys import rig, stage

    planned = queries.read_books([stream_id])[stream_id].planned
    extra = {"UNSUBSCRIBE_SECRET": SECRET, "LEASE_SECONDS": "20"}
    with rig.installation(folder, address, **extra) as installed:
        workers = [installed.worker("--beat"), installed.worker("--beat")]
        started = time.perf_counter()
        _disturb(installed, workers, stream_id, planned, kills)
        rig.until(lambda: not _waiting(stream_id), seconds=1800, every=0.5)
        seconds = time.perf_counter() - started
    books = audit.audit(stream_id)
    taken = stage.taken(folder / "journal")
    counts = {state.value: count for state, count in books.books.counts.items() if count}
    say(f"sent in {seconds:.1f} s under {kills} kills: {planned / seconds:,.0f} mails/s")
    say(f"books: planned {planned:,} = {counts}; findings: {len(books.discrepancies)}")
    twice = [who for who, times in taken.items() if times > 1]
    accepted = books.books.counts[State.ACCEPTED]
    say(f"the sandbox took {len(taken):,} mails, {len(twice)} of them twice")
    assert not twice
    assert not books.discrepancies
    assert planned == sum(books.books.counts.values())
    assert accepted <= len(taken) <= accepted + books.books.counts[State.IN_DOUBT]


def _waiting(stream_id: int) -> int:
    from postledger.deliveries import queries

    return queries.read_books([stream_id])[stream_id].waiting


def _disturb(
    installed: "Installation",
    workers: "list[Process]",
    stream_id: int,
    planned: int,
    kills: int,
) -> None:
    """Kills one of the two at random moments, spread over the whole run."""
    chance = random.Random()
    for number in range(1, kills + 1):
        goal = planned * (1 - number / (kills + 1))
        while _waiting(stream_id) > goal:
            time.sleep(0.05)
        time.sleep(chance.uniform(0, 0.5))
        victim = chance.randrange(2)
        os.kill(workers[victim].popen.pid, signal.SIGKILL)
        workers[victim].popen.wait()
        workers[victim] = installed.worker("--beat")


_OTHERS = """
INSERT INTO deliveries_delivery (
    stream_id, position, planned_at, address, state, last_try, attempts, settled_at
)
SELECT %s, n, now(), 'r' || n || '@example.com', 'accepted', 1, 1, now()
FROM generate_series(1, %s) AS n
"""


def _progress_is_quick(workspace_id: int, run_id: UUID, deliveries: int) -> None:
    from django.db import connection

    from postledger.accounts.models import Sender
    from postledger.campaigns.runs import progress

    sender_id = Sender.objects.values_list("pk", flat=True).get(workspace_id=workspace_id)
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM deliveries_delivery")
        [(existing,)] = cursor.fetchall()
        cursor.execute(_OTHERS, [work.open_stream(sender_id), max(0, deliveries - existing)])
        cursor.execute("VACUUM ANALYZE deliveries_delivery")
    took: Counter[int] = Counter()
    for _ in range(100):
        began = time.perf_counter()
        progress.find_progress(workspace_id, run_id, now=datetime.now(UTC))
        took[round((time.perf_counter() - began) * 1000)] += 1
    many = max(deliveries, existing)
    say(f"progress with {many:,} deliveries in the ledger, ms: {dict(sorted(took.items()))}")


if __name__ == "__main__":
    main()
