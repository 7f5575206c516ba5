"""Which months the ledger has room for, how much they hold, and the making of their partitions."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar

from django.db import connection, transaction

from postledger.lib import ids
from postledger.lib.errors import RefusedError

MONTHS_AHEAD = 3

# Half-empty delivery pages keep the one update of each delivery inside its page.
_OPTIONS = {
    "delivery": " WITH (fillfactor = 40)",
    "body": "",
    "word": "",
    "attempt": "",
    "deliveryevent": "",
    "providermessage": "",
}
TABLES = tuple(f"deliveries_{table}" for table in _OPTIONS)


class MonthDroppedError(RefusedError):
    code: ClassVar[str] = "month_dropped"


@dataclass(frozen=True, slots=True)
class Month:
    """One month's partitions, and what keeps them from being dropped."""

    number: int
    bytes: int
    live_batch_count: int
    doubt_count: int

    @property
    def name(self) -> str:
        return ids.month_name(self.number)


def this_month() -> int:
    """The month by the database's clock: no process with a wrong clock makes or drops a month."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT deliveries_month(clock_timestamp())")
        [(month,)] = cursor.fetchall()
    return int(month)


def ensure(*, ahead: int = MONTHS_AHEAD) -> list[str]:
    """Makes the missing partitions of this month and the next ones; returns the months made."""
    first = this_month()
    wanted = range(first, first + ahead + 1)
    missing = sorted(set(wanted) - set(_existing()))
    for month in missing:
        make(month)
    return [ids.month_name(month) for month in missing]


def make(month: int) -> None:
    """Makes one month's partitions; does nothing where they exist.

    Refused for a month that was dropped: it would come back empty, and say of everybody who had
    mail in it that they had none.
    Made apart and then attached: CREATE TABLE … PARTITION OF would wait for everyone who reads
    the ledger, and everyone who comes later would wait behind it.
    """
    bounds = f"({ids.first_stream_of(month)}) TO ({ids.first_stream_of(month + 1)})"
    with transaction.atomic(), connection.cursor() as cursor:
        lock_months()
        if is_dropped([month]):
            raise _dropped(month)
        for table, options in _OPTIONS.items():
            parent = f"deliveries_{table}"
            name = partition(parent, month)
            cursor.execute("SELECT to_regclass(%s) IS NOT NULL", [name])
            if cursor.fetchall() == [(True,)]:
                continue
            cursor.execute(
                f"CREATE TABLE {name}"
                f" (LIKE {parent} INCLUDING DEFAULTS INCLUDING CONSTRAINTS){options};"
                f" ALTER TABLE {name} ENABLE ROW LEVEL SECURITY;"
                f" CREATE POLICY service_only ON {name} USING (false);"
                f" ALTER TABLE {parent} ATTACH PARTITION {name} FOR VALUES FROM {bounds}"
            )


def lock_months() -> None:
    """Keeps others from making or dropping months until the transaction ends.

    Two makers of one month would meet in CREATE TABLE and one would fail; a maker that overtook
    a drop would make an empty month.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtext('deliveries_partitions'))")


def is_dropped(months: Iterable[int]) -> bool:
    """Whether any of these months was dropped."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT EXISTS (SELECT FROM deliveries_droppedmonth WHERE month = ANY(%s))",
            [list(months)],
        )
        [(found,)] = cursor.fetchall()
    return bool(found)


def _dropped(month: int) -> MonthDroppedError:
    return MonthDroppedError(
        f"{ids.month_name(month)} was dropped from the ledger, and is not made again."
        f" By the database's clock it is {ids.month_name(this_month())} now:"
        " if that is wrong, set the clock right and try again."
    )


def partition(table: str, month: int) -> str:
    """The name of one month's part of a table."""
    return f"{table}_{ids.month_name(month).replace('-', '_')}"


def exists(month: int) -> bool:
    return month in _existing()


def overview() -> Iterator[Month]:
    for month in _existing():
        yield look(month)


# By the counters: nothing here grows with the lines of the month.
_IN_USE = """
SELECT (SELECT count(*) FROM deliveries_batch WHERE stream_id >= %(first)s AND stream_id < %(end)s),
       (SELECT coalesce(sum(in_doubt), 0) FROM deliveries_stream
        WHERE id >= %(first)s AND id < %(end)s)
     + (SELECT coalesce(sum(in_doubt), 0) FROM deliveries_streamdelta
        WHERE stream_id >= %(first)s AND stream_id < %(end)s)
     + (SELECT coalesce(sum(in_doubt), 0) FROM deliveries_batch
        WHERE stream_id >= %(first)s AND stream_id < %(end)s)
"""

_SIZE = """
SELECT coalesce(sum(pg_total_relation_size(to_regclass(name))), 0)::bigint
FROM unnest(%s::text[]) AS name
"""


def look(month: int) -> Month:
    with connection.cursor() as cursor:
        cursor.execute(_SIZE, [[partition(table, month) for table in TABLES]])
        [(size,)] = cursor.fetchall()
        bounds = {"first": ids.first_stream_of(month), "end": ids.first_stream_of(month + 1)}
        cursor.execute(_IN_USE, bounds)
        [(live, doubts)] = cursor.fetchall()
    return Month(month, bytes=size, live_batch_count=live, doubt_count=int(doubts))


def _existing() -> list[int]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_get_expr(relpartbound, oid) FROM pg_class"
            " WHERE oid IN (SELECT inhrelid FROM pg_inherits"
            "  WHERE inhparent = 'deliveries_delivery'::regclass)"
        )
        firsts = [int(bound.split("'")[1]) for (bound,) in cursor.fetchall()]
    return sorted(ids.month_of_stream(first) for first in firsts)
