"""Enqueues deliveries that are given as values, in the caller's transaction."""

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import LiteralString

from django.db import transaction
from psycopg import sql as pg

from postledger.deliveries.entries import Kind, Line
from postledger.deliveries.ledger import bodies, opening, planning, sql
from postledger.deliveries.reasons import Reason

MOST_LINES = 1_000

_LINES: LiteralString = """
SELECT *, NULL::text AS kept_back FROM unnest(
    %(addresses)s::text[], %(keys)s::text[], %(contacts)s::bigint[], %(variables)s::text[],
    %(letters)s::bigint[]
) AS given (address, dedupe_key, contact_id, variables, letter)
"""

# One statement, so that a request without a dedupe key is one round trip and its own transaction.
_ENQUEUE: LiteralString = """
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
), line AS (
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
    FROM line
), body AS (
    INSERT INTO deliveries_body (
        stream_id, position, request_id, subject, html, text, headers, to_name, reply_to, tags,
        attachments, letter, list_key, size
    )
    SELECT %(stream)s, position, b.*, octet_length(given.body)
    FROM given JOIN line USING (position),
         jsonb_to_record(given.body::jsonb) AS b (
             request_id text, subject text, html text, text text, headers jsonb, to_name text,
             reply_to text, tags jsonb, attachments jsonb, letter text, list_key text
         )
    WHERE given.body IS NOT NULL
), word AS (
    INSERT INTO deliveries_word (stream_id, word, position)
    SELECT %(stream)s, w.word, line.position
    FROM given JOIN line USING (position)
    JOIN unnest(%(word_lines)s::bigint[], %(words)s::text[]) AS w (n, word) ON w.n = given.n
    ON CONFLICT DO NOTHING
)
SELECT lane.kind, line.position
FROM lane LEFT JOIN given ON true LEFT JOIN line USING (position) ORDER BY given.n
"""

_KNOWN: LiteralString = """
SELECT dedupe_key, position FROM deliveries_delivery
WHERE stream_id = %(stream)s AND dedupe_key = ANY(%(keys)s::text[])
"""


def enqueue(
    stream_id: int,
    lines: Sequence[Line],
    *,
    due_at: datetime | None = None,
    reason: Reason = Reason.READY,
) -> list[int]:
    """Enqueues up to 1,000 deliveries and returns their positions, in the order given.

    Idempotent by (stream, dedupe_key): a repeated key adds nothing and gets the position it had.
    All or nothing, also without a transaction of the caller's. A transactional stream gets one
    batch a mail, any other batches of up to 500. Without `due_at` they are due at once, by the
    database's clock.
    """
    if len(lines) > MOST_LINES:
        msg = f"enqueue takes up to {MOST_LINES} lines at a time, not {len(lines)}"
        raise ValueError(msg)
    if not lines:
        return []
    params = {**_columns(lines), "stream": stream_id, "due_at": due_at, "reason": reason.value}
    with opening.refusing_dropped_months(stream_id):
        found = sql.rows(_ENQUEUE, {**params, **_contents(lines)})
        match found[0][0]:
            case None:
                raise opening.closed(stream_id)
            case Kind.TRANSACTIONAL:
                return _positions(stream_id, lines, [position for _, position in found])
            case _:
                return _enqueue_batches(stream_id, lines, params)


def _positions(stream_id: int, lines: Sequence[Line], new: Sequence[int | None]) -> list[int]:
    """The positions of all lines: new ones, and for repeated keys those they had."""
    if None not in new:
        return [position for position in new if position is not None]
    # A conflicting key may have been committed after that statement began: read it in a new one.
    known = _known(stream_id, lines)
    return [
        known[str(line.dedupe_key)] if position is None else position
        for line, position in zip(lines, new, strict=True)
    ]


def _enqueue_batches(
    stream_id: int, lines: Sequence[Line], params: Mapping[str, object]
) -> list[int]:
    statement = pg.SQL(planning.PLAN).format(source=pg.SQL(_LINES), repeated=planning.REPEATED)
    with transaction.atomic():
        opening.kept_open(stream_id)
        [(base, *_)] = sql.rows(statement, {**params, "size": planning.BATCH_SIZE})
        known = _known(stream_id, lines)
        positions = [
            base + n if line.dedupe_key is None else known[line.dedupe_key]
            for n, line in enumerate(lines)
        ]
        placed = zip(positions, (line.body for line in lines), strict=True)
        bodies.store(stream_id, [(at, body) for at, body in placed if body is not None])
    return positions


def _known(stream_id: int, lines: Sequence[Line]) -> dict[str, int]:
    wanted = sql.Texts(line.dedupe_key for line in lines if line.dedupe_key is not None)
    found = sql.rows(_KNOWN, {"stream": stream_id, "keys": wanted}) if wanted else []
    return {str(key): int(position) for key, position in found}


def _columns(lines: Sequence[Line]) -> dict[str, object]:
    return {
        "addresses": sql.Texts(line.address for line in lines),
        "keys": sql.Texts(line.dedupe_key for line in lines),
        "contacts": sql.Bigints(line.contact_id for line in lines),
        "variables": sql.Texts(
            None if line.variables is None else json.dumps(line.variables) for line in lines
        ),
        "letters": sql.Bigints(line.letter for line in lines),
    }


def _contents(lines: Sequence[Line]) -> dict[str, object]:
    words = [(n, word) for n, line in enumerate(lines, start=1) for word in _words(line)]
    return {
        "bodies": sql.Texts(bodies.written(line.body) if line.body else None for line in lines),
        "word_lines": sql.Bigints(n for n, _ in words),
        "words": sql.Texts(word for _, word in words),
    }


def _words(line: Line) -> Iterator[str]:
    if line.body is not None:
        yield f"to:{line.address.lower()}"
        yield from (f"tag:{tag}" for tag in line.body.tags)
