"""Which months the ledger has room for, how much they hold, and the making of their partitions."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from django.db import connection, transaction

from postledger.lib import ids

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


def ensure(now: datetime, *, ahead: int = MONTHS_AHEAD) -> list[str]:
    """Makes the missing partitions of this month and the next ones; returns the months made."""
    first = ids.month_of(now)
    wanted = range(first, first + ahead + 1)
    missing = sorted(set(wanted) - set(_existing()))
    for month in missing:
        make(month)
    return [ids.month_name(month) for month in missing]


def make(month: int) -> None:
    """Makes one month's partitions; does nothing where they exist.

    Made apart and then attached: CREATE TABLE … PARTITION OF would wait for everyone who reads
    the ledger, and everyone who comes later would wait behind it.
    """
    bounds = f"({ids.first_stream_of(month)}) TO ({ids.first_stream_of(month + 1)})"
    with transaction.atomic(), connection.cursor() as cursor:
        # Two makers of one month would meet in CREATE TABLE and one would fail.
        cursor.execute("SELECT pg_advisory_xact_lock(hashtext('deliveries_partitions'))")
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
