"""`just bench pages`: what the figures behind each page cost with 5 million mails in the ledger.

The database is made on the server of DATABASE_URL, filled with SQL, and dropped at the end. Beside
the clock stands processor time, of this process and of the server's: other work on the machine does
not change it.
"""

import argparse
import os
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit
from uuid import UUID

import psycopg

from tools.bench import work

if TYPE_CHECKING:
    from postledger.accounts.models import Sender
    from postledger.deliveries.figures.message_sources import MessageFilters

DATABASE = f"bench_pages_{os.getpid()}"
NAMED = "person-4242@example.com"
ROUNDS = 5
# Of all mails: these workspaces, and of the first one these streams.
WORKSPACES = {"acme": 0.8, "globex": 0.1, "initech": 0.1}
RUNS, MONTHS = 60, 3
SINGLES_SHARE = 0.2


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("size", type=int, nargs="?", default=5_000_000)
    parser.add_argument("--moving", type=int, default=100_000, help="mails of the run that is sent")
    options = parser.parse_args()
    niceness = os.nice(0)
    os.nice(10)
    with _database() as address:
        work.connect(address)
        filled = fill(options.size, options.moving)
        with suppress(PermissionError):  # only root may be less nice again
            os.setpriority(os.PRIO_PROCESS, 0, niceness)
        _measure(filled)


@contextmanager
def _database() -> Iterator[str]:
    url = os.environ.get("DATABASE_URL", "postgresql://postgres@127.0.0.1:5432/postgres")
    parts = urlsplit(url)
    server = urlunsplit(parts._replace(path="/postgres"))
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {DATABASE}")
        try:
            yield urlunsplit(parts._replace(path=f"/{DATABASE}"))
        finally:
            connection.execute(f"DROP DATABASE {DATABASE} WITH (FORCE)")


@dataclass(frozen=True)
class Filled:
    workspace_id: int
    run_id: UUID
    stream_id: int


# Person n of a run is at the position that its address has among the others.
_MAILS = """
INSERT INTO deliveries_delivery (
    stream_id, position, planned_at, settled_at, contact_id, duration_ms, last_try, attempts, state,
    address, dedupe_key, variables, code, message_id
)
SELECT %(stream)s, n + %(first)s, %(planned_at)s + n * interval '1 millisecond' * %(spread)s,
       CASE WHEN n < %(done)s THEN %(planned_at)s + n * interval '1 millisecond' * %(spread)s
                                   + interval '2 seconds' END,
       n, 40, (n < %(done)s)::int, (n < %(done)s)::int,
       CASE WHEN n >= %(done)s THEN 'waiting' WHEN n %% 100 = 7 THEN 'failed'
            WHEN n %% 500 = 9 THEN 'suppressed' WHEN n %% 50000 = 11 THEN 'in_doubt'
            ELSE 'accepted' END,
       'Person-' || n || '@Example.com',
       CASE WHEN %(is_run)s THEN 'person-' || n || '@example.com' END,
       jsonb_build_object('name', 'Person ' || n),
       CASE WHEN n < %(done)s AND n %% 100 = 7 THEN '550 5.1.1' END,
       CASE WHEN n < %(done)s THEN md5(%(stream)s::text || n) END
FROM generate_series(0, %(size)s - 1) AS n
"""
_OTHERS = (
    # Every failure, suppression and doubt has an attempt; so has one of twenty that was retried.
    """INSERT INTO deliveries_attempt (
        stream_id, position, try_number, at, outcome, state, code, detail
    )
    SELECT stream_id, position, 1, settled_at,
           CASE state WHEN 'failed' THEN 'refused' WHEN 'accepted' THEN 'throttled' ELSE state END,
           CASE state WHEN 'accepted' THEN 'waiting' ELSE state END, code, 'user unknown'
    FROM deliveries_delivery WHERE stream_id = %(stream)s
      AND (state NOT IN ('waiting', 'accepted') OR (state = 'accepted' AND position %% 20 = 3))""",
    """INSERT INTO deliveries_providermessage (stream_id, position, try_number, message_id)
    SELECT stream_id, position, 1, message_id FROM deliveries_delivery
    WHERE stream_id = %(stream)s AND message_id IS NOT NULL AND position %% 4 = 0""",
    """INSERT INTO deliveries_word (stream_id, word, position)
    SELECT stream_id, 'to:' || lower(address), position FROM deliveries_delivery
    WHERE stream_id = %(stream)s AND NOT %(is_run)s""",
    """INSERT INTO deliveries_streampace
    SELECT %(stream)s, slot, count(*) FILTER (WHERE state = 'accepted'),
           count(*) FILTER (WHERE state = 'failed'), 0,
           count(*) FILTER (WHERE state = 'suppressed'), 0, 0,
           count(*) FILTER (WHERE state = 'in_doubt'),
           count(*) FILTER (WHERE state = 'accepted'), 0, 0,
           count(*) FILTER (WHERE state = 'accepted')
    FROM (
        SELECT state, date_bin(%(slot)s, settled_at, timestamptz '2000-01-01 00:00Z') AS slot
        FROM deliveries_delivery WHERE stream_id = %(stream)s AND settled_at IS NOT NULL
    ) AS given GROUP BY slot""",
    """UPDATE deliveries_stream s SET planned = p.settled, accepted = p.accepted, failed = p.failed,
        suppressed = p.suppressed, in_doubt = p.in_doubt, delivered = p.accepted,
        reported = p.accepted, folded_at = p.last, next_position = %(first)s + %(size)s,
        created_at = %(planned_at)s
    FROM (
        SELECT coalesce(sum(accepted + failed + suppressed + in_doubt), 0) AS settled,
               coalesce(sum(accepted), 0) AS accepted, coalesce(sum(failed), 0) AS failed,
               coalesce(sum(suppressed), 0) AS suppressed,
               coalesce(sum(in_doubt), 0) AS in_doubt, max(slot) + interval '10 seconds' AS last
        FROM deliveries_streampace WHERE stream_id = %(stream)s
    ) AS p WHERE s.id = %(stream)s""",
    """INSERT INTO deliveries_batch (
        stream_id, lo, hi, is_single, try_number, due_at, reason, since, planned
    )
    SELECT %(stream)s, lo, least(lo + 500, %(first)s + %(size)s), false, 1,
           %(planned_at)s + lo * interval '1 microsecond', 'ready', %(planned_at)s,
           least(lo + 500, %(first)s + %(size)s) - lo
    FROM generate_series(%(first)s + %(done)s, %(first)s + %(size)s - 1, 500) AS lo""",
)


