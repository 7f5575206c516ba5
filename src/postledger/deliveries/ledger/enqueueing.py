"""Enqueues deliveries that are given as values, in the caller's transaction."""

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import LiteralString

from django.db import transaction
from psycopg import sql as pg

from postledger.deliveries.entries import NewDelivery, StreamKind
from postledger.deliveries.ledger import bodies, fence, opening, planning, sql
from postledger.deliveries.reasons import Reason

MOST_DELIVERIES = 1_000

_GIVEN: LiteralString = """
SELECT *, NULL::text AS kept_back FROM unnest(
    %(addresses)s::text[], %(keys)s::text[], %(contacts)s::bigint[], %(variables)s::text[],
    %(letters)s::bigint[]
) AS given (address, dedupe_key, contact_id, variables, letter)
"""

# One statement, so that a request without a dedupe key is one round trip and its own transaction.
_ENQUEUE: LiteralString = f"""
WITH lane AS MATERIALIZED (
    SELECT deliveries_keep_lane(%(stream)s) AS kind
), given AS MATERIALIZED (
    SELECT nextval('deliveries_single_position') AS position, source.*
    FROM (
        SELECT given.* FROM lane, unnest(
            %(addresses)s::text[], %(keys)s::text[], %(contacts)s::bigint[],
            %(variables)s::text[], %(bodies)s::text[]
        ) WITH ORDINALITY AS given (address, dedupe_key, contact_id, variables, body, n)
        WHERE lane.kind = 'transactional'
    ) AS source
), added AS (
    INSERT INTO deliveries_delivery (
        stream_id, position, planned_at, address, dedupe_key, contact_id, variables
    )
    SELECT %(stream)s, position, statement_timestamp(), address, dedupe_key, contact_id,
           variables::jsonb
    FROM given
    ORDER BY dedupe_key  -- two requests with the same keys wait for each other in one order
    ON CONFLICT (stream_id, dedupe_key) WHERE dedupe_key IS NOT NULL DO NOTHING
    RETURNING position
), batch AS (
    INSERT INTO deliveries_batch (
        stream_id, lo, hi, is_single, try_number, due_at, reason, since, planned
    )
    SELECT %(stream)s, position, position + 1, true, 1,
           coalesce(%(due_at)s, statement_timestamp()), %(reason)s,
           statement_timestamp(), 1
    FROM added
), body AS (
    {bodies.insert("given JOIN added USING (position)")}
), word AS (
    INSERT INTO deliveries_word (stream_id, word, position)
    SELECT %(stream)s, w.word, added.position
    FROM given JOIN added USING (position)
    JOIN unnest(%(word_numbers)s::bigint[], %(words)s::text[]) AS w (n, word) ON w.n = given.n
    ON CONFLICT DO NOTHING
)
SELECT lane.kind, added.position
FROM lane LEFT JOIN given ON true LEFT JOIN added USING (position) ORDER BY given.n
"""

_BY_KEY: LiteralString = """
SELECT dedupe_key, position FROM deliveries_delivery
WHERE stream_id = %(stream)s AND dedupe_key = ANY(%(keys)s::text[])
"""


def enqueue(
    stream_id: int,
    deliveries: Sequence[NewDelivery],
    *,
    due_at: datetime | None = None,
    reason: Reason = Reason.READY,
    is_interrupted: bool = False,
) -> list[int]:
    """Enqueues up to 1,000 deliveries and returns their positions, in the order given.

    Idempotent by (stream, dedupe_key): a repeated key adds nothing and gets the position it had.
    All or nothing, also without a transaction of the caller's. A transactional stream gets one
    batch a mail, any other batches of up to 500. Without `due_at` they are due at once, by the
    database's clock. `is_interrupted` says that a restore may have lost the same deliveries, which
    were sent: those of other than transactional streams are in doubt then.
    """
    if len(deliveries) > MOST_DELIVERIES:
        msg = f"enqueue takes up to {MOST_DELIVERIES} deliveries, not {len(deliveries)}"
        raise ValueError(msg)
    if not deliveries:
        return []
    params = {**_columns(deliveries), "stream": stream_id, "due_at": due_at, "reason": reason.value}
    with opening.refusing_dropped_months(stream_id):
        rows = sql.rows(_ENQUEUE, params)
        match rows[0][0]:
            case None:
                raise opening.closed_error(stream_id)
            case StreamKind.TRANSACTIONAL:
                return _positions(stream_id, deliveries, [position for _, position in rows])
            case _:
                with transaction.atomic():
                    lo, positions = _enqueue_batches(stream_id, deliveries, params)
                    if is_interrupted:
                        fence.doubt_planned_again(
                            stream_id, lo=lo, due_at=due_at, is_interrupted=True
                        )
                return positions


def _positions(
    stream_id: int, deliveries: Sequence[NewDelivery], new: Sequence[int | None]
) -> list[int]:
    """The positions of all deliveries: new ones, and for repeated keys those they had."""
    if None not in new:
        return [position for position in new if position is not None]
    # A conflicting key may have been committed after that statement began: read it in a new one.
    by_key = _positions_by_key(stream_id, deliveries)
    return [
        by_key[str(delivery.dedupe_key)] if position is None else position
        for delivery, position in zip(deliveries, new, strict=True)
    ]


def _enqueue_batches(
    stream_id: int, deliveries: Sequence[NewDelivery], params: Mapping[str, object]
) -> tuple[int, list[int]]:
    """The first position that is new, and the positions of all deliveries."""
    statement = pg.SQL(planning.PLAN).format(source=pg.SQL(_GIVEN), repeated=planning.REPEATED)
    with transaction.atomic():
        opening.keep_open(stream_id)
        [(base, *_)] = sql.rows(statement, {**params, "size": planning.BATCH_SIZE})
        by_key = _positions_by_key(stream_id, deliveries)
        positions = [
            base + n if delivery.dedupe_key is None else by_key[delivery.dedupe_key]
            for n, delivery in enumerate(deliveries)
        ]
        by_position = zip(positions, (delivery.body for delivery in deliveries), strict=True)
        bodies.store(stream_id, [(at, body) for at, body in by_position if body is not None])
    return base, positions


def _positions_by_key(stream_id: int, deliveries: Sequence[NewDelivery]) -> dict[str, int]:
    keys = sql.Texts(item.dedupe_key for item in deliveries if item.dedupe_key is not None)
    rows = sql.rows(_BY_KEY, {"stream": stream_id, "keys": keys}) if keys else []
    return {str(key): int(position) for key, position in rows}


def _columns(deliveries: Sequence[NewDelivery]) -> dict[str, object]:
    words = [(n, word) for n, item in enumerate(deliveries, start=1) for word in _words(item)]
    return {
        "addresses": sql.Texts(item.address for item in deliveries),
        "keys": sql.Texts(item.dedupe_key for item in deliveries),
        "contacts": sql.Bigints(item.contact_id for item in deliveries),
        "variables": sql.Texts(
            None if item.variables is None else json.dumps(item.variables) for item in deliveries
        ),
        "letters": sql.Bigints(item.letter for item in deliveries),
        "bodies": sql.Texts(
            bodies.body_json(item.body) if item.body else None for item in deliveries
        ),
        "word_numbers": sql.Bigints(n for n, _ in words),
        "words": sql.Texts(word for _, word in words),
    }


def _words(delivery: NewDelivery) -> Iterator[str]:
    """The words that a transactional mail is found by."""
    if delivery.body is not None:
        yield f"to:{delivery.address.lower()}"
        yield from (f"tag:{tag}" for tag in delivery.body.tags)
