"""Recounts the books, line by line, against the counters and the rules, and says what is wrong."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import LiteralString, override

from django.db import transaction

from postledger.deliveries import partitions, queries
from postledger.deliveries.ledger import sql
from postledger.deliveries.queries import Books
from postledger.deliveries.states import State
from postledger.lib import ids


@dataclass(frozen=True, slots=True)
class Finding:
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
class Audited:
    """One stream's books and what was found wrong in them."""

    stream_id: int
    books: Books
    findings: Sequence[Finding]


_RECOUNT: LiteralString = """
SELECT state, count(*) FROM deliveries_delivery WHERE stream_id = %(stream)s GROUP BY state
"""

# Each finds the first line that breaks its sentence.
_RULES: dict[str, LiteralString] = {
    "it waits, but no live batch covers it": """
        SELECT d.position FROM deliveries_delivery d
        WHERE d.stream_id = %(stream)s AND d.state = 'waiting' AND NOT """
    + sql.covered("d.position")
    + """
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
    "it has work, but the stream is not walked": """
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
    """The constraints the books rest on and this database does not have."""
    return [name for (name,) in sql.rows(_CONSTRAINTS, {"names": _PROMISED})]


def audit(stream_id: int) -> Audited:
    """Recounts one stream in one snapshot, while mail goes on."""
    with transaction.atomic():
        sql.rows("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY", {})
        books = queries.books_of([stream_id])[stream_id]
        # A dropped month has no lines to recount; its streams' totals are history.
        is_kept = partitions.exists(ids.month_of_stream(stream_id))
        miscounts = _miscounts(stream_id, books) if is_kept else ()
        findings = [*miscounts, *_broken_rules(stream_id)]
    return Audited(stream_id, books, findings)


def audit_all() -> Iterator[Audited]:
    last = 0
    while found := queries.stream_ids(after=last):
        for stream_id in found:
            yield audit(stream_id)
        last = found[-1]


def _miscounts(stream_id: int, books: Books) -> Iterator[Finding]:
    recount = {State(state): n for state, n in sql.rows(_RECOUNT, {"stream": stream_id})}
    booked = {**books.counts, State.WAITING: books.waiting}
    if books.planned != sum(recount.values()):
        yield Finding(
            stream_id, f"{books.planned} planned, but the lines are {sum(recount.values())}"
        )
    for state in State:
        if booked[state] != recount.get(state, 0):
            sentence = (
                f"{booked[state]} booked as {state}, but the lines say {recount.get(state, 0)}"
            )
            yield Finding(stream_id, sentence)


def _broken_rules(stream_id: int) -> Iterator[Finding]:
    for sentence, statement in _RULES.items():
        row = sql.one(statement, {"stream": stream_id})
        if row is not None:
            yield Finding(stream_id, sentence, position=int(row[0]))
