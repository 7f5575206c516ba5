"""Writes planned deliveries and the batches that will carry them, in the caller's transaction."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar, LiteralString

from django.db import IntegrityError, transaction
from psycopg import sql as pg
from psycopg.errors import CheckViolation

from postledger.deliveries import partitions
from postledger.deliveries.entries import Body, Kind, Line
from postledger.deliveries.ledger import lanes, sql
from postledger.deliveries.reasons import Reason
from postledger.lib import ids
from postledger.lib.errors import RefusedError

BATCH_SIZE = 500
MOST_LINES = 1_000

_PRIORITIES = {Kind.TRANSACTIONAL: 0, Kind.TOPIC: 1, Kind.CAMPAIGN: 2}


class StreamClosedError(RefusedError):
    code: ClassVar[str] = "stream_closed"


@dataclass(frozen=True, slots=True)
class Planned:
    """How many lines a chunk added, and how many keys the stream already had."""

    added: int
    repeated: int


_OPEN: LiteralString = """
WITH stream AS (
    INSERT INTO deliveries_stream (id, workspace_id, sender_id, kind, title, created_at)
    VALUES (
        %(first)s + nextval('deliveries_stream_number'),
        %(workspace)s, %(sender)s, %(kind)s, %(title)s, %(now)s
    )
    RETURNING id
)
INSERT INTO deliveries_lane (stream_id, priority, turn_at)
SELECT id, %(priority)s, clock_timestamp() FROM stream
RETURNING stream_id
"""


def open_stream(
    workspace_id: int,
    *,
    sender_id: int,
    kind: Kind,
    title: str,
    now: datetime,
) -> int:
    """Opens a stream in the month of `now`; it stays in that month's partition for ever."""
    month = ids.month_of(now)
    if not partitions.exists(month):
        partitions.make(month)
    params = {
        "first": ids.first_stream_of(month),
        "workspace": workspace_id,
        "sender": sender_id,
        "kind": kind.value,
        "title": title,
        "now": now,
        "priority": _PRIORITIES[kind],
    }
    [(stream_id,)] = sql.rows(_OPEN, params)
    return int(stream_id)


_LINES: LiteralString = """
SELECT * FROM unnest(
    %(addresses)s::text[], %(keys)s::text[], %(contacts)s::bigint[], %(variables)s::text[]
) AS given (address, dedupe_key, contact_id, variables)
"""

# A chunk takes its positions from the stream's row, which also makes two planners of one stream
# take turns. Batches are due a microsecond apart, so that the order of due times is the order of
# positions and the index (stream, due_at) serves both.
_PLAN = """
WITH given AS MATERIALIZED (
    SELECT row_number() OVER () AS n, source.* FROM ({source}) AS source
), base AS (
    UPDATE deliveries_stream
    SET next_position = next_position + (SELECT count(*) FROM given)
    WHERE id = %(stream)s
    RETURNING next_position - (SELECT count(*) FROM given) AS lo
), line AS (
    INSERT INTO deliveries_delivery (
        stream_id, position, planned_at, address, dedupe_key, contact_id, variables
    )
    SELECT %(stream)s, base.lo + given.n - 1, statement_timestamp(),
           given.address, given.dedupe_key, given.contact_id, given.variables::jsonb
    FROM base, given
    ON CONFLICT (stream_id, dedupe_key) WHERE dedupe_key IS NOT NULL DO NOTHING
    RETURNING position
), batch AS (
    INSERT INTO deliveries_batch (
        stream_id, lo, hi, is_single, try_number, due_at, reason, since, planned
    )
    SELECT %(stream)s, min(line.position), max(line.position) + 1, false, 1,
           %(due_at)s + line.position / %(size)s * interval '1 microsecond',
           %(reason)s, statement_timestamp(), count(*)
    FROM line
    GROUP BY line.position / %(size)s
)
SELECT (SELECT lo FROM base), (SELECT count(*) FROM given), (SELECT count(*) FROM line)
"""


def plan(
    stream_id: int,
    *,
    source: pg.Composable,
    params: Mapping[str, object],
    due_at: datetime,
    reason: Reason = Reason.READY,
) -> Planned:
    """Plans one chunk from a query inside the database, up to 10,000 rows at a time.

    `source` yields address, dedupe_key, contact_id, variables (as text) in the order of sending.
    Idempotent by (stream, dedupe_key): a repeated chunk adds nothing. Commits with the caller's
    transaction, so a cursor stored there moves together with the rows.
    """
    statement = pg.SQL(_PLAN).format(source=source)
    everything = {
        **params,
        "stream": stream_id,
        "due_at": due_at,
        "reason": reason.value,
        "size": BATCH_SIZE,
    }
    with transaction.atomic(), _refusing_dropped_months(stream_id):
        _open_kind(stream_id)
        [(_, given, added)] = sql.rows(statement, everything)
    return Planned(added=added, repeated=given - added)


