"""Runs the ledger's statements on Django's connection, prepared on the server and in binary."""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from functools import cache
from struct import pack
from typing import Any, LiteralString, override
from weakref import WeakSet

import psycopg
from django.db import OperationalError, connection
from psycopg.adapt import Buffer, Dumper
from psycopg.errors import SerializationFailure
from psycopg.pq import Format
from psycopg.sql import Composed

type Row = tuple[Any, ...]
type Statement = LiteralString | Composed

# Advisory locks, by purpose; deliveries_gate() takes the first two, shared.
GATE_OF_STREAM = 1
GATE_OF_SENDER = 2
ROTATION_LOCK = 3
FEEDBACK_LOCK = 5  # 4 is the consent lock of contacts
LIMITS_LOCK = 6
FALL_LOCK = 71

_PARAMETER = re.compile(r"%\((\w+)\)s")


class Bigints(list[int | None]):
    """A bigint[] parameter."""


class Texts(list[str | None]):
    """A text[] parameter."""


class Moments(list[datetime]):
    """A timestamptz[] parameter."""


class _BigintsDumper(Dumper):
    """Packs all numbers at once: psycopg's own arrays cost as much as the rest of a call."""

    format = Format.BINARY
    oid = 1016

    @override
    def dump(self, obj: Bigints) -> Buffer:
        if None in obj:
            parts = [_NULL if n is None else pack("!iq", 8, n) for n in obj]
            return _array(20, len(obj), b"".join(parts), has_null=True)
        interleaved = [8] * (2 * len(obj))
        interleaved[1::2] = obj  # type: ignore[assignment]
        return _array(20, len(obj), pack("!" + "iq" * len(obj), *interleaved), has_null=False)


class _TextsDumper(Dumper):
    format = Format.BINARY
    oid = 1009

    @override
    def dump(self, obj: Texts) -> Buffer:
        parts: list[bytes] = []
        for text in obj:
            if text is None:
                parts.append(_NULL)
            else:
                encoded = text.encode()
                parts += (pack("!i", len(encoded)), encoded)
        return _array(25, len(obj), b"".join(parts), has_null=None in obj)


