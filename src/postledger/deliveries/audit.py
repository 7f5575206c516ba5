"""Recounts the books, delivery by delivery, against the counters and the rules."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import LiteralString, override

from django.db import transaction

from postledger.deliveries import partitions, queries
from postledger.deliveries.ledger import books, sql
from postledger.deliveries.queries import Books, ReportCounts
from postledger.deliveries.states import State
from postledger.lib import ids


@dataclass(frozen=True, slots=True)
class Discrepancy:
    """One thing that does not add up."""

    stream_id: int
    sentence: str
    position: int | None = None

    @override
    def __str__(self) -> str:
        if self.position is None:
            return f"stream {self.stream_id}: {self.sentence}"
        name = ids.DeliveryId(self.stream_id, self.position).uuid()
        return f"stream {self.stream_id}, delivery {name}: {self.sentence}"


@dataclass(frozen=True, slots=True)
class StreamAudit:
    """One stream's books and what is wrong in them."""

    stream_id: int
    books: Books
    discrepancies: Sequence[Discrepancy]


_RECOUNT: LiteralString = """
SELECT state, count(*) FROM deliveries_delivery WHERE stream_id = %(stream)s GROUP BY state
"""

# Of a delivery, however many events of one kind it has.
_RECOUNT_REPORTS: LiteralString = f"""
SELECT {
    ", ".join(
        [
            f"count(DISTINCT position) FILTER (WHERE counts_as = '{name}')"
            for name in books.REPORTED[:-1]
        ]
    )
}, count(DISTINCT position)
FROM deliveries_feedback WHERE stream_id = %(stream)s
"""

# Each finds the first delivery that breaks its sentence.
_RULES: dict[str, LiteralString] = {
    "it waits, but no live batch covers it": f"""
        SELECT d.position FROM deliveries_delivery d
        WHERE d.stream_id = %(stream)s AND d.state = 'waiting' AND NOT {sql.covered("d.position")}
        ORDER BY d.position LIMIT 1""",
    "two live batches cover it": """
        SELECT lo FROM (
            SELECT lo, max(hi) OVER (
                ORDER BY lo, id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
            ) AS covered_to
            FROM deliveries_batch WHERE stream_id = %(stream)s
        ) AS b WHERE lo < covered_to ORDER BY lo LIMIT 1""",
    "it is in doubt without a doubtful try, or has one although it is closed": """
        SELECT position FROM deliveries_delivery
        WHERE stream_id = %(stream)s
          AND (state = 'in_doubt' AND doubts IS NULL
               OR state NOT IN ('waiting', 'in_doubt') AND doubts IS NOT NULL)
        ORDER BY position LIMIT 1""",
    "it has a result without a time, or a time without a result": """
        SELECT position FROM deliveries_delivery
        WHERE stream_id = %(stream)s AND (state = 'waiting') <> (settled_at IS NULL)
        ORDER BY position LIMIT 1""",
    "it was accepted without an attempt": """
        SELECT position FROM deliveries_delivery
        WHERE stream_id = %(stream)s AND state = 'accepted' AND (attempts < 1 OR last_try < 1)
        ORDER BY position LIMIT 1""",
    "its batch is on a try that already has a result": """
        SELECT d.position FROM deliveries_batch b CROSS JOIN LATERAL (
            SELECT position FROM deliveries_delivery
            WHERE stream_id = b.stream_id AND position >= b.lo AND position < b.hi
              AND state = 'waiting' AND last_try >= b.try_number
            ORDER BY position LIMIT 1
        ) AS d WHERE b.stream_id = %(stream)s ORDER BY d.position LIMIT 1""",
    "its batch is leased, but no lease is written down": """
        SELECT b.lo FROM deliveries_batch b
        WHERE b.stream_id = %(stream)s AND b.lease IS NOT NULL
          AND NOT EXISTS (SELECT FROM deliveries_lease l WHERE l.token = b.lease)
        ORDER BY b.lo LIMIT 1""",
    "it has work, but its stream is not in the rotation": """
        SELECT b.lo FROM deliveries_batch b
        WHERE b.stream_id = %(stream)s
          AND NOT EXISTS (SELECT FROM deliveries_lane l WHERE l.stream_id = b.stream_id)
        ORDER BY b.lo LIMIT 1""",
}

_CONSTRAINTS: LiteralString = """
SELECT name FROM unnest(%(names)s::text[]) AS name
WHERE NOT EXISTS (SELECT FROM pg_constraint c WHERE c.conname = name AND c.convalidated)
  AND NOT EXISTS (
    SELECT FROM pg_class c JOIN pg_index i ON i.indexrelid = c.oid
    WHERE c.relname = name AND i.indisvalid AND i.indisunique
  )
"""
_PROMISED = [
    "deliveries_batch_no_overlap",
    "deliveries_batch_start",
    "deliveries_batch_window_inside",
    "deliveries_delivery_once",
    "deliveries_delivery_pkey",
    "deliveries_delivery_state",
]


def missing_constraints() -> list[str]:
    """The constraints that the books need and this database does not have."""
    return [name for (name,) in sql.rows(_CONSTRAINTS, {"names": _PROMISED})]


def audit(stream_id: int) -> StreamAudit:
    """Recounts one stream in one snapshot, while mail goes on."""
    with transaction.atomic():
        sql.rows("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY", {})
        counters = queries.read_books([stream_id])[stream_id]
        # A dropped month has no deliveries to recount; its streams' totals are history.
        is_kept = partitions.exists(ids.month_of_stream(stream_id))
        miscounts = [*_miscounts(stream_id, counters), *_misreports(stream_id)] if is_kept else ()
        discrepancies = [*miscounts, *_broken_rules(stream_id)]
    return StreamAudit(stream_id, counters, discrepancies)


def audit_all() -> Iterator[StreamAudit]:
    last = 0
    while stream_ids := queries.stream_ids(after=last):
        yield from map(audit, stream_ids)
        last = stream_ids[-1]


def _miscounts(stream_id: int, counters: Books) -> Iterator[Discrepancy]:
    recount = Counter({State(state): n for state, n in sql.rows(_RECOUNT, {"stream": stream_id})})
    booked = {**counters.counts, State.WAITING: counters.waiting}
    if counters.planned != recount.total():
        sentence = f"{counters.planned} planned, but it has {recount.total()} deliveries"
        yield Discrepancy(stream_id, sentence)
    for state in State:
        if booked[state] != recount[state]:
            sentence = f"{booked[state]} booked as {state}, but {recount[state]} are"
            yield Discrepancy(stream_id, sentence)


def _misreports(stream_id: int) -> Iterator[Discrepancy]:
    counted = asdict(queries.read_report_counts([stream_id])[stream_id])
    [recount] = sql.rows(_RECOUNT_REPORTS, {"stream": stream_id})
    for name, count in asdict(ReportCounts(*recount)).items():
        if counted[name] != count:
            yield Discrepancy(stream_id, f"{counted[name]} counted as {name}, but {count} are")


def _broken_rules(stream_id: int) -> Iterator[Discrepancy]:
    for sentence, statement in _RULES.items():
        row = sql.first_row(statement, {"stream": stream_id})
        if row is not None:
            yield Discrepancy(stream_id, sentence, position=int(row[0]))
