"""Takes what providers report of mail on its way, and counts it beside the books."""

from collections.abc import Mapping, Sequence
from typing import LiteralString

from django.db import transaction

from postledger.deliveries import entries
from postledger.deliveries.entries import Evidence, Feedback, Mismatch, TakenFeedback
from postledger.deliveries.ledger import books, evidence, sql
from postledger.deliveries.ledger.erasing import ERASED
from postledger.deliveries.states import State

_KNOWN: LiteralString = """
SELECT f.position, f.key
FROM unnest(%(positions)s::bigint[], %(keys)s::text[]) AS item (position, key)
JOIN deliveries_feedback f
  ON f.stream_id = %(stream)s AND f.position = item.position AND f.key = item.key COLLATE "C"
"""


def find_known_feedback(stream_id: int, facts: Sequence[tuple[int, str]]) -> set[tuple[int, str]]:
    """Those of the facts, by position and key, that were taken already: they change nothing."""
    params = {
        "stream": stream_id,
        "positions": sql.Bigints(position for position, _ in facts),
        "keys": sql.Texts(key for _, key in facts),
    }
    return {(position, key) for position, key in sql.rows(_KNOWN, params)}


def take_feedback(stream_id: int, feedback: Sequence[Feedback]) -> TakenFeedback:
    """Stores what is new about the mails of one stream, and counts their deliveries once a kind.

    Idempotent, in any order. A proof of acceptance is recorded as evidence in the same transaction.
    A fact counts only if its try was armed, its epoch is the current one and its address is the
    delivery's, unless that was erased; of an earlier epoch, if the delivery was planned before the
    database was fenced. No text is stored of a person who was erased.
    """
    with transaction.atomic():
        # A statement of its own: the next ones see what was committed while this one waited.
        sql.lock_feedback(stream_id)
        # Before the batches, as those who hold and release a stream do.
        sql.rows(_LOCK_RELEASED, {"stream": stream_id})
        rows = sql.rows(_EXAMINE, _examined_columns(stream_id, feedback))
        mismatches = {number: Mismatch(why) for number, why, _, _ in rows if why is not None}
        matched = [row for row in rows if row[1] is None]
        _record_proofs(stream_id, [feedback[n] for n, _, state, _ in matched if state != _SENT])
        erased = {number for number, _, _, is_erased in matched if is_erased}
        new = _store(stream_id, {number: feedback[number] for number, *_ in matched}, erased)
    return TakenFeedback(new, mismatches, frozenset(erased.intersection(new)))


_LOCK_RELEASED: LiteralString = """
SELECT FROM deliveries_stream WHERE id = %(stream)s AND guard_since IS NOT NULL FOR NO KEY UPDATE
"""
_SENT = State.ACCEPTED.value

_EXAMINE: LiteralString = f"""
SELECT (item.number - 1)::integer,
       CASE
           WHEN d.position IS NULL THEN 'unknown_delivery'
           WHEN item.epoch > e.number OR item.epoch < e.number AND d.planned_at >= e.began_at
           THEN 'other_epoch'
           WHEN item.address IS NULL
                OR lower(d.address) NOT IN (lower(item.address), %(erased)s)
           THEN 'other_address'
           WHEN item.epoch = e.number AND NOT {sql.WAS_ARMED} THEN 'never_armed'
       END,
       d.state, coalesce(d.address = %(erased)s, false)
FROM unnest(
    %(positions)s::bigint[], %(tries)s::integer[], %(epochs)s::integer[], %(addresses)s::text[]
) WITH ORDINALITY AS item (position, try_number, epoch, address, number)
CROSS JOIN (SELECT number, began_at FROM deliveries_epoch ORDER BY number DESC LIMIT 1) AS e
LEFT JOIN deliveries_delivery d ON d.stream_id = %(stream)s AND d.position = item.position
"""


def _examined_columns(stream_id: int, feedback: Sequence[Feedback]) -> dict[str, object]:
    return {
        "stream": stream_id,
        "erased": ERASED,
        "positions": sql.Bigints(fact.position for fact in feedback),
        "tries": sql.Bigints(fact.try_number for fact in feedback),
        "epochs": sql.Bigints(fact.epoch for fact in feedback),
        "addresses": sql.Texts(fact.address for fact in feedback),
    }


def _record_proofs(stream_id: int, feedback: Sequence[Feedback]) -> None:
    # One for each try: it ends the doubt, and further ones would be kept as unmatched.
    by_try = {(fact.position, fact.try_number): fact for fact in feedback if fact.is_proof}
    proofs = [
        Evidence(
            fact.try_number,
            entries.accepted(fact.position, message_id=fact.message_id),
            source=f"event {fact.name}",
            epoch=fact.epoch,
            address=fact.address,
        )
        for fact in by_try.values()
    ]
    if proofs:
        evidence.record(stream_id, proofs)


