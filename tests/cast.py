"""The cast of the tests: tenants acme and globex, their senders, and streams with mail in them."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

from django.db import connection
from psycopg import sql as pg

from postledger.accounts.models import Sender, Workspace
from postledger.deliveries import ledger
from postledger.deliveries.entries import (
    Batch,
    Block,
    Claim,
    Entry,
    Hold,
    HoldScope,
    NewDelivery,
    StreamKind,
    Window,
)
from postledger.deliveries.ledger import upkeep
from postledger.deliveries.queries import StreamFacts
from postledger.deliveries.reasons import Reason
from postledger.deliveries.states import State
from postledger.lib import ids
from postledger.providers.base import Category

LEASE = timedelta(seconds=120)


def sender(workspace: str = "acme") -> Sender:
    tenant, _ = Workspace.objects.get_or_create(name=workspace)
    has_default = Sender.objects.filter(workspace=tenant, is_default=True).exists()
    row, _ = Sender.objects.get_or_create(
        workspace=tenant,
        address=f"news@{workspace}.example",
        defaults={"is_default": not has_default},
    )
    return row


def stream(
    kind: StreamKind = StreamKind.CAMPAIGN,
    *,
    mails: int = 0,
    workspace: str = "acme",
    is_test: bool = False,
    now: datetime | None = None,
) -> int:
    """A stream with some planned mails, positions from 0 (campaigns) or a sequence.

    It lies in this month, or in the month of `now`.
    """
    owner = sender(workspace)
    stream_id = ledger.open_stream(
        owner.workspace_id,
        sender_id=owner.pk,
        kind=kind,
        title="News",
        is_test=is_test,
        month=None if now is None else ids.month_of(now),
    )
    for first in range(0, mails, 1000):
        enqueue(stream_id, range(first, min(first + 1000, mails)))
    return stream_id


def enqueue(stream_id: int, numbers: Sequence[int]) -> list[int]:
    lines = [NewDelivery(f"r{number}@example.com", dedupe_key=f"r{number}") for number in numbers]
    return ledger.enqueue(stream_id, lines, due_at=datetime.now(UTC))


def plan(
    stream_id: int,
    numbers: Sequence[int],
    *,
    due_at: datetime | None = None,
    reason: Reason = Reason.READY,
) -> None:
    """Plans such lines as a run does, from a query inside the database."""
    source = pg.SQL(
        "SELECT 'r' || n || '@example.com' AS address, 'r' || n AS dedupe_key,"
        " NULL::bigint AS contact_id, NULL::text AS variables, 0 AS letter,"
        " NULL::text AS kept_back FROM unnest(%(numbers)s::bigint[]) AS n"
    )
    params = {"numbers": list(numbers)}
    ledger.plan(stream_id, source=source, params=params, due_at=due_at, reason=reason)


def claim(stream_id: int, *, limit: int = 1, holder: str = "worker") -> Claim:
    """A claim of what is due now: healthy batches, else one suspect."""
    claimed = ledger.claim(stream_id, holder=holder, limit=limit, lease_time=LEASE)
    if claimed is None:
        claimed = ledger.claim_suspect(stream_id, holder=holder, lease_time=LEASE)
    assert claimed is not None
    return claimed


def bring_forward(stream_id: int) -> None:
    """Lets the database's clock pass the due time of every batch."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE deliveries_batch SET due_at = clock_timestamp() - interval '1 second'"
            " WHERE stream_id = %s",
            [stream_id],
        )


def armed(stream_id: int, *, size: int = 10) -> tuple[Claim, Window]:
    """A claim of one batch with its first window armed."""
    taken = claim(stream_id)
    batch = taken.batches[0]
    window = Window(batch, min(batch.lo + size, batch.hi))
    assert ledger.arm(taken, [window], lease_time=LEASE) == [window]
    return taken, window


def states(stream_id: int) -> dict[int, State]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT position, state FROM deliveries_delivery WHERE stream_id = %s", [stream_id]
        )
        return {position: State(state) for position, state in cursor.fetchall()}


def next_position(stream_id: int) -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT next_position FROM deliveries_stream WHERE id = %s", [stream_id])
        [(position,)] = cursor.fetchall()
    return int(position)


