"""The monthly partitions of the ledger: creating them, and how much they hold."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.db import connection, transaction

from postledger.lib import ids
from postledger.lib.errors import ConflictError

MONTHS_AHEAD = 3

# Half-empty table pages keep the one update of each delivery inside its page.
_OPTIONS = {
    "delivery": " WITH (fillfactor = 40)",
    "body": "",
    "word": "",
    "attempt": "",
    "deliveryevent": "",
    "feedback": "",
    "providermessage": "",
}
TABLES = tuple(f"deliveries_{table}" for table in _OPTIONS)


class MonthDroppedError(ConflictError):
    code = "month_dropped"


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
    """The month by the database's clock: no process with a wrong clock creates or drops a month."""
    [(month,)] = _rows("SELECT deliveries_month(clock_timestamp())")
    return int(month)


def create_missing(*, ahead: int = MONTHS_AHEAD) -> list[str]:
    """Creates the partitions of this month and the next ones; returns the names of new months."""
    first = this_month()
    missing = sorted({*range(first, first + ahead + 1)} - {*_existing()})
    for month in missing:
        create(month)
    return [ids.month_name(month) for month in missing]


def create(month: int) -> None:
    """Creates one month's partitions; does nothing where they exist.

    Refused for a month that was dropped: it would come back empty, and say of everybody who had
    mail in it that they had none.
    Created apart and then attached: CREATE TABLE … PARTITION OF would wait for everyone who reads
    the ledger, and everyone who comes later would wait behind it.
    """
    bounds = f"({ids.first_stream_of(month)}) TO ({ids.first_stream_of(month + 1)})"
    with transaction.atomic(), connection.cursor() as cursor:
        lock_months()
        if is_dropped([month]):
            raise MonthDroppedError(
                f"{ids.month_name(month)} was dropped from the ledger, and is not created again."
                f" By the database's clock it is {ids.month_name(this_month())} now:"
                " if that is wrong, set the clock right and try again."
            )
        for table, options in _OPTIONS.items():
            parent = f"deliveries_{table}"
            name = partition(parent, month)
            if _rows("SELECT to_regclass(%(name)s) IS NOT NULL", {"name": name}) == [(True,)]:
                continue
            cursor.execute(
                f"CREATE TABLE {name}"
                f" (LIKE {parent} INCLUDING DEFAULTS INCLUDING CONSTRAINTS){options};"
                f" ALTER TABLE {name} ENABLE ROW LEVEL SECURITY;"
                f" CREATE POLICY service_only ON {name} USING (false);"
                f" ALTER TABLE {parent} ATTACH PARTITION {name} FOR VALUES FROM {bounds}"
            )


def lock_months() -> None:
    """Keeps others from creating or dropping months until the transaction ends.

    Two creators of one month would meet in CREATE TABLE and one would fail; a creator that overtook
    a drop would make an empty month.
    """
    _rows("SELECT pg_advisory_xact_lock(hashtext('deliveries_partitions'))")


def is_dropped(months: Iterable[int]) -> bool:
    """Whether any of these months was dropped."""
    query = "SELECT EXISTS (SELECT FROM deliveries_droppedmonth WHERE month = ANY(%(months)s))"
    [(is_any,)] = _rows(query, {"months": list(months)})
    return bool(is_any)


def list_dropped() -> list[int]:
    """The months that were dropped, in their order."""
    return [month for (month,) in _rows("SELECT month FROM deliveries_droppedmonth ORDER BY 1")]


def partition(table: str, month: int) -> str:
    """The name of one month's partition of a table."""
    return f"{table}_{ids.month_name(month).replace('-', '_')}"


def exists(month: int) -> bool:
    return month in _existing()


def find_oldest_month() -> int:
    """The first month whose mail is kept; this one if there is none yet."""
    return min(_existing(), default=this_month())


def list_months() -> list[Month]:
    return [describe(month) for month in _existing()]


# By the counters: the number of deliveries does not matter here.
_IN_USE = """
SELECT (SELECT count(*) FROM deliveries_batch WHERE stream_id >= %(first)s AND stream_id < %(end)s),
       (SELECT coalesce(sum(in_doubt), 0) FROM deliveries_stream
        WHERE id >= %(first)s AND id < %(end)s)
     + (SELECT coalesce(sum(in_doubt), 0) FROM deliveries_streamdelta
        WHERE stream_id >= %(first)s AND stream_id < %(end)s)
"""

_SIZE = """
SELECT coalesce(sum(pg_total_relation_size(to_regclass(name))), 0)::bigint
FROM unnest(%(names)s::text[]) AS name
"""


def describe(month: int) -> Month:
    [(size,)] = _rows(_SIZE, {"names": [partition(table, month) for table in TABLES]})
    [(live, doubts)] = _rows(_IN_USE, _bounds(month))
    return Month(month, bytes=size, live_batch_count=live, doubt_count=int(doubts))


_COUNT = """
SELECT count(*) FROM deliveries_delivery WHERE stream_id >= %(first)s AND stream_id < %(end)s
"""


def count_deliveries(month: int) -> int:
    """Counted one by one: a person who is about to drop them wants to know exactly."""
    [(count,)] = _rows(_COUNT, _bounds(month))
    return int(count)


_EXISTING = """
SELECT pg_get_expr(relpartbound, oid) FROM pg_class
WHERE oid IN (
    SELECT inhrelid FROM pg_inherits WHERE inhparent = 'deliveries_delivery'::regclass
)
"""


def _existing() -> list[int]:
    firsts = [int(bound.split("'")[1]) for (bound,) in _rows(_EXISTING)]
    return sorted(map(ids.month_of_stream, firsts))


def _bounds(month: int) -> dict[str, int]:
    return {"first": ids.first_stream_of(month), "end": ids.first_stream_of(month + 1)}


def _rows(query: str, params: Mapping[str, Any] | None = None) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(query, params)
        return list(cursor.fetchall())
