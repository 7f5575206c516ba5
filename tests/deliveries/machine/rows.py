"""What the rows of the ledger say, as far as the machine compares them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from postledger.deliveries.ledger import sql
from postledger.deliveries.reasons import Reason
from postledger.deliveries.states import State

type Place = tuple[int, int]  # a stream, and a position in it
type Attempt = tuple[int, int, int]  # a place, and the number of a try

# Why a mail waits for a time that its recipient named.
NAMED_BY_RECIPIENTS = {Reason.SCHEDULED, Reason.OUTSIDE_HOURS}


@dataclass(frozen=True)
class Fact:
    """What a delivery's row says."""

    state: State
    last_try: int
    attempts: int


class LiveBatch(NamedTuple):
    """What a batch's row says, and whether its lease has run out."""

    id: int
    stream_id: int
    lo: int
    hi: int
    armed_to: int | None
    lease: int | None
    has_run_out: bool
    due_at: datetime
    reason: str
    losses: int
    lone_losses: int

    def places(self) -> list[Place]:
        return [(self.stream_id, position) for position in range(self.lo, self.hi)]


def read_lines(stream_ids: Sequence[int]) -> list[tuple[Place, Fact, str]]:
    """Every delivery of the streams, with its address."""
    rows = sql.rows(
        "SELECT stream_id, position, state, last_try, attempts, address FROM deliveries_delivery"
        " WHERE stream_id = ANY(%(streams)s::bigint[])",
        {"streams": sql.Bigints(stream_ids)},
    )
    return [
        ((stream_id, position), Fact(State(state), last_try, attempts), address)
        for stream_id, position, state, last_try, attempts, address in rows
    ]


def read_batches(stream_ids: Sequence[int]) -> list[LiveBatch]:
    """Every live batch of the streams, in the order of positions."""
    rows = sql.rows(
        "SELECT id, stream_id, lo, hi, armed_to, lease,"
        " coalesce(lease_until <= clock_timestamp(), false), due_at, reason, losses, lone_losses"
        " FROM deliveries_batch WHERE stream_id = ANY(%(streams)s::bigint[])"
        " ORDER BY stream_id, lo",
        {"streams": sql.Bigints(stream_ids)},
    )
    return [LiveBatch(*row) for row in rows]


def hasten(batch_id: int) -> None:
    """Lets the due time of one batch pass, so that it is the first of its stream."""
    sql.rows(
        "UPDATE deliveries_batch SET due_at = clock_timestamp() - interval '1 hour'"
        " WHERE id = %(id)s",
        {"id": batch_id},
    )


def run_out_unarmed(lease: int) -> None:
    """Lets a lease run out for the batches of which its worker has armed nothing, and renewed."""
    params = {"lease": lease}
    sql.rows(
        "UPDATE deliveries_batch SET lease_until = clock_timestamp() - interval '1 second'"
        " WHERE lease = %(lease)s AND armed_to IS NULL",
        params,
    )
    sql.rows("UPDATE deliveries_lease SET check_at = now() WHERE token = %(lease)s", params)


def let_time_pass(stream_ids: Sequence[int]) -> None:
    """Makes everything due that waits for its time, now and no earlier."""
    sql.rows(
        "UPDATE deliveries_batch SET due_at = clock_timestamp()"
        " WHERE stream_id = ANY(%(streams)s::bigint[]) AND due_at > clock_timestamp()",
        {"streams": sql.Bigints(stream_ids)},
    )


def forget_all_work() -> None:
    """Takes away the work of earlier examples: nothing of them is swept or leased any more."""
    for name in ("batch", "lease", "lane"):
        sql.rows(f"DELETE FROM deliveries_{name}", {})
