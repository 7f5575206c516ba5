"""The work that is measured: plan a campaign, move it through claim, arm and settle."""

import os
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from multiprocessing import get_context
from typing import TYPE_CHECKING, LiteralString

import django
from psycopg import sql as pg

if TYPE_CHECKING:
    from postledger.deliveries.entries import Claim

LEASE = timedelta(seconds=120)
CHUNK = 10_000
WINDOW = 50
# A process keeps several windows in flight, one for each batch it leases.
IN_FLIGHT = 4

# Addresses in the order of a random text: the worst case for an index on them.
_SOURCE: LiteralString = """
SELECT address, address AS dedupe_key, id AS contact_id, NULL::text AS variables, 0 AS letter,
       NULL::text AS kept_back
FROM bench_contact WHERE id > %(after)s AND id <= %(upto)s ORDER BY id
"""


def connect(address: str) -> None:
    """Points Django, in this process, at the measured database."""
    os.environ["DATABASE_URL"] = address
    os.environ["DJANGO_SETTINGS_MODULE"] = "postledger.config.settings"
    os.environ["DEBUG"] = "false"
    os.environ["SECRET_KEY"] = "x" * 64
    os.environ["LOG_LEVEL"] = "WARNING"
    django.setup()


def prepare(contacts: int) -> int:
    """Migrates, fills the table of contacts, and returns the sender everything goes through."""
    from django.core.management import call_command
    from django.db import connection

    from postledger.accounts.models import Sender, Workspace

    call_command("migrate", verbosity=0)
    with connection.cursor() as cursor:
        cursor.execute("CREATE EXTENSION IF NOT EXISTS pg_stat_statements")
        cursor.execute("CREATE TABLE bench_contact (id bigint PRIMARY KEY, address text NOT NULL)")
        cursor.execute(
            "INSERT INTO bench_contact SELECT n, md5(n::text) || '@' || left(md5('x' || n), 8)"
            " || '.example' FROM generate_series(1, %s) AS n",
            [contacts],
        )
        cursor.execute("VACUUM ANALYZE bench_contact")
    workspace = Workspace.objects.create(name="bench")
    return Sender.objects.create(
        workspace=workspace, address="bench@example.com", is_default=True
    ).pk


def open_stream(sender_id: int, *, is_single: bool = False) -> int:
    from postledger.accounts.models import Sender
    from postledger.deliveries import ledger
    from postledger.deliveries.entries import StreamKind

    return ledger.open_stream(
        Sender.objects.get(pk=sender_id).workspace_id,
        sender_id=sender_id,
        kind=StreamKind.TRANSACTIONAL if is_single else StreamKind.CAMPAIGN,
        title="bench",
    )


def plan(stream_id: int, mails: int) -> float:
    """Plans a campaign in keyset chunks, each with its own commit; returns the seconds."""
    from postledger.deliveries import ledger

    began = time.perf_counter()
    for after in range(0, mails, CHUNK):
        params = {"after": after, "upto": min(after + CHUNK, mails)}
        ledger.plan(stream_id, source=pg.SQL(_SOURCE), params=params, due_at=datetime.now(UTC))
    return time.perf_counter() - began


def enqueue_singles(stream_id: int, mails: int) -> float:
    """Enqueues one-mail batches, 500 a call; returns the seconds."""
    from postledger.deliveries import ledger
    from postledger.deliveries.entries import NewDelivery

    began = time.perf_counter()
    for first in range(0, mails, 500):
        numbers = range(first, min(first + 500, mails))
        deliveries = [NewDelivery(f"{number}@example.com") for number in numbers]
        ledger.enqueue(stream_id, deliveries, due_at=datetime.now(UTC))
    return time.perf_counter() - began


def move_batches(stream_id: int) -> int:
    """Moves everything due, window by window, as a dispatcher with an instant provider would."""
    return _move(stream_id, most=None)


def move_first(stream_and_most: tuple[int, int]) -> int:
    """Moves as many deliveries of a stream as asked for, and a batch's rest."""
    stream_id, most = stream_and_most
    return _move(stream_id, most=most)


def _move(stream_id: int, *, most: int | None) -> int:
    from postledger.deliveries import ledger

    moved = 0
    while most is None or moved < most:
        claim = ledger.claim(stream_id, holder="bench", limit=IN_FLIGHT, lease_time=LEASE)
        if claim is None:
            break
        moved += _move_claim(claim)
    return moved


def _move_claim(claim: "Claim") -> int:
    """Moves a claim's batches side by side: one window of each is in flight at a time."""
    from postledger.deliveries import entries, ledger, queries
    from postledger.deliveries.entries import Window

    moved = 0
    rest = list(claim.batches)
    while rest:
        windows = [Window(batch, min(batch.lo + WINDOW, batch.hi)) for batch in rest]
        recipients = queries.read_waiting(windows)
        ledger.arm(claim, windows, lease_time=LEASE)
        stream_id = rest[0].stream_id
        results = [
            entries.accepted(one.position, message_id=_message_id(stream_id, one.position))
            for one in recipients
        ]
        ledger.settle(claim, windows, results=results)
        moved += len(results)
        rest = [
            replace(window.batch, lo=window.to) for window in windows if window.to < window.batch.hi
        ]
    return moved


def move_singles(stream_id: int) -> int:
    """Moves one-mail batches, up to 50 to a claim."""
    from postledger.deliveries import entries, ledger
    from postledger.deliveries.entries import Window

    moved = 0
    while claim := ledger.claim(stream_id, holder="bench", limit=WINDOW, lease_time=LEASE):
        windows = [Window(batch, batch.hi) for batch in claim.batches]
        armed = ledger.arm(claim, windows, lease_time=LEASE)
        results = [
            entries.accepted(window.batch.lo, message_id=_message_id(stream_id, window.batch.lo))
            for window in armed
        ]
        ledger.settle(claim, armed, results=results)
        moved += len(armed)
    return moved


def _message_id(stream_id: int, position: int) -> str:
    # As long as a provider's id, and in no order.
    return f"0100{hash((stream_id, position)) & 0xFFFFFFFFFFFFFFFF:016x}-9d1c7a6e-000000"


def in_parallel[T](
    address: str, work: Callable[[T], int], argument: T, *, workers: int
) -> tuple[int, float]:
    """Runs the work in processes of their own; returns what was moved and the seconds it took."""
    context = get_context("spawn")
    results = context.Queue()
    start = context.Barrier(workers)
    processes = [
        context.Process(target=_worker, args=(address, work, argument, start, results))
        for _ in range(workers)
    ]
    for process in processes:
        process.start()
    reports = [results.get() for _ in processes]
    for process in processes:
        process.join()
    began = min(first for _, first, _ in reports)
    ended = max(last for _, _, last in reports)
    return sum(moved for moved, _, _ in reports), ended - began


def _worker(address, work, argument, start, results):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    connect(address)
    start.wait()
    began = time.monotonic()
    moved = work(argument)
    results.put((moved, began, time.monotonic()))
