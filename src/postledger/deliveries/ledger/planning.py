"""Writes planned deliveries and the batches that will carry them, in the caller's transaction."""

import json
from base64 import b64encode
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
from postledger.lib import crashpoints, ids
from postledger.lib.crashpoints import Point
from postledger.lib.errors import RefusedError

BATCH_SIZE = 500
MOST_LINES = 1_000
SHARED = -1  # where the body lies that the lines of a stream's first letter share

_PRIORITIES = {Kind.TRANSACTIONAL: 0, Kind.TOPIC: 1, Kind.CAMPAIGN: 2}


def shared(letter: int) -> int:
    """Where the body of a stream's n-th letter lies: before all mails."""
    return SHARED - letter


class StreamClosedError(RefusedError):
    code: ClassVar[str] = "stream_closed"


@dataclass(frozen=True, slots=True)
class Planned:
    """How many lines a chunk added, and how many keys the stream already had."""

    added: int
    repeated: int


_OPEN: LiteralString = """
WITH stream AS (
    INSERT INTO deliveries_stream (id, workspace_id, sender_id, kind, title, is_test, created_at)
    VALUES (
        %(first)s + nextval('deliveries_stream_number'),
        %(workspace)s, %(sender)s, %(kind)s, %(title)s, %(is_test)s, %(now)s
    )
    RETURNING id
)
INSERT INTO deliveries_lane (stream_id, priority, turn_at)
SELECT id, %(priority)s, clock_timestamp() FROM stream
RETURNING stream_id
"""


def open_stream(  # noqa: PLR0913  what a stream is, each by its name
    workspace_id: int,
    *,
    sender_id: int,
    kind: Kind,
    title: str,
    now: datetime,
    is_test: bool = False,
    body: Body | None = None,
) -> int:
    """Opens a stream in the month of `now`; it stays in that month's partition for ever.

    `body` is the content that all its lines share; a test stream's mails go to the sandbox.
    """
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
        "is_test": is_test,
        "priority": _PRIORITIES[kind],
    }
    with transaction.atomic():
        [(stream_id,)] = sql.rows(_OPEN, params)
        if body is not None:
            _store_bodies(stream_id, [(SHARED, body)])
    return int(stream_id)


_LINES: LiteralString = """
SELECT * FROM unnest(
    %(addresses)s::text[], %(keys)s::text[], %(contacts)s::bigint[], %(variables)s::text[],
    %(letters)s::bigint[]
) AS given (address, dedupe_key, contact_id, variables, letter)
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
        stream_id, position, planned_at, address, dedupe_key, contact_id, variables, letter
    )
    SELECT %(stream)s, base.lo + given.n - 1, statement_timestamp(),
           given.address, given.dedupe_key, given.contact_id, given.variables::jsonb,
           given.letter
    FROM base, given
    ON CONFLICT (stream_id, dedupe_key) WHERE dedupe_key IS NOT NULL DO NOTHING
    RETURNING position
), batch AS (
    INSERT INTO deliveries_batch (
        stream_id, lo, hi, is_single, try_number, due_at, reason, since, planned
    )
    SELECT %(stream)s, min(line.position), max(line.position) + 1, false, 1,
           coalesce(%(due_at)s, statement_timestamp())
           + line.position / %(size)s * interval '1 microsecond',
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
    due_at: datetime | None = None,
    reason: Reason = Reason.READY,
) -> Planned:
    """Plans one chunk from a query inside the database, up to 10,000 rows at a time.

    `source` yields address, dedupe_key, contact_id, variables (as text) and letter, in the order
    of sending.
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
        crashpoints.reached(Point.IN_PLAN_CHUNK)
    return Planned(added=added, repeated=given - added)


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
        attachments, letter, list_key
    )
    SELECT %(stream)s, position, b.*
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
    with _refusing_dropped_months(stream_id):
        found = sql.rows(_ENQUEUE, {**params, **_contents(lines)})
        match found[0][0]:
            case None:
                raise _closed(stream_id)
            case Kind.TRANSACTIONAL:
                return _positions(stream_id, lines, [position for _, position in found])
            case _:
                return _enqueue_batches(stream_id, lines, params)


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
    statement = pg.SQL(_PLAN).format(source=pg.SQL(_LINES))
    with transaction.atomic():
        _open_kind(stream_id)
        [(base, _, _)] = sql.rows(statement, {**params, "size": BATCH_SIZE})
        known = _known(stream_id, lines)
        positions = [
            base + n if line.dedupe_key is None else known[line.dedupe_key]
            for n, line in enumerate(lines)
        ]
        bodies = zip(positions, (line.body for line in lines), strict=True)
        _store_bodies(stream_id, [(at, body) for at, body in bodies if body is not None])
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
        "bodies": sql.Texts(_written(line.body) if line.body else None for line in lines),
        "word_lines": sql.Bigints(n for n, _ in words),
        "words": sql.Texts(word for _, word in words),
    }


def _words(line: Line) -> Iterator[str]:
    if line.body is not None:
        yield f"to:{line.address.lower()}"
        yield from (f"tag:{tag}" for tag in line.body.tags)


def _written(body: Body) -> str:
    return json.dumps(
        {
            "request_id": body.request_id,
            "subject": body.subject,
            "html": body.html,
            "text": body.text,
            "headers": dict(body.headers) if body.headers else None,
            "to_name": body.to_name,
            "reply_to": body.reply_to,
            "tags": list(body.tags) or None,
            "letter": body.letter,
            "list_key": body.list_key,
            "attachments": [
                {
                    "filename": attachment.filename,
                    "content_type": attachment.content_type,
                    "content": b64encode(attachment.content).decode(),
                }
                for attachment in body.attachments
            ]
            or None,
        }
    )


_STORE_BODIES: LiteralString = """
INSERT INTO deliveries_body (
    stream_id, position, request_id, subject, html, text, headers, to_name, reply_to, tags,
    attachments, letter, list_key
)
SELECT %(stream)s, given.position, b.*
FROM unnest(%(positions)s::bigint[], %(bodies)s::text[]) AS given (position, body),
     jsonb_to_record(given.body::jsonb) AS b (
         request_id text, subject text, html text, text text, headers jsonb, to_name text,
         reply_to text, tags jsonb, attachments jsonb, letter text, list_key text
     )
ON CONFLICT (stream_id, position) DO NOTHING
"""


def add_letters(stream_id: int, bodies: Mapping[int, Body]) -> None:
    """Stores what the lines of some letters share, by their numbers; one that is there stays."""
    _store_bodies(stream_id, [(shared(number), body) for number, body in bodies.items()])


def _store_bodies(stream_id: int, bodies: Sequence[tuple[int, Body]]) -> None:
    if bodies:
        params = {
            "stream": stream_id,
            "positions": sql.Bigints(position for position, _ in bodies),
            "bodies": sql.Texts(_written(body) for _, body in bodies),
        }
        sql.rows(_STORE_BODIES, params)