def batches(stream_id: int) -> list[tuple[int, int, int, str]]:
    """The live batches as (lo, hi, try, reason), in the order of positions."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT lo, hi, try_number, reason FROM deliveries_batch"
            " WHERE stream_id = %s ORDER BY lo",
            [stream_id],
        )
        return [(lo, hi, number, reason) for lo, hi, number, reason in cursor.fetchall()]


def run_out(lease: int) -> None:
    """Lets the database's clock pass the end of a lease."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE deliveries_batch SET lease_until = clock_timestamp() - interval '1 second'"
            " WHERE lease = %s",
            [lease],
        )
        cursor.execute(
            "UPDATE deliveries_lease SET check_at = clock_timestamp() - interval '1 second'"
            " WHERE token = %s",
            [lease],
        )


def poison(stream_id: int) -> None:
    """Lets workers die of the next mail before it is armed, until it is given up."""
    for _ in range(1 + upkeep.FAIL_AFTER):
        bring_forward(stream_id)
        run_out(claim(stream_id).lease)
        ledger.sweep()


def block(workspace: str = "acme", *, code: str = "SES_ACCOUNT_SENDING_PAUSED") -> bool:
    """The provider refuses the sender of a workspace."""
    return ledger.hold_sender(
        sender(workspace).pk,
        reason=Reason.SENDER_BLOCKED,
        actor="dispatcher",
        detail=f"{code}: Sending paused.",
        block=Block(code, Category.PERMANENT, "SendingPausedException"),
    )


def sender_hold(stream: StreamFacts) -> Hold | None:
    """The first cause that holds a stream's sender, or the whole account."""
    return next((hold for hold in stream.holds if hold.scope is not HoldScope.STREAM), None)


def stream_hold(stream: StreamFacts) -> Hold | None:
    """The first cause that holds a stream by itself."""
    return next((hold for hold in stream.holds if hold.scope is HoldScope.STREAM), None)


def let_block_run_out() -> None:
    """Lets the time pass in which a person may act on a block."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE deliveries_senderhold SET fails_at = clock_timestamp() - interval '1 second'"
            " WHERE fails_at IS NOT NULL"
        )


def pass_grace(stream_id: int) -> None:
    """Lets the time pass in which bytes of a lost try may still leave."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE deliveries_delivery SET resend_after = clock_timestamp() - interval '1 second'"
            " WHERE stream_id = %s AND resend_after IS NOT NULL",
            [stream_id],
        )


def again(batch: Batch, *, lo: int) -> Batch:
    """The same batch after its window up to `lo` was settled."""
    return Batch(batch.id, batch.stream_id, lo, batch.hi, batch.try_number, batch.version)


def book(stream_id: int, result: Callable[[int], Entry], *, size: int = 10) -> Window:
    """Arms the next window and settles every position of it with the same kind of result."""
    taken, window = armed(stream_id, size=size)
    entries = [result(position) for position in range(window.batch.lo, window.to)]
    ledger.settle(taken, [window], results=entries)
    if window.to < window.batch.hi:
        rest = again(window.batch, lo=window.to)
        ledger.wait(taken, [rest], reason=Reason.READY)
    return window


def judge(stream_id: int, verdict: Callable[[int], Entry], *, size: int = 10) -> Window:
    """Lets the gates end every position of the next window before anything is handed over."""
    taken = claim(stream_id)
    batch = taken.batches[0]
    window = Window(batch, min(batch.lo + size, batch.hi))
    entries = [verdict(position) for position in range(batch.lo, window.to)]
    assert ledger.arm(taken, [window], lease_time=LEASE, verdicts=entries) == []
    if window.to < batch.hi:
        rest = again(batch, lo=window.to)
        ledger.wait(taken, [rest], reason=Reason.READY)
    return window


def doubtful(mails: int = 1, *, workspace: str = "acme") -> int:
    """A stream whose mails are in doubt, because their worker was lost."""
    stream_id = stream(mails=mails, workspace=workspace)
    lose(stream_id)
    return stream_id


def lose(stream_id: int, *, size: int = 10) -> Window:
    """Arms the next window and loses its worker: the window becomes doubt."""
    taken, window = armed(stream_id, size=size)
    run_out(taken.lease)
    ledger.sweep()
    return window
