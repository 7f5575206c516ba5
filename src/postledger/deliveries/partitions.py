"""Which months the ledger has room for, and the making and dropping of their partitions."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from django.db import connection, transaction

from postledger.lib import ids
from postledger.lib.errors import RefusedError

MONTHS_AHEAD = 3

# Half-empty delivery pages keep the one update of each delivery inside its page.
_TABLES = {
    "delivery": " WITH (fillfactor = 40)",
    "body": "",
    "attempt": "",
    "deliveryevent": "",
    "providermessage": "",
}


class MonthInUseError(RefusedError):
    code = "month_in_use"


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
    """Makes one month's partitions; does nothing where they exist."""
    bounds = f"({ids.first_stream_of(month)}) TO ({ids.first_stream_of(month + 1)})"
    with transaction.atomic(), connection.cursor() as cursor:
        # Two makers of one month would meet in CREATE TABLE and one would fail.
        cursor.execute("SELECT pg_advisory_xact_lock(hashtext('deliveries_partitions'))")
        for table, options in _TABLES.items():
            name = _partition(table, month)
            cursor.execute("SELECT to_regclass(%s) IS NOT NULL", [name])
            if cursor.fetchall() == [(True,)]:
                continue
            cursor.execute(
                f"CREATE TABLE {name} PARTITION OF deliveries_{table}"
                f" FOR VALUES FROM {bounds}{options};"
                f" ALTER TABLE {name} ENABLE ROW LEVEL SECURITY;"
                f" CREATE POLICY service_only ON {name} USING (false)"
            )


def exists(month: int) -> bool:
    return month in _existing()


def overview() -> Iterator[Month]:
    for month in _existing():
        live, doubts = _in_use(month)
        with connection.cursor() as cursor:
            tables = [_partition(table, month) for table in _TABLES]
            cursor.execute(
                "SELECT coalesce(sum(pg_total_relation_size(to_regclass(name))), 0)::bigint"
                " FROM unnest(%s::text[]) AS name",
                [tables],
            )
            [(size,)] = cursor.fetchall()
        yield Month(month, size, live, doubts)


def drop(month: int) -> None:
    """Drops one month for good; refused while it has live work or unresolved doubts."""
    with transaction.atomic(), connection.cursor() as cursor:
        for table in _TABLES:
            name = _partition(table, month)
            cursor.execute(f"LOCK TABLE {name} IN ACCESS EXCLUSIVE MODE")
        live, doubts = _in_use(month)
        if live or doubts:
            msg = (
                f"{ids.month_name(month)} stays: it has {live} live batches and {doubts} doubts."
                " Let the batches end or cancel their streams, and resolve the doubts, first."
            )
            raise MonthInUseError(msg)
        for table in _TABLES:
            cursor.execute(f"DROP TABLE {_partition(table, month)}")
        bounds = [ids.first_stream_of(month), ids.first_stream_of(month + 1)]
        for table, key in (("lane", "stream_id"), ("streamdelta", "stream_id"), ("stream", "id")):
            cursor.execute(
                f"DELETE FROM deliveries_{table} WHERE {key} >= %s AND {key} < %s",
                bounds,
            )


def _partition(table: str, month: int) -> str:
    return f"deliveries_{table}_{ids.month_name(month).replace('-', '_')}"


def _existing() -> list[int]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_get_expr(relpartbound, oid) FROM pg_class"
            " WHERE oid IN (SELECT inhrelid FROM pg_inherits"
            "  WHERE inhparent = 'deliveries_delivery'::regclass)"
        )
        firsts = [int(bound.split("'")[1]) for (bound,) in cursor.fetchall()]
    return sorted(ids.month_of_stream(first) for first in firsts)


def _in_use(month: int) -> tuple[int, int]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM deliveries_batch WHERE stream_id >= %s AND stream_id < %s",
            [ids.first_stream_of(month), ids.first_stream_of(month + 1)],
        )
        [(live,)] = cursor.fetchall()
        cursor.execute(
            f"SELECT count(*) FROM {_partition('delivery', month)} WHERE state = 'in_doubt'"
        )
        [(doubts,)] = cursor.fetchall()
    return live, doubts