# Whether a delivery had an event of a kind before is read by the snapshot of the statement, which
# has none of the rows that it inserts; nobody else inserts any, because of the lock.
# What is reported late of mail from before a release is not counted against the mail after it.
_STORE: LiteralString = f"""
WITH fresh AS (
    INSERT INTO deliveries_feedback (
        stream_id, position, happened_at, received_at, try_number, key, kind, counts_as, name, code,
        detail, message_id
    )
    SELECT %(stream)s, position, happened_at, received_at, try_number, key, kind, counts_as, name,
           NULLIF(code, ''), NULLIF(detail, ''), message_id
    FROM unnest(
        %(positions)s::bigint[], %(happened)s::timestamptz[], %(received)s::timestamptz[],
        %(tries)s::integer[], %(keys)s::text[], %(kinds)s::text[], %(counters)s::text[],
        %(names)s::text[], %(codes)s::text[], %(details)s::text[], %(message_ids)s::text[]
    ) AS item (
        position, happened_at, received_at, try_number, key, kind, counts_as, name, code, detail,
        message_id
    )
    ON CONFLICT DO NOTHING
    RETURNING position, key, counts_as
), first AS MATERIALIZED (
    SELECT fresh.position, fresh.counts_as, bool_and(earlier.is_none) AS is_first_of_all
    FROM fresh CROSS JOIN LATERAL (
        SELECT count(*) = 0 AS is_none,
               coalesce(bool_or(f.counts_as = fresh.counts_as), false) AS is_counted
        FROM deliveries_feedback f
        WHERE f.stream_id = %(stream)s AND f.position = fresh.position
    ) AS earlier
    WHERE NOT earlier.is_counted
    GROUP BY fresh.position, fresh.counts_as
), delta AS (
    INSERT INTO deliveries_streamdelta (stream_id, {", ".join(books.REPORTED)})
    SELECT %(stream)s, {
    ", ".join([f"count(*) FILTER (WHERE counts_as = '{name}')" for name in books.REPORTED[:-1]])
}, count(DISTINCT position) FILTER (WHERE is_first_of_all)
    FROM first
    HAVING count(counts_as) > 0 OR bool_or(is_first_of_all)
), released AS (
    SELECT guard_since AS since FROM deliveries_stream WHERE id = %(stream)s
), late AS (
    UPDATE deliveries_stream s
    SET guard_delivered = s.guard_delivered + earlier.delivered,
        guard_bounced = s.guard_bounced + earlier.bounced,
        guard_complained = s.guard_complained + earlier.complained
    FROM (
        SELECT count(*) FILTER (WHERE counts_as = 'delivered') AS delivered,
               count(*) FILTER (WHERE counts_as = 'bounced') AS bounced,
               count(*) FILTER (WHERE counts_as = 'complained') AS complained
        FROM first JOIN deliveries_delivery d USING (position)
        WHERE d.stream_id = %(stream)s AND (SELECT since FROM released) IS NOT NULL
          AND d.settled_at < (SELECT since FROM released)
    ) AS earlier
    WHERE s.id = %(stream)s AND earlier.delivered + earlier.bounced + earlier.complained > 0
)
SELECT position, key FROM fresh
"""


def _store(stream_id: int, feedback: Mapping[int, Feedback], erased: set[int]) -> list[int]:
    """Returns the numbers of those that were not stored before; of repetitions, the first."""
    numbers: dict[tuple[int, str], int] = {}
    for number, fact in feedback.items():
        numbers.setdefault((fact.position, fact.key), number)
    if not numbers:
        return []
    facts = [feedback[number] for number in numbers.values()]
    params = {
        "stream": stream_id,
        "positions": sql.Bigints(fact.position for fact in facts),
        "happened": sql.Moments(fact.happened_at for fact in facts),
        "received": sql.Moments(fact.received_at for fact in facts),
        "tries": sql.Bigints(fact.try_number for fact in facts),
        "keys": sql.Texts(fact.key for fact in facts),
        "kinds": sql.Texts(fact.kind for fact in facts),
        "counters": sql.Texts(fact.counts_as for fact in facts),
        "names": sql.Texts(fact.name for fact in facts),
        "codes": sql.Texts(fact.code for fact in facts),
        "details": sql.Texts(
            None if number in erased else fact.detail
            for number, fact in zip(numbers.values(), facts, strict=True)
        ),
        "message_ids": sql.Texts(fact.message_id for fact in facts),
    }
    return sorted(numbers[position, key] for position, key in sql.rows(_STORE, params))