def fill(size: int, moving: int) -> Filled:
    """Three months: runs to the same people, the last of them half sent, and single mails."""
    from django.core.management import call_command
    from django.db import connection

    from postledger.accounts.models import Sender, Workspace

    began = time.perf_counter()
    call_command("migrate", verbosity=0)
    with connection.cursor() as cursor:
        cursor.execute("SET synchronous_commit = off")
    run_id, stream_id = UUID(int=0), 0
    for name, share in WORKSPACES.items():
        workspace = Workspace.objects.create(name=name)
        sender = Sender.objects.create(
            workspace=workspace, address=f"news@{name}.example", is_default=True
        )
        left = int(size * share)
        singles = int(left * SINGLES_SHARE) // MONTHS
        for month in range(MONTHS):
            _add_stream(sender, singles, days=31 * (MONTHS - 1 - month), is_run=False)
        people = (left - singles * MONTHS) // RUNS
        for number in range(RUNS):
            days = 31 * MONTHS * (RUNS - 1 - number) // RUNS
            _add_run(sender, people, days=days, number=number)
        if name == "acme":
            run_id, stream_id = _add_run(sender, moving, days=0, number=RUNS, done=moving // 2)
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")
        cursor.execute("SELECT pg_database_size(current_database()) / 1e9")
        [(gigabytes,)] = cursor.fetchall()
    seconds = time.perf_counter() - began
    print(f"{size:,} mails filled in {seconds:.0f} s, {gigabytes:.1f} GB", flush=True)
    workspace_id = Workspace.objects.values_list("pk", flat=True).get(name="acme")
    return Filled(workspace_id, run_id, stream_id)


def _add_stream(
    sender: "Sender", size: int, *, days: int, is_run: bool, done: int | None = None
) -> int:
    from django.db import connection

    from postledger.deliveries import ledger
    from postledger.deliveries.entries import StreamKind
    from postledger.lib import ids

    now = datetime.now(UTC)
    done = size if done is None else done
    # What is being sent began a moment ago, and its last result came now.
    span = timedelta(hours=1) if is_run else timedelta(days=20)
    planned_at = (
        now - timedelta(days=days) - (span if days or not is_run else timedelta(seconds=30))
    )
    spread = 0.5 if is_run and not days else span.total_seconds() * 1_000 / max(size, 1)
    stream_id = ledger.open_stream(
        sender.workspace_id,
        sender_id=sender.pk,
        kind=StreamKind.CAMPAIGN if is_run else StreamKind.TRANSACTIONAL,
        title="News",
        month=ids.month_of(planned_at),
    )
    first = 0
    with connection.cursor() as cursor:
        if not is_run:
            cursor.execute(
                "SELECT setval(name, nextval(name) + %s) - %s"
                " FROM (VALUES ('deliveries_single_position'::regclass)) AS s (name)",
                [size, size],
            )
            [(first,)] = cursor.fetchall()
        params: dict[str, Any] = {
            "stream": stream_id, "first": first, "size": size, "done": done, "is_run": is_run,
            "planned_at": planned_at, "spread": spread,
            "slot": timedelta(seconds=5 if is_run else 60),
        }  # fmt: skip
        cursor.execute(_MAILS, params)
        for statement in _OTHERS:
            cursor.execute(statement, params)
        if done < size:
            cursor.execute("SELECT deliveries_keep_lane(%s)", [stream_id])
    return stream_id


def _add_run(
    sender: "Sender", size: int, *, days: int, number: int, done: int | None = None
) -> tuple[UUID, int]:
    from postledger.campaigns.models import Campaign, Run
    from postledger.content.rendering.source import Format
    from postledger.mailing import content_source
    from postledger.mailing.content_source import InlineSource

    source = InlineSource("News", "News for {{ email }}", Format.MARKDOWN)
    stream_id = _add_stream(sender, size, days=days, is_run=True, done=done)
    now = datetime.now(UTC) - timedelta(days=days)
    campaign = Campaign.objects.create(
        workspace_id=sender.workspace_id, tag=f"news-{number}", name=f"News {number}",
        sender=sender, content=content_source.to_json(source), created_by="bench",
    )  # fmt: skip
    is_over = done is None
    run = Run.objects.create(
        workspace_id=sender.workspace_id, campaign=campaign, launch_id=UUID(int=number),
        input_digest=b"", stream_id=stream_id, is_test=False, is_sandboxed=False, actor="bench",
        launched_at=now, list_key="", audience={}, letter_choice={}, waves=[], planned_at=now,
        ended_at=now if is_over else None, ended_as="closed" if is_over else None,
    )  # fmt: skip
    run.refresh_from_db()
    return run.pk, stream_id


def _measure(filled: Filled) -> None:
    from django.db import connection

    from postledger.campaigns import listing
    from postledger.campaigns.runs import live_run
    from postledger.deliveries.figures import day_books, messages, pace, streams_at_work
    from postledger.deliveries.figures.message_sources import MessageFilters
    from postledger.deliveries.states import State
    from postledger.feedback import sender_health

    workspace_id, stream_id = filled.workspace_id, filled.stream_id
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        [(pid,)] = cursor.fetchall()

    def search(filters: "MessageFilters") -> object:
        return messages.search_messages(workspace_id, filters)

    def overview() -> object:
        now = datetime.now(UTC)
        return (
            day_books.read_day_books(workspace_id, now=now),
            pace.read_minutes(workspace_id, now=now),
            streams_at_work.read_work(workspace_id, now=now),
            sender_health.list_sender_health(workspace_id, now=now),
        )

    now = datetime.now(UTC)
    day = timedelta(days=1)
    steps: dict[str, Callable[[], object]] = {
        "overview, all of it": overview,
        "  the books of the day": lambda: day_books.read_day_books(workspace_id, now=now),
        "  minutes of the last hour": lambda: pace.read_minutes(workspace_id, now=now),
        "  what moves and waits": lambda: streams_at_work.read_work(workspace_id, now=now),
        "  health of senders": lambda: sender_health.list_sender_health(workspace_id, now=now),
        "messages, newest": lambda: search(MessageFilters()),
        "  by address": lambda: search(MessageFilters(address=NAMED)),
        "  by an unknown address": lambda: search(MessageFilters(address="nobody@example.com")),
        "  by the provider's id": lambda: search(MessageFilters(message_id="none")),
        "  failed, of all": lambda: search(MessageFilters(state=State.FAILED)),
        "  of one day": lambda: search(MessageFilters(since=now - 31 * day, until=now - 30 * day)),
        "  waiting, of the run": lambda: search(
            MessageFilters(state=State.WAITING, stream_ids=[stream_id])
        ),
        "  accepted, of the run": lambda: search(
            MessageFilters(state=State.ACCEPTED, stream_ids=[stream_id])
        ),
        "  failed, of the run": lambda: search(
            MessageFilters(state=State.FAILED, stream_ids=[stream_id])
        ),
        "live run, all of it": lambda: live_run.read_live_run(
            workspace_id, filled.run_id, now=datetime.now(UTC)
        ),
        "  its pace": lambda: pace.read_pace(stream_id),
        "campaigns, 50 rows": lambda: listing.read_page(workspace_id, now=now),
    }
    print(f"{'medians, ms':30}{'first':>9}{'clock':>9}{'Python':>9}{'server':>9}")
    for name, step in steps.items():
        first, *others = [_time(step, pid) for _ in range(ROUNDS + 1)]
        clock, python, server = (statistics.median(column) for column in zip(*others, strict=True))
        print(f"{name:30}{first[0]:9.1f}{clock:9.1f}{python:9.1f}{server:9.1f}", flush=True)


def _time(step: Callable[[], object], pid: int) -> tuple[float, float, float]:
    """Milliseconds of the clock, of this process and of the server's process."""
    server, own, began = _server_seconds(pid), time.process_time(), time.perf_counter()
    repeats = 5  # the server's clock counts hundredths of a second
    for _ in range(repeats):
        step()
    figures = (
        time.perf_counter() - began,
        time.process_time() - own,
        _server_seconds(pid) - server,
    )
    first, second, third = (figure * 1_000 / repeats for figure in figures)
    return first, second, third


def _server_seconds(pid: int) -> float:
    """Nanoseconds on a processor are the first number; only a server on this machine has them."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9


if __name__ == "__main__":
    main()
