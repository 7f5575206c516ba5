"""Takes one month's deliveries out of the ledger; its streams stay, with their totals."""

from typing import LiteralString

from django.db import OperationalError, connection, transaction
from psycopg.errors import LockNotAvailable

from postledger.deliveries import partitions
from postledger.deliveries.ledger import books, sql
from postledger.lib import ids
from postledger.lib.errors import ConflictError

_FOLD_MONTH: LiteralString = f"""
WITH gone AS (
    DELETE FROM deliveries_streamdelta WHERE stream_id >= %(first)s AND stream_id < %(end)s
    RETURNING *
), {books.FOLDED}
SELECT count(*) FROM gone
"""

_FORGET_PACE: LiteralString = """
DELETE FROM deliveries_streampace WHERE stream_id >= %(first)s AND stream_id < %(end)s
"""

_FORGET_LANES: LiteralString = """
DELETE FROM deliveries_lane WHERE stream_id >= %(first)s AND stream_id < %(end)s
"""


class MonthInUseError(ConflictError):
    code = "month_in_use"


_REMEMBER: LiteralString = """
INSERT INTO deliveries_droppedmonth (month, dropped_at) VALUES (%(month)s, clock_timestamp())
"""


def drop_month(month: int) -> None:
    """Drops one month's deliveries for good; its streams keep their totals.

    All or nothing; the month is never created again. Refused as by `refuse_drop`, and while others
    hold its tables: the mail of other months never waits for more than a moment.
    """
    refuse_drop(month)
    with transaction.atomic():
        partitions.lock_months()
        _lock(month)
        _refuse_if_used(month)
        bounds = {"first": ids.first_stream_of(month), "end": ids.first_stream_of(month + 1)}
        sql.rows(_FOLD_MONTH, bounds)
        sql.rows(_FORGET_PACE, bounds)
        sql.rows(_FORGET_LANES, bounds)
        sql.rows(_REMEMBER, {"month": month})
        with connection.cursor() as cursor:
            for table in partitions.TABLES:
                cursor.execute(f"DROP TABLE {partitions.partition(table, month)}")


def refuse_drop(month: int) -> None:
    """Refuses before the month is over by the database's clock, and while it has live batches or
    doubts. Locks nothing.
    """
    if month >= partitions.this_month():
        name = ids.month_name(month)
        msg = f"{name} stays: it is not over, so mail may still be planned in it. Drop it later."
        raise MonthInUseError(msg)
    _refuse_if_used(month)
    _refuse_if_open(month)


def _refuse_if_used(month: int) -> None:
    use = partitions.describe(month)
    if use.live_batch_count or use.doubt_count:
        msg = (
            f"{use.name} stays: it has {use.live_batch_count} live batches and"
            f" {use.doubt_count} deliveries in doubt."
            " Let the batches end or cancel their streams, and resolve the doubts, first."
        )
        raise MonthInUseError(msg)


def _refuse_if_open(month: int) -> None:
    """Reads every delivery once, before anything is locked: a drop cannot be undone."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT count(*) FROM {partitions.partition('deliveries_delivery', month)}"
            " WHERE state IN ('waiting', 'in_doubt')"
        )
        [(open_count,)] = cursor.fetchall()
    if open_count:
        msg = (
            f"{ids.month_name(month)} stays: its counters say that all is done, but {open_count}"
            " of its deliveries wait or are in doubt. Run postledger audit."
        )
        raise MonthInUseError(msg)


def _lock(month: int) -> None:
    parts = [partitions.partition(table, month) for table in partitions.TABLES]
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            # Shorter than the wait after which PostgreSQL looks for deadlocks: in one, this gives
            # up and not a worker. Parents first, as every statement locks them.
            cursor.execute("SET LOCAL lock_timeout = '500ms'")
            for table in (*(f"ONLY {parent}" for parent in partitions.TABLES), *parts):
                cursor.execute(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE")
    except OperationalError as error:
        if not isinstance(error.__cause__, LockNotAvailable):
            raise
        msg = (
            f"{ids.month_name(month)} stays: others are using the ledger's tables right now."
            " Nothing was changed; try again."
        )
        raise MonthInUseError(msg) from error