_ENQUEUE: LiteralString = """
WITH given AS MATERIALIZED (
    SELECT nextval('deliveries_single_position') AS position, source.*
    FROM (
        SELECT * FROM unnest(
            %(addresses)s::text[], %(keys)s::text[], %(contacts)s::bigint[], %(variables)s::text[]
        ) WITH ORDINALITY AS given (address, dedupe_key, contact_id, variables, n)
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
    SELECT %(stream)s, position, position + 1, true, 1, %(due_at)s, %(reason)s,
           statement_timestamp(), 1
    FROM line
)
SELECT given.n - 1, line.position FROM given LEFT JOIN line USING (position) ORDER BY given.n
"""

_KNOWN: LiteralString = """
SELECT dedupe_key, position FROM deliveries_delivery
WHERE stream_id = %(stream)s AND dedupe_key = ANY(%(keys)s::text[])
"""


def enqueue(
    stream_id: int,
    lines: Sequence[Line],
    *,
    due_at: datetime,
    reason: Reason = Reason.READY,
) -> list[int]:
    """Enqueues up to 1,000 deliveries and returns their positions, in the order given.

    Idempotent by (stream, dedupe_key): a repeated key adds nothing and gets the position it had.
    All or nothing with the caller's transaction. A transactional stream gets one batch a mail,
    any other batches of up to 500.
    """
    if len(lines) > MOST_LINES:
        msg = f"enqueue takes up to {MOST_LINES} lines at a time, not {len(lines)}"
        raise ValueError(msg)
    params = {**_columns(lines), "stream": stream_id, "due_at": due_at, "reason": reason.value}
    with transaction.atomic(), _refusing_dropped_months(stream_id):
        kind = _open_kind(stream_id)
        put = _enqueue_singles if kind is Kind.TRANSACTIONAL else _enqueue_batches
        positions = put(stream_id, lines, params)
        _store_bodies(stream_id, lines, positions)
    return positions


def _open_kind(stream_id: int) -> Kind:
    kind = lanes.keep_lane(stream_id)
    if kind is None:
        raise _closed(stream_id)
    return kind


@contextmanager
def _refusing_dropped_months(stream_id: int) -> Iterator[None]:
    try:
        yield
    except IntegrityError as error:
        if isinstance(error.__cause__, CheckViolation):
            raise _closed(stream_id) from error
        raise


def _closed(stream_id: int) -> StreamClosedError:
    return StreamClosedError(
        f"Stream {stream_id} takes no more mail: it was cancelled, its month was dropped, or it"
        " does not exist. Open a new stream for what is still to be sent."
    )


def _enqueue_singles(
    stream_id: int, lines: Sequence[Line], params: Mapping[str, object]
) -> list[int]:
    found = sql.rows(_ENQUEUE, params)
    # A conflicting key may have been committed after this statement began: read it in a new one.
    known = _known(stream_id, lines)
    return [
        position if position is not None else known[str(line.dedupe_key)]
        for line, (_, position) in zip(lines, found, strict=True)
    ]


def _enqueue_batches(
    stream_id: int, lines: Sequence[Line], params: Mapping[str, object]
) -> list[int]:
    statement = pg.SQL(_PLAN).format(source=pg.SQL(_LINES))
    [(base, _, _)] = sql.rows(statement, {**params, "size": BATCH_SIZE})
    known = _known(stream_id, lines)
    return [
        base + n if line.dedupe_key is None else known[line.dedupe_key]
        for n, line in enumerate(lines)
    ]


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
    }


_STORE_BODIES: LiteralString = """
INSERT INTO deliveries_body (stream_id, position, request_id, subject, html, text, headers)
SELECT %(stream)s, given.position, request_id, subject, html, text, headers::jsonb
FROM unnest(
    %(positions)s::bigint[], %(request_ids)s::text[], %(subjects)s::text[], %(htmls)s::text[],
    %(texts)s::text[], %(headers)s::text[]
) AS given (position, request_id, subject, html, text, headers)
ON CONFLICT (stream_id, position) DO NOTHING
"""


def _store_bodies(stream_id: int, lines: Sequence[Line], positions: Sequence[int]) -> None:
    given: list[tuple[int, Body]] = [
        (position, line.body)
        for position, line in zip(positions, lines, strict=True)
        if line.body is not None
    ]
    if not given:
        return
    bodies = [body for _, body in given]
    params = {
        "stream": stream_id,
        "positions": sql.Bigints(position for position, _ in given),
        "request_ids": sql.Texts(body.request_id for body in bodies),
        "subjects": sql.Texts(body.subject for body in bodies),
        "htmls": sql.Texts(body.html for body in bodies),
        "texts": sql.Texts(body.text for body in bodies),
        "headers": sql.Texts(
            None if body.headers is None else json.dumps(body.headers) for body in bodies
        ),
    }
    sql.rows(_STORE_BODIES, params)