class _MomentsDumper(Dumper):
    format = Format.BINARY
    oid = 1185

    @override
    def dump(self, obj: Moments) -> Buffer:
        parts = [pack("!iq", 8, (moment - _YEAR_2000) // _MICROSECOND) for moment in obj]
        return _array(1184, len(obj), b"".join(parts), has_null=False)


_YEAR_2000 = datetime(2000, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_NULL = pack("!i", -1)


def _array(element: int, length: int, data: bytes, *, has_null: bool) -> bytes:
    """PostgreSQL's binary array: dimensions, has-null flag, element type, length, lower bound."""
    if not length:
        return pack("!iiI", 0, 0, element)
    return pack("!iiIii", 1, has_null, element, length, 1) + data


def rows(statement: Statement, params: Mapping[str, object]) -> list[Row]:
    """Executes one statement and returns its rows.

    Django's own cursors interpolate on the client, which rules out binary arrays and prepared
    plans; both were measured to matter here, and so was parsing a long statement's parameters
    at every call.
    """
    query, names = _numbered(statement if isinstance(statement, str) else statement.as_string())
    with connection.wrap_database_errors, psycopg.RawCursor(_connection()) as cursor:
        cursor.execute(query, [params[name] for name in names], prepare=True, binary=True)
        # Asked of libpq: the cursor would describe every column first.
        has_rows = cursor.pgresult is not None and cursor.pgresult.nfields > 0
        return cursor.fetchall() if has_rows else []


def rows_after_races(statement: Statement, params: Mapping[str, object]) -> list[Row]:
    """Executes a statement that may lose a race, again until it wins; never in a transaction."""
    while True:
        try:
            return rows(statement, params)
        except OperationalError as error:
            lost = isinstance(error.__cause__, SerializationFailure)
            if not lost or connection.in_atomic_block:
                raise


_with_dumpers: WeakSet[psycopg.Connection] = WeakSet()


def _connection() -> psycopg.Connection:
    connection.ensure_connection()
    raw: psycopg.Connection = connection.connection
    if raw not in _with_dumpers:
        raw.adapters.register_dumper(Bigints, _BigintsDumper)
        raw.adapters.register_dumper(Texts, _TextsDumper)
        raw.adapters.register_dumper(Moments, _MomentsDumper)
        _with_dumpers.add(raw)
    return raw


def first_row(statement: Statement, params: Mapping[str, object]) -> Row | None:
    return next(iter(rows(statement, params)), None)


def convert(row: Row, converters: Mapping[int, Callable[[Any], object]]) -> Row:
    """The row with some of its columns, by index, converted."""
    columns = list(row)
    for index, converter in converters.items():
        columns[index] = converter(columns[index])
    return tuple(columns)


def exists(statement: Statement, params: Mapping[str, object]) -> bool:
    """The answer of a statement that yields one truth value."""
    [(answer,)] = rows(statement, params)
    return bool(answer)


def count(statement: Statement, params: Mapping[str, object]) -> int:
    """The answer of a statement that yields one number."""
    [(answer,)] = rows(statement, params)
    return int(answer)


@cache
def _numbered(statement: str) -> tuple[bytes, tuple[str, ...]]:
    """The statement with PostgreSQL's own $1, $2 … for %(name)s, and the names in that order."""
    names = tuple(dict.fromkeys(_PARAMETER.findall(statement)))
    numbers = {name: f"${number}" for number, name in enumerate(names, start=1)}
    return _PARAMETER.sub(lambda match: numbers[match[1]], statement).encode(), names


_LOCK_FEEDBACK: LiteralString = """
SELECT pg_advisory_xact_lock(%(lock)s, (%(stream)s & 2147483647)::integer)
"""


def lock_feedback(stream_id: int) -> None:
    """Keeps others from adding feedback of the stream until the transaction ends."""
    rows(_LOCK_FEEDBACK, {"lock": FEEDBACK_LOCK, "stream": stream_id})


def covered(position: LiteralString) -> LiteralString:
    """Whether a live batch of the stream covers the position: the nearest start decides."""
    return f"""EXISTS (
        SELECT FROM (
            SELECT hi FROM deliveries_batch
            WHERE stream_id = %(stream)s AND lo <= {position} ORDER BY lo DESC LIMIT 1
        ) AS nearest WHERE nearest.hi > {position}
    )"""


# Whether the try `item.try_number` of the delivery `d` was ever armed: it has a result, or a live
# batch has it armed now. Nothing that was not armed was handed over.
WAS_ARMED: LiteralString = """(
    item.try_number BETWEEN 1 AND d.last_try OR EXISTS (
        SELECT FROM (
            SELECT armed_to, try_number FROM deliveries_batch
            WHERE stream_id = d.stream_id AND lo <= d.position ORDER BY lo DESC LIMIT 1
        ) AS nearest
        WHERE nearest.armed_to > d.position AND nearest.try_number = item.try_number
    )
)"""


def retry_delay(try_number: LiteralString, delay: LiteralString) -> LiteralString:
    """How long the batch that follows a try waits.

    After a million tries that is an hour at the least. An id has room for 16,777,216 tries, so no
    mail ever runs out of numbers, and none fails for how often it was tried.
    """
    hour = f"CASE WHEN {try_number} >= 1000000 THEN interval '1 hour' END"
    return f"greatest({delay}, {hour})"


def due_after(try_number: LiteralString, delay: LiteralString) -> LiteralString:
    """When the batch that follows a try is due."""
    return f"statement_timestamp() + {retry_delay(try_number, delay)}"


# Why a batch waits for a time that a provider named: a release brings it forward.
BROUGHT_FORWARD: LiteralString = "('throttled', 'quota_exhausted')"
# Why a batch of a topic waits for a time that its recipients named: they may bring it forward.
NAMED_BY_RECIPIENTS: LiteralString = "('scheduled', 'outside_hours')"

# The current epoch; no row where the database is not the one that its epoch names: there nothing
# is sent.
EPOCH: LiteralString = """
epoch AS MATERIALIZED (
    SELECT e.number, e.lifted_at IS NOT NULL AS is_lifted,
           e.campaigns_lifted_at IS NOT NULL AS is_lifted_for_campaigns
    FROM deliveries_epoch e, deliveries_identity() AS here
    WHERE e.number = (SELECT max(number) FROM deliveries_epoch)
      AND e.system_identifier = here.system_identifier
      AND e.timeline = here.timeline
      AND e.database_oid = here.database_oid
)
"""
# Whether anything of the stream `s` may be sent now: it is neither cancelled, fenced nor held.
MAY_SEND: LiteralString = """
s.cancelled_at IS NULL
AND EXISTS (
    SELECT FROM epoch WHERE s.lifted_epoch = epoch.number
    OR CASE s.kind WHEN 'campaign' THEN is_lifted_for_campaigns ELSE is_lifted END
)
AND NOT EXISTS (
    SELECT FROM deliveries_streamhold h
    WHERE h.stream_id = s.id AND (h.until IS NULL OR h.until > statement_timestamp())
)
AND NOT EXISTS (
    SELECT FROM deliveries_senderhold h
    WHERE h.sender_id = s.sender_id AND (
        h.until IS NULL OR h.until > statement_timestamp()
        OR (h.probe_until > statement_timestamp() AND NOT s.is_test)
    )
)
"""


# The time that a restore has lost may have used try numbers and sent mail. A restored ledger cannot
# tell for which deliveries: for all of them it skips numbers, and waits until no byte can leave.
TRY_LEAP = 2**16
# The longest lease, and the grace for orphaned bytes.
LOST_TIME_GRACE: LiteralString = "interval '30 minutes'"


def next_try(last_try: LiteralString, settled_at: LiteralString) -> LiteralString:
    """The number of a delivery's next try, by when it was settled: one leap for each epoch since.

    By their numbers: a second restore forgets the rows of epochs that gave out tries too.
    """
    then = f"coalesce(max(number) FILTER (WHERE began_at <= {settled_at}), 1)"
    leap: LiteralString = "65536"  # TRY_LEAP, in the text of a statement
    return f"{last_try} + 1 + {leap} * (SELECT max(number) - {then} FROM deliveries_epoch)"


# Whether the delivery `d`, which failed or was cancelled, was never armed: every try of it ended at
# the gates, or before. What was planned before a restore may have been armed in the lost time.
NEVER_ARMED: LiteralString = """NOT EXISTS (
    SELECT FROM deliveries_attempt a
    WHERE a.stream_id = d.stream_id AND a.position = d.position
      AND a.outcome NOT IN (
        'invalid', 'skipped', 'suppressed', 'expired', 'poison', 'given_up'
      )
) AND NOT EXISTS (
    SELECT FROM deliveries_epoch e WHERE e.cause <> 'setup' AND e.began_at > d.planned_at
)"""

BYTES_OF_LOST_TIME: LiteralString = f"""EXISTS (
    SELECT FROM deliveries_epoch
    WHERE cause <> 'setup' AND began_at > locked.settled_at
      AND began_at + {LOST_TIME_GRACE} > clock_timestamp()
)"""

# Whether a person has discarded the delivery `d` since its last attempt. Attempts and events are
# numbered together.
IS_DISCARDED: LiteralString = """EXISTS (
    SELECT FROM deliveries_deliveryevent discarded
    WHERE discarded.stream_id = d.stream_id AND discarded.position = d.position
      AND discarded.kind = 'discarded' AND discarded.id > coalesce((
        SELECT max(a.id) FROM deliveries_attempt a
        WHERE a.stream_id = d.stream_id AND a.position = d.position
      ), 0)
)"""
